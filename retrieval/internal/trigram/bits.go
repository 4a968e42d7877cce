package trigram

import (
	"encoding/binary"
	"math/bits"
)

// A sorted list of n distinct numbers below N is encoded with a binary interpolative code: first
// the middle number, in the number of bits that its range needs, then both halves, whose bounds are
// then known. Runs of consecutive numbers take no bits at all.

// bitWriter appends bits, the highest-order bit first.
type bitWriter struct {
	out  []byte
	word uint64
	free uint // number of low-order bits of word that are still free
}

func (w *bitWriter) bits(v uint32, n uint) {
	if n > w.free {
		w.flush()
	}
	w.free -= n
	w.word |= uint64(v) << w.free
}

// flush writes out the whole bytes.
func (w *bitWriter) flush() {
	for w.free <= 56 {
		w.out = append(w.out, byte(w.word>>56))
		w.word <<= 8
		w.free += 8
	}
}

// list writes a sorted list of numbers in [lo, hi), starting and ending at a byte boundary.
func (w *bitWriter) list(list []uint32, hi uint32) {
	w.word, w.free = 0, 64
	w.part(list, 0, hi)
	w.flush()
	if w.free < 64 {
		w.out = append(w.out, byte(w.word>>56))
	}
}

func (w *bitWriter) part(list []uint32, lo, hi uint32) {
	for len(list) > 0 && uint32(len(list)) < hi-lo {
		m := len(list) / 2
		mid := list[m]
		w.below(mid-lo-uint32(m), hi-lo-uint32(len(list))+1)
		w.part(list[:m], lo, mid)
		list, lo = list[m+1:], mid+1
	}
}

// below writes v, which is less than r. If r is not a power of two, some of the values take one bit
// less.
func (w *bitWriter) below(v, r uint32) {
	n, short := widths(r)
	if v -= (r - short) / 2; int32(v) < 0 {
		v += r
	}
	if v < short {
		w.bits(v, n-1)
	} else {
		w.bits(v+short, n)
	}
}

// widths returns the number of bits for a number below r, and how many of those numbers take one
// bit less. r is at least 2.
func widths(r uint32) (n uint, short uint32) {
	n = uint(bits.Len32(r - 1))
	return n, uint32(uint64(1)<<n - uint64(r))
}

// bitReader reads the output of bitWriter. After the end of the data it reads zeros. A list that it
// decodes is sorted and within its bounds for any data, even untrusted bytes.
type bitReader struct {
	data []byte
	pos  uint // in bits
}

// word returns the next 57 bits or more, with the first bit highest.
func (r *bitReader) word() uint64 {
	i := r.pos >> 3
	if i+8 <= uint(len(r.data)) {
		return binary.BigEndian.Uint64(r.data[i:]) << (r.pos & 7)
	}
	var tail [8]byte
	if i < uint(len(r.data)) {
		copy(tail[:], r.data[i:])
	}
	return binary.BigEndian.Uint64(tail[:]) << (r.pos & 7)
}

// list reads len(out) numbers in [lo, hi); the range must have at least that many numbers.
func (r *bitReader) list(out []uint32, lo, hi uint32) {
	for len(out) > 0 {
		if uint32(len(out)) == hi-lo {
			for i := range out {
				out[i] = lo + uint32(i)
			}
			return
		}
		m := len(out) / 2
		mid := lo + uint32(m) + r.below(hi-lo-uint32(len(out))+1)
		out[m] = mid
		r.list(out[:m], lo, mid)
		out, lo = out[m+1:], mid+1
	}
}

func (r *bitReader) below(n uint32) uint32 {
	width, short := widths(n)
	word := r.word()
	v := uint32(word >> 32 >> (33 - width))
	if v < short {
		r.pos += width - 1
	} else {
		v = uint32(word>>32>>(32-width)) - short
		r.pos += width
	}
	if v += (n - short) / 2; v >= n {
		v -= n
	}
	return v
}
