//go:build !linux

package tensor

// mapMemory allocates from Go's heap on systems where huge pages cannot be requested.
func mapMemory(n int) (raw, usable []byte) {
	b := HeapAlloc(n)
	return b, b
}

func unmapMemory([]byte) error { return nil }
