package tokencount

// Estimate returns about how many tokens a language model's vocabulary makes of text. It reads each
// byte once and allocates nothing. The package comment says how far it is off.
func Estimate(text string) int {
	return int((sum(text) + half) >> scale)
}

// Rates are fixed-point numbers of so many binary digits behind the point.
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
