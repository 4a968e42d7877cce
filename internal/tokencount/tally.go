package tokencount

// A Class is a kind of text for which vocabularies behave alike, so that one correction fits the
// whole class.
type Class uint8

// The classes of a Tally.
const (
	Words Class = iota // ASCII letters
	Digits
	Spaces // blanks, tabs, line ends
	Marks  // ASCII punctuation and control bytes
	Other  // everything beyond ASCII
	Classes
)

// A Tally is the estimate of a text, in tokens for each class. The tallies of texts add up to the
// tally of the concatenated text, except for pieces that vocabularies join at the seam.
type Tally [Classes]float64

// Count returns the estimate of text by class. Its sum, rounded, is Estimate.
func Count(text string) (t Tally) {
	var sums [Classes]int64
	c := cutter{text: text}
	for k, ok := c.next(); ok; k, ok = c.next() {
		sums[classOf(k)] += int64(rates[k])
	}
	for i, n := range sums {
		t[i] = float64(n) / (1 << scale)
	}
	return t
}

// Sum returns the total tokens of all classes.
func (t Tally) Sum() (sum float64) {
	for _, n := range t {
		sum += n
	}
	return sum
}

func classOf(k kind) Class {
	switch {
	case k < firstDigit:
		return Words
	case k < firstBlank:
		return Digits
	case k < firstSingle:
		return Spaces
	case k < firstRune:
		return Marks
	}
	return Other
}
