package tokencount

// Estimate returns the approximate number of tokens of text in a language model's vocabulary. It
// reads each byte once and allocates nothing. The package comment states the error.
func Estimate(text string) int {
	return int((sum(text) + half) >> scale)
}

// Rates are fixed-point numbers with scale binary digits after the point.
const (
	scale = 12
	half  = 1 << (scale - 1)
)

func sum(text string) (total int64) {
	c := cutter{text: text}
	for {
		k, ok := c.next()
		if !ok {
			return total
		}
		total += int64(rates[k])
	}
}
