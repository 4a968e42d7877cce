package tensor

// pause idles for n PAUSE instructions (n ≥ 1), which leaves the core's other thread and its power
// alone.
//
//go:noescape
func pause(n uint32)

// readLines reads 512·n bytes, n ≥ 1, for the benchmark of the limit.
//
//go:noescape
func readLines(p *byte, n int)
