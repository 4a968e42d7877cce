package train

import (
	"errors"
	"fmt"
	"math"
)

// Shape holds the sizes of all parts of a model.
type Shape struct {
	Vocab    int     // tokens of the vocabulary
	Dim      int     // width of the residual stream
	Layers   int     // transformer blocks
	Heads    int     // query heads
	KVHeads  int     // key and value heads; divides Heads
	HeadDim  int     // width of a head, even
	Experts  int     // experts in each layer; 0 means a dense model
	Active   int     // experts that compute each token
	FF       int     // width of the feed-forward block or of one expert
	Context  int     // limit of tokens in a sequence
	RopeBase float32 // wavelength base of the rotary embedding; 0 means 10000
}

// Main returns the shape with which the training of the shipped one-line-repair model began: 2.3 M
// active weights per token, 6.3 M in total. The model was later deepened to eight layers, see
// [Model.Deepen].
func Main(vocab int) Shape {
	return Shape{
		Vocab: vocab, Dim: 192, Layers: 6, Heads: 6, KVHeads: 2, HeadDim: 32, Experts: 8, Active: 2, FF: 192,
		Context: 1024, RopeBase: 10000,
	}
}

// Draft returns the shape of the dense model that makes drafts for the shipped model.
func Draft(vocab int) Shape {
	return Shape{
		Vocab: vocab, Dim: 64, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 32, FF: 192, Context: 1024, RopeBase: 10000,
	}
}

// Micro returns a small shape with every kind of part in the shipped model, for tests that train.
func Micro(vocab int) Shape {
	return Shape{
		Vocab: vocab, Dim: 32, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 16, Experts: 4, Active: 2, FF: 32,
		Context: 256, RopeBase: 10000,
	}
}

// Arch returns GGUF's name of the model's architecture.
func (s Shape) Arch() string {
	if s.Experts > 0 {
		return "qwen3moe"
	}
	return "qwen3"
}

// Limits above which a shape must be a mistake. They also limit the memory that a damaged
// checkpoint can cause to be allocated.
const (
	maxVocab  = 1 << 20
	maxDim    = 1 << 14
	maxLayers = 256
	maxParams = 1 << 31
	maxAngles = 1 << 26 // Context times HeadDim
)

// Validate returns an error that lists every invalid number.
func (s Shape) Validate() error {
	var errs []error
	check := func(name string, n, lo, hi int) {
		if n < lo || n > hi {
			errs = append(errs, fmt.Errorf("%s is %d; it must be between %d and %d", name, n, lo, hi))
		}
	}
	check("Vocab", s.Vocab, 2, maxVocab)
	check("Dim", s.Dim, 1, maxDim)
	check("Layers", s.Layers, 1, maxLayers)
	check("Heads", s.Heads, 1, maxDim)
	check("KVHeads", s.KVHeads, 1, maxDim)
	check("HeadDim", s.HeadDim, 2, maxDim)
	check("FF", s.FF, 1, maxDim)
	check("Context", s.Context, 1, 1<<20)
	check("Experts", s.Experts, 0, 1024)
	if s.Experts > 0 {
		check("Active", s.Active, 1, s.Experts)
	}
	if s.HeadDim%2 != 0 {
		errs = append(errs, fmt.Errorf("HeadDim is %d; rotary embedding needs an even number", s.HeadDim))
	}
	if s.KVHeads > 0 && s.Heads%s.KVHeads != 0 {
		errs = append(errs, fmt.Errorf("%d KVHeads do not divide %d Heads", s.KVHeads, s.Heads))
	}
	if b := float64(s.RopeBase); !(b >= 0) || math.IsInf(b, 0) {
		errs = append(errs, fmt.Errorf("RopeBase is %v", s.RopeBase))
	}
	if len(errs) == 0 && s.Context*s.HeadDim > maxAngles {
		errs = append(errs, fmt.Errorf("a Context of %d with heads of %d; their product must be at most %d", s.Context, s.HeadDim, maxAngles))
	}
	if len(errs) == 0 && s.weights() > maxParams {
		errs = append(errs, fmt.Errorf("%.0f weights; at most %d are supported", s.weights(), int64(maxParams)))
	}
	return errors.Join(errs...)
}

// weights returns the number of weights. It does not overflow for any shape.
func (s Shape) weights() float64 {
	d, n := float64(s.Dim), max(1, float64(s.Experts))
	layer := 2*d*float64(s.Heads*s.HeadDim) + 2*d*float64(s.KVHeads*s.HeadDim) + n*3*d*float64(s.FF)
	return float64(s.Vocab)*d + float64(s.Layers)*layer
}

// experts returns the number of feed-forward blocks of a layer, and active the number of them that
// compute a token.
func (s Shape) experts() int { return max(1, s.Experts) }

func (s Shape) active() int {
	if s.Experts == 0 {
		return 1
	}
	return s.Active
}

func (s Shape) group() int   { return s.Heads / s.KVHeads }
func (s Shape) qWidth() int  { return s.Heads * s.HeadDim }
func (s Shape) kvWidth() int { return s.KVHeads * s.HeadDim }
func (s Shape) qkvWidth() int {
	return s.qWidth() + 2*s.kvWidth()
}

func (s Shape) base() float64 {
	if s.RopeBase == 0 {
		return 10000
	}
	return float64(s.RopeBase)
}
