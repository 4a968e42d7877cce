package tensor

import (
	"encoding/binary"
	"math"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// Look-up tables of the 4-bit types, with 128 added to the values.
var (
	iq4Values   = [16]uint8{1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241}
	mxfp4Values = [16]uint8{128, 129, 130, 131, 132, 134, 136, 140, 128, 127, 126, 125, 124, 122, 120, 116}
)

// mxfp4Scale returns half of the power of two that x denotes, since the stored values are
// doubled.
func mxfp4Scale(x byte) float32 {
	if x < 1 {
		x = 1
	}
	return math.Float32frombits(uint32(x-1) << 23)
}

// blocksOf reads nb blocks of 32.
func (l *layout) blocksOf(u *chunk, w []byte, nb int) {
	hdr, body := l.headerBytes(), l.bodyBytes()
	for b := range nb {
		h, q := w[b*hdr:][:hdr], w[nb*hdr+b*body:][:body]
		for r := range panelRows {
			var high uint32
			switch l.typ {
			case gguf.TypeMXFP4:
				u.scale[b][r] = mxfp4Scale(h[r])
			default:
				u.scale[b][r] = halfAt(h[2*r:])
			}
			switch l.typ {
			case gguf.TypeQ4_1:
				u.fmin[b][r] = halfAt(h[32+2*r:])
			case gguf.TypeQ5_0:
				high = binary.LittleEndian.Uint32(h[32+4*r:])
			case gguf.TypeQ5_1:
				u.fmin[b][r] = halfAt(h[32+2*r:])
				high = binary.LittleEndian.Uint32(h[64+4*r:])
			}
			for i := range 32 {
				u.q[r][b*32+i] = l.blockValue(q, r, i, high)
			}
		}
	}
}

// at returns the position of byte i of row r in a field of 4-byte items.
func at(r, i int) int { return i/4*64 + r*4 + i%4 }

// blockValue returns value i of row r of a block of 32.
func (l *layout) blockValue(q []byte, r, i int, high uint32) uint8 {
	if l.typ == gguf.TypeQ8_0 {
		return q[at(r, i)]
	}
	v := q[at(r, i%16)] >> (i / 16 * 4) & 15
	switch l.typ {
	case gguf.TypeIQ4_NL:
		return iq4Values[v]
	case gguf.TypeMXFP4:
		return mxfp4Values[v]
	}
	return v | uint8(high>>i&1)<<4
}

// supersOf reads a super-block of 256 and returns the number of columns that share a scale.
func (l *layout) supersOf(u *chunk, w []byte) int {
	var off [5]int // offsets of the fields
	for i, f := range l.header {
		off[i+1] = off[i] + f.bytes()
	}
	// pair returns byte j of row r in a field of 2-byte items.
	pair := func(field []byte, r, j int) byte { return field[j/2*32+r*2+j%2] }
	for r := range panelRows {
		d := halfAt(w[2*r:])
		if l.typ == gguf.TypeQ6_K || l.typ == gguf.TypeQ3_K {
			d = halfAt(w[off[3]+2*r:])
		}
		u.dmin[r] = halfAt(w[off[1]+2*r:])
		for g := range 16 {
			var sc int32
			switch l.typ {
			case gguf.TypeQ4_K, gguf.TypeQ5_K:
				if g < 8 {
					sc, u.mins[g][r] = scalesK4(func(j int) byte { return pair(w[off[2]:], r, j) }, g)
				}
			case gguf.TypeQ6_K:
				sc = int32(int8(pair(w[off[2]:], r, g)))
			case gguf.TypeQ2_K:
				b := pair(w[off[2]:], r, g)
				sc, u.mins[g][r] = int32(b&15), int32(b>>4)
			case gguf.TypeQ3_K:
				low := pair(w[off[2]:], r, g%8) >> (g / 8 * 4) & 15
				high := pair(w[off[2]:], r, 8+g%4) >> (g / 4 * 2) & 3
				sc = int32(low|high<<4) - 32
			case gguf.TypeIQ4_XS:
				if g < 8 {
					low := pair(w[off[1]:], r, g/2) >> (g % 2 * 4) & 15
					high := pair(w[off[2]:], r, g/4) >> (g % 4 * 2) & 3
					sc = int32(low|high<<4) - 32
				}
			}
			u.scale[g][r] = d * float32(sc)
		}
		for i := range chunkCols {
			u.q[r][i] = l.superValue(w, &off, r, i)
		}
	}
	switch l.typ {
	case gguf.TypeQ4_K, gguf.TypeQ5_K, gguf.TypeIQ4_XS:
		return 32
	}
	return 16
}

// scalesK4 extracts the scale and the minimum of group g from the 12 bytes in which Q4_K and Q5_K
// pack them.
func scalesK4(b func(int) byte, g int) (scale, minimum int32) {
	if g < 4 {
		return int32(b(g) & 63), int32(b(4+g) & 63)
	}
	return int32(b(4+g)&15 | b(g-4)>>6<<4), int32(b(4+g)>>4 | b(g)>>6<<4)
}

// superValue returns value i of row r of a super-block; off holds the offsets of the fields.
func (l *layout) superValue(w []byte, off *[5]int, r, i int) uint8 {
	half, g, x := i/128, i/32, i%32
	switch l.typ {
	case gguf.TypeQ4_K:
		return w[off[3]+at(r, i/64*32+x)] >> (g % 2 * 4) & 15
	case gguf.TypeQ5_K:
		return w[off[4]+at(r, i/64*32+x)]>>(g%2*4)&15 | w[off[3]+at(r, x)]>>g&1<<4
	case gguf.TypeQ6_K:
		return w[off[1]+at(r, half*64+i%64)]>>(g%4/2*4)&15 | w[at(r, half*32+x)]>>(g%4*2)&3<<4
	case gguf.TypeQ2_K:
		return w[off[3]+at(r, half*32+x)] >> (g % 4 * 2) & 3
	case gguf.TypeQ3_K: // ggml subtracts 4; the activations' sums compensate for 32
		return w[off[1]+at(r, half*32+x)]>>(g%4*2)&3 | w[at(r, x)]>>g&1<<2 + 28
	}
	return iq4Values[w[off[3]+at(r, g*16+x%16)]>>(x/16*4)&15]
}
