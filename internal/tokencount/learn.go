package tokencount

// Exported for the program that learns the rates.
const (
	Kinds = kinds      // number of kinds of pieces
	Unit  = 1 << scale // the rate of a piece that is one token
)

// Pieces returns the kinds of the pieces of text, in order.
func Pieces(text string) (out []uint16) {
	c := cutter{text: text}
	for {
		k, ok := c.next()
		if !ok {
			return out
		}
		out = append(out, uint16(k))
	}
}

// Guess returns the expected number of tokens of a kind of piece, judged by its length. If the
// corpus has little data for the kind, its rate is pulled towards this number.
func Guess(piece int) float64 {
	k := kind(piece)
	switch {
	case k < firstDigit:
		n := float64(k%longestWord + 1)
		if k >= 2*leads*longestWord {
			return max(1, n/2.2) // capitals
		}
		return max(1, n/4.5)
	case k < firstBlank:
		return float64((k-firstDigit)%longestDigit + 1)
	case k < firstSingle:
		return 1
	case k < firstRun:
		return 0.9
	case k < firstMixed:
		return [longestMark]float64{1, 1, 1, 1.2, 1.4, 1.5, 1.6, 1.7, 2, 2.5, 3, 4}[(k-firstRun)%longestMark]
	case k < firstRune:
		return max(1, float64((k-firstMixed)%longestMark+1)/1.8)
	}
	return [2 * runeBlocks]float64{
		blockInvalid * 2: 1, 1, 0.6, 0.5, 1, 0.8, 0.5, 0.5, 0.9, 0.8, 1.8, 1.5, 1.2, 0.8, 1.5, 0.6, 0.8, 0.8, 1, 1, 1.2, 1, 2, 2, 2.5, 2,
	}[k-firstRune]
}
