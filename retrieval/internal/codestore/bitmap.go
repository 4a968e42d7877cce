package codestore

import (
	"encoding/binary"
	"math/bits"
)

// A bitmap is a set of document numbers. A bitmap that is part of a state is immutable.
type bitmap []uint64

func newBitmap(n int) bitmap { return make(bitmap, (n+63)/64) }

func (b bitmap) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitmap) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitmap) remove(i int)   { b[i/64] &^= 1 << (i % 64) }

func (b bitmap) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// fill adds 0 to n-1.
func (b bitmap) fill(n int) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n%64 != 0 {
		b[len(b)-1] = 1<<(n%64) - 1
	}
}

func (b bitmap) bytes() []byte {
	out := make([]byte, 0, 8*len(b))
	for _, w := range b {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

// bitmapOf decodes the output of bytes; no bytes mean an empty set. Bits beyond n are refused.
func bitmapOf(raw []byte, n int) (bitmap, bool) {
	b := newBitmap(n)
	if len(raw) == 0 {
		return b, true
	}
	if len(raw) != 8*len(b) {
		return nil, false
	}
	for i := range b {
		b[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	if n%64 != 0 && b[len(b)-1]>>(n%64) != 0 {
		return nil, false
	}
	return b, true
}
