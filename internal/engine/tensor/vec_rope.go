package tensor

import (
	"fmt"
	"math"
)

// RopeConfig describes a rotary position embedding (arXiv:2104.09864) and how it is extended beyond
// its training length.
type RopeConfig struct {
	Dims    int       // leading dimensions of a head that are rotated; even
	Pairs   bool      // dimension 2i is paired with 2i+1; otherwise i with i+Dims/2
	Base    float32   // base of the wavelengths
	Scale   float32   // positions are multiplied by it: 1/factor for linear interpolation; 0 means 1
	Factors []float32 // for Llama 3.1: Dims/2 divisors of the frequencies; nil means none

	// YaRN (arXiv:2309.00071): frequencies that make more than BetaFast turns within OrigCtx are
	// kept, those that make less than BetaSlow turns are interpolated, and those in between are
	// mixed. Ext is the strength of YaRN; 0 means none.
	Ext, BetaFast, BetaSlow float32
	OrigCtx                 int
	Magnitude               float32 // factor of cosine and sine; 0 means 1
}

// Rope rotates heads of queries and keys by their positions. It is safe for concurrent use.
type Rope struct {
	cfg   RopeConfig
	freqs []float64 // radians per position, after all scaling
	mag   float64
}

// NewRope computes the frequencies of cfg.
func NewRope(cfg RopeConfig) (*Rope, error) {
	if cfg.Dims < 2 || cfg.Dims%2 != 0 {
		return nil, fmt.Errorf("tensor: make rotary embedding: %d dimensions; a positive even number is needed", cfg.Dims)
	}
	if cfg.Factors != nil && len(cfg.Factors) != cfg.Dims/2 {
		return nil, fmt.Errorf("tensor: make rotary embedding: %d frequency factors for %d pairs", len(cfg.Factors), cfg.Dims/2)
	}
	r := &Rope{cfg: cfg, freqs: make([]float64, cfg.Dims/2), mag: float64(cfg.Magnitude)}
	if r.mag == 0 {
		r.mag = 1
	}
	scale := float64(cfg.Scale)
	if scale == 0 {
		scale = 1
	}
	low, high := cfg.yarnRange()
	for i := range r.freqs {
		f := math.Pow(float64(cfg.Base), -2*float64(i)/float64(cfg.Dims))
		if cfg.Factors != nil {
			f /= float64(cfg.Factors[i])
		}
		keep := 0.0
		if cfg.Ext != 0 {
			keep = (1 - min(1, max(0, (float64(i)-low)/max(0.001, high-low)))) * float64(cfg.Ext)
		}
		r.freqs[i] = f*scale*(1-keep) + f*keep
		if math.IsNaN(r.freqs[i]) || math.IsInf(r.freqs[i], 0) {
			return nil, fmt.Errorf("tensor: make rotary embedding: frequency %d is %v", i, r.freqs[i])
		}
	}
	return r, nil
}

// yarnRange returns the range of pairs in which frequencies change gradually from kept to
// interpolated ones.
func (c RopeConfig) yarnRange() (low, high float64) {
	if c.Ext == 0 {
		return 0, 0
	}
	pair := func(turns float32) float64 {
		return float64(c.Dims) * math.Log(float64(c.OrigCtx)/(float64(turns)*2*math.Pi)) / (2 * math.Log(float64(c.Base)))
	}
	return max(0, math.Floor(pair(c.BetaFast))), min(float64(c.Dims-1), math.Ceil(pair(c.BetaSlow)))
}

// Angles writes the cosines and then the sines of position pos to dst, Dims numbers in all.
func (r *Rope) Angles(dst []float32, pos int) {
	n := len(r.freqs)
	for i, f := range r.freqs {
		sin, cos := math.Sincos(float64(pos) * f)
		dst[i], dst[n+i] = float32(cos*r.mag), float32(sin*r.mag)
	}
}

// Turn rotates one head by the angles of its position.
func (r *Rope) Turn(head, angles []float32) {
	n := len(r.freqs)
	cos, sin := angles[:n], angles[n:2*n]
	if r.cfg.Pairs {
		head = head[:2*n]
		for i, c := range cos {
			a, b := head[2*i], head[2*i+1]
			head[2*i], head[2*i+1] = a*c-b*sin[i], a*sin[i]+b*c
		}
		return
	}
	lo, hi := head[:n], head[n:2*n]
	for i, c := range cos {
		a, b := lo[i], hi[i]
		lo[i], hi[i] = a*c-b*sin[i], a*sin[i]+b*c
	}
}
