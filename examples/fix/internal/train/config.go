package train

import (
	"fmt"
	"math"
	"runtime"
)

// Config configures a Trainer. The zero value is a good start.
type Config struct {
	// Workers is the number of goroutines that compute gradients, each for its share of the batch;
	// 0 means one per processor. The last bits of the sums in a step depend on this number.
	Workers int
	// MicroTokens is the approximate number of tokens that a worker computes at once; 0 means 2048.
	MicroTokens int
	// BFloat16 rounds the operands of matrix products to bfloat16 if the processor multiplies those
	// much faster (AMX); otherwise it has no effect. Weights, sums, the router and the optimiser's
	// state stay 32-bit (arXiv:1710.03740).
	BFloat16 bool

	Rate        float64 // learning rate of Muon; 0 means 0.002
	AdamRate    float64 // learning rate of AdamW; 0 means one and a half times Rate
	Momentum    float64 // of Muon; 0 means 0.95
	Beta1       float64 // of AdamW; 0 means 0.9
	Beta2       float64 // of AdamW; 0 means 0.95
	WeightDecay float64 // of matrices; 0 means 0.1, a negative number means none
	Clip        float64 // largest norm of the gradient; 0 means 1, a negative number means no limit

	// Contrast is the factor of the loss of choosing the right answer, for sequences with several
	// answers; 0 means 1. A negative number turns this loss off, and wrong answers are ignored.
	Contrast float64
	// Balance is the factor of the loss that spreads tokens over experts; 0 means 0.01, a negative
	// number means none.
	Balance float64
	// Capacity limits the tokens of an expert in one pass, as a multiple of the mean; tokens beyond
	// it count as overflow. 0 means 1.25.
	Capacity float64
	// Drop skips the overflow, as the Switch Transformer does; without it, overflow is only
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
