package scheduler

import "math/bits"

// A drafter's guesses are graded into classes from 0 to specClasses-1, a higher class means a more
// reliable guess. Acceptance is tracked per class and per range of positions within a draft: the
// first token, the second, 2–3, 4–7, and so on.
const (
	specClasses = 5
	specUnknown = 2 // the class of drafters that do not grade their drafts
	specRanges  = 8
	specMemory  = 24 // number of guesses over which the moving averages extend
)

// acceptance estimates how often a guess is right, given that all earlier guesses in the same draft
// were right.
type acceptance struct {
	rate [specClasses][specRanges]float32
	seen [specClasses][specRanges]float32
}

// newAcceptance returns the assumed acceptance of an unknown drafter. A guess after right guesses
// is more likely to be right.
func newAcceptance() acceptance {
	var a acceptance
	for c := range a.rate {
		wrong := [specClasses]float32{0.6, 0.45, 0.3, 0.15, 0.08}[c]
		for r := range a.rate[c] {
			a.rate[c][r] = 1 - wrong
			a.seen[c][r] = 2
			wrong *= 0.7
		}
	}
	return a
}

func specRange(pos int) int { return min(bits.Len(uint(pos)), specRanges-1) }

// learn records the outcome of one guess.
func (a *acceptance) learn(class, pos int, right bool) {
	r := specRange(pos)
	n := min(a.seen[class][r]+1, specMemory)
	a.seen[class][r] = n
	v := float32(0)
	if right {
		v = 1
	}
	a.rate[class][r] += (v - a.rate[class][r]) / n
}

// forget turns an acceptance learned elsewhere into a starting point that new evidence soon
// outweighs.
func (a *acceptance) forget() {
	for c := range a.seen {
		for r := range a.seen[c] {
			a.seen[c][r] = min(a.seen[c][r], 6)
		}
	}
}
