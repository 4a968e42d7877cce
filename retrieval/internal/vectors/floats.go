package vectors

import (
	"encoding/binary"
	"math"
	"sync/atomic"
)

func putFloat(b []byte, x float32) { binary.LittleEndian.PutUint32(b, math.Float32bits(x)) }

func float(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// soundness records whether the rounded rows of a block have been verified, and the result.
type soundness struct{ known atomic.Int32 }

const (
	isSound   = 1
	isDamaged = 2
)

// sound reports whether the rounded rows are intact. It verifies them on the first call.
func (b *block) sound() bool {
	known := b.state.known.Load()
	if known == 0 {
		known = isDamaged
		if checksum(b.rounded) == b.sum {
			known = isSound
		}
		b.state.known.Store(known)
	}
	return known == isSound
}

// bits is a set of row numbers.
type bits []uint64

func (b bits) has(i int) bool { return b[i>>6]>>(i&63)&1 == 1 }
func (b bits) add(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bits) remove(i int)   { b[i>>6] &^= 1 << (i & 63) }

// grown returns a set that can hold rows below n.
func (b bits) grown(n int) bits {
	for len(b) < (n+63)/64 {
		b = append(b, 0)
	}
	return b
}

// any reports whether the set contains a row of [lo,hi).
func (b bits) any(lo, hi int) bool {
	for lo < hi {
		word := b[lo>>6] >> (lo & 63)
		if n := hi - lo; n < 64 {
			word &= 1<<n - 1
		}
		if word != 0 {
			return true
		}
		lo = (lo | 63) + 1
	}
	return false
}
