package train

import (
	"fmt"
	"math"
)

// Schedule sets the learning rate as a function of the completed share of a run, from 0 to 1.
type Schedule struct {
	Kind   string  // "wsd": warm up, stay constant, fall linearly to zero (arXiv:2404.06395); "cosine": warm up, then half a cosine to zero
	Warmup float64 // share of the run in which the rate rises; 0 means 0.02
	Decay  float64 // share of the run in which the rate of "wsd" falls; 0 means 0.5
}

// Check returns an error if a setting is invalid.
func (s Schedule) Check() error {
	switch {
	case s.Kind != "" && s.Kind != "wsd" && s.Kind != "cosine":
		return fmt.Errorf("train: schedule %q; there are wsd and cosine", s.Kind)
	case !(s.Warmup >= 0 && s.Decay >= 0 && s.Warmup+s.Decay <= 1):
		return fmt.Errorf("train: a schedule that rises for %v of the run and falls for %v; they must fit into 1", s.Warmup, s.Decay)
	}
	return nil
}

// Rate returns the factor of the learning rate for the completed share of the run. It is 0 at both
// ends, and at most 1.
func (s Schedule) Rate(done float64) float64 {
	warmup, decay := s.Warmup, s.Decay
	if warmup == 0 {
		warmup = 0.02
	}
	if decay == 0 {
		decay = 0.5
	}
	done = min(max(done, 0), 1)
	rise := min(1, done/warmup)
	if s.Kind == "cosine" {
		return rise * (1 + math.Cos(math.Pi*max(0, done-warmup)/(1-warmup))) / 2
	}
	return min(rise, (1-done)/decay)
}
