package tensor

// pause idles for n PAUSE instructions (n ≥ 1), which leaves the core's other thread and its power alone.
//
//go:noescape
func pause(n uint32)
