//go:build !linux

package tensor

// mapMemory takes the memory from Go's heap where huge pages are not to be had by asking.
func mapMemory(n int) (raw, usable []byte) {
	b := HeapAlloc(n)
	return b, b
}

func unmapMemory([]byte) error { return nil }
