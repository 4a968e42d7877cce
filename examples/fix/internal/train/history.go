package train

// Point summarises one stretch of a run.
type Point struct {
	Step     int     // steps at the end of the stretch
	Tokens   int64   // tokens trained on so far
	Seconds  float64 // training time so far
	Done     float64 // share of the run, 0 to 1
	Rate     float64 // factor of the learning rates at the end of the stretch
	Loss     float64 // mean weighted cross entropy
	Accuracy float64 // share of decisions that were right
	Answers  float64 // share of sequences all of whose decisions were right
	Speed    float64 // tokens per second
	GradNorm float64 // mean, before clipping
	Load     float64 // largest load of any layer at the end of the stretch: the busiest expert's tokens divided by the mean
	Overflow float64 // share of the tokens beyond an expert's capacity
	Skipped  int     // steps since the start whose gradient was not finite

	Valid []Score `json:",omitempty"` // if the model was evaluated at the end of the stretch
}

// Score rates the model on sequences that it does not learn from.
type Score struct {
	Name     string
	Loss     float64
	Accuracy float64
	Answers  float64
}

// stretch accumulates steps into a Point.
type stretch struct {
	loss, weight    float64
	decisions, hits int
	answers, right  int
	steps, tokens   int
	grad, overflow  float64
	load            float64
	skipping        int // steps skipped in a row
}

func (s *stretch) add(v Stats) {
	if v.Skipped {
		s.skipping++
		return
	}
	s.skipping = 0
	s.loss += v.Loss * v.Weight
	s.weight += v.Weight
	s.decisions, s.hits = s.decisions+v.Decisions, s.hits+v.Hits
	s.answers, s.right = s.answers+v.Answers, s.right+v.Right
	s.steps, s.tokens = s.steps+1, s.tokens+v.Tokens
	s.grad += v.GradNorm
	s.overflow += v.Overflow
	s.load = v.MaxLoad()
}

// fill writes the means to p and resets the stretch.
func (s *stretch) fill(p *Point) {
	if s.weight > 0 {
		p.Loss = s.loss / s.weight
	}
	p.Accuracy = float64(s.hits) / max(1, float64(s.decisions))
	p.Answers = float64(s.right) / max(1, float64(s.answers))
	p.GradNorm = s.grad / max(1, float64(s.steps))
	p.Overflow = s.overflow / max(1, float64(s.steps))
	p.Load = s.load
	*s = stretch{skipping: s.skipping}
}

// Minutes returns the training time so far.
func (p Point) Minutes() float64 { return p.Seconds / 60 }
