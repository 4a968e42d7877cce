package measure

// Score counts how often one way of repair succeeded, and after how many test runs.
type Score struct {
	Tries []int // for every task, the number of the test run that passed, from 1; 0 if none did
	Runs  int   // test runs in total
}

// add counts the edits of a task up to the first that passes and returns its number, or 0 if there
// is none.
func (s *Score) add(tried []Tried) int {
	for i, t := range tried {
		if t.Pass {
			s.Tries = append(s.Tries, i+1)
			s.Runs += i + 1
			return i + 1
		}
	}
	s.Tries = append(s.Tries, 0)
	s.Runs += len(tried)
	return 0
}

func (s *Score) join(other *Score) {
	s.Tries = append(s.Tries, other.Tries...)
	s.Runs += other.Runs
}

// within returns the number of tasks that were repaired within the given number of test runs.
func (s *Score) within(runs int) int {
	n := 0
	for _, t := range s.Tries {
		if t > 0 && t <= runs {
			n++
		}
	}
	return n
}

func (s *Score) fixed() int { return s.within(1 << 30) }

// At returns the share of tasks that were repaired within the given number of test runs.
func (s *Score) At(runs int) float64 { return float64(s.within(runs)) / float64(max(len(s.Tries), 1)) }

// Mean returns the mean number of test runs per task, repaired or not.
func (s *Score) Mean() float64 { return float64(s.Runs) / float64(max(len(s.Tries), 1)) }
