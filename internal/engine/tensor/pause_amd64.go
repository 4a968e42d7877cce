package tensor

// pause idles for n PAUSE instructions (n ≥ 1), which frees the core's other thread and saves
// power.
//
//go:noescape
func pause(n uint32)

// readLines reads 512·n bytes, n ≥ 1, for the benchmark of the read limit.
//
//go:noescape
func readLines(p *byte, n int)
