package tensor

import (
	"testing"
	"unsafe"
)

func TestArena(t *testing.T) {
	a := NewArena(1 << 20)
	var all [][]byte
	for _, n := range []int{1, 63, 64, 65, 1 << 20, 3 << 20, 100, 0, 5 << 20, 7} {
		b := a.Alloc(n)
		if len(b) != n || cap(b) != n {
			t.Fatalf("asked for %d bytes, got %d of %d", n, len(b), cap(b))
		}
		if n == 0 {
			continue
		}
		if at := uintptr(unsafe.Pointer(&b[0])); at%64 != 0 {
			t.Fatalf("%d bytes at %#x", n, at)
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d of %d is not zero", i, n)
			}
			b[i] = byte(len(all) + 1)
		}
		all = append(all, b)
	}
	for i, b := range all {
		for j := range b {
			if b[j] != byte(i+1) {
				t.Fatalf("piece %d overlaps another", i)
			}
		}
	}
	if got := a.Bytes(); got < 9<<20 || got > 10<<20 {
		t.Errorf("%d bytes given out", got)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestHeapAlloc(t *testing.T) {
	for _, n := range []int{0, 1, 64, 1000, 1 << 20} {
		b := HeapAlloc(n)
		if len(b) != n {
			t.Fatalf("asked for %d bytes, got %d", n, len(b))
		}
		if n > 0 && uintptr(unsafe.Pointer(&b[0]))%64 != 0 {
			t.Fatalf("%d bytes at %p", n, &b[0])
		}
	}
}
