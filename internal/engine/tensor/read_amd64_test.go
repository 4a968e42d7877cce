package tensor

import "testing"

// BenchmarkReadLimit measures the rate at which one core can read memory on huge pages, with only
// the loads and prefetches of the kernels: the limit for one token.
func BenchmarkReadLimit(b *testing.B) {
	if detect() != isaAVX512 {
		b.Skip("this processor has no AVX-512")
	}
	a := NewArena(0)
	defer a.Close()
	data := a.Alloc(largeBytes)
	for i := 0; i < len(data); i += 4096 {
		data[i] = 1
	}
	b.SetBytes(largeBytes)
	for b.Loop() {
		readAll(data)
	}
}

// readAll reads every cache line of data.
func readAll(data []byte) { readLines(&data[0], len(data)/512) }
