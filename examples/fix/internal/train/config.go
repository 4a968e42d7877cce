package train

import (
	"fmt"
	"math"
	"runtime"
)

// Config tells how a Trainer learns. The zero value is a good start.
type Config struct {
	// Workers is how many goroutines compute gradients, each its share of the batch; 0 means one
	// for each processor. The sums of a step depend on their number in the last bits.
	Workers int
	// MicroTokens is about how many tokens a worker computes at once; 0 means 2048.
	MicroTokens int
	// BFloat16 multiplies matrices with operands rounded to bfloat16 where the processor does that
	// much faster (AMX), and as ever elsewhere. Weights, sums, the router and the optimiser's state
	// stay of 32 bits (arXiv:1710.03740).
	BFloat16 bool

	Rate        float64 // learning rate of Muon; 0 means 0.002
	AdamRate    float64 // learning rate of AdamW; 0 means one and a half times Rate
	Momentum    float64 // of Muon; 0 means 0.95
	Beta1       float64 // of AdamW; 0 means 0.9
	Beta2       float64 // of AdamW; 0 means 0.95
	WeightDecay float64 // of matrices; 0 means 0.1, a negative number none
	Clip        float64 // largest norm of the gradient; 0 means 1, a negative number no limit

	// Contrast is the factor of the loss of choosing the right one of a sequence's answers, where
	// it has several; 0 means 1, a negative number none, which leaves wrong answers out.
	Contrast float64
	// Balance is the factor of the loss that spreads tokens over experts; 0 means 0.01, a negative
	// number none.
	Balance float64
	// Capacity is how many times the mean an expert may compute in one pass before tokens count as
	// overflow; 0 means 1.25.
	Capacity float64
	// Drop leaves out what overflows, as the Switch Transformer does; without it overflow is only
	// counted.
	Drop bool
}

func (c *Config) fillIn() error {
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.MicroTokens == 0 {
		c.MicroTokens = 2048
	}
	if c.Workers < 1 || c.MicroTokens < 1 {
		return fmt.Errorf("%d workers with passes of %d tokens; both must be positive", c.Workers, c.MicroTokens)
	}
	def := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		} else if *v < 0 {
			*v = 0
		}
	}
	def(&c.Rate, 0.002)
	def(&c.AdamRate, 1.5*c.Rate)
	def(&c.Momentum, 0.95)
	def(&c.Beta1, 0.9)
	def(&c.Beta2, 0.95)
	def(&c.WeightDecay, 0.1)
	def(&c.Clip, 1)
	def(&c.Contrast, 1)
	def(&c.Balance, 0.01)
	def(&c.Capacity, 1.25)
	for _, v := range []float64{c.Rate, c.AdamRate, c.WeightDecay, c.Clip, c.Contrast, c.Balance, c.Capacity} {
		if v-v != 0 {
			return fmt.Errorf("a setting is %v", v)
		}
	}
	if b := math.Max(c.Momentum, math.Max(c.Beta1, c.Beta2)); !(b < 1) {
		return fmt.Errorf("momentum %v, beta %v and %v must be below 1", c.Momentum, c.Beta1, c.Beta2)
	}
	return nil
}
