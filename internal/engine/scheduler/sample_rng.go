package scheduler

// Random numbers are a function of (seed, position, stream) and not of a generator's state. So the
// token at a position is always chosen with the same number, whatever is drafted, rolled back or
// scheduled in between.

// The uses of randomness at one position. Their random numbers are independent of one another.
const (
	streamSample   = iota // choosing a token
	streamMasked          // choosing again after the constraint refused the first one
	streamAccept          // accepting a draft by rejection sampling
	streamResidual        // choosing after a rejection
	streamDraft           // the choice of the draft model
)

// mix64 is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// uniform returns the number in [0, 1) for a position and use.
func uniform(seed uint64, pos int, stream uint64) float64 {
	const golden = 0x9e3779b97f4a7c15
	x := mix64(seed + golden)
	x = mix64(x + golden*(uint64(pos)+1))
	x = mix64(x ^ golden*(stream+1))
	return float64(x>>11) / (1 << 53)
}
