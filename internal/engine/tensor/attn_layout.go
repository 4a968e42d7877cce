package tensor

import (
	"fmt"
	"unsafe"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// TileTokens is the number of positions in one tile of keys and values.
const TileTokens = 32

// TileLayout describes the memory layout of the keys and values of TileTokens positions of one
// key-value head. The keys are transposed, one row of TileTokens elements for each dimension, so
// that the lanes of a vector are positions. The values follow, one row of dimensions for each
// position, so that the lanes are dimensions. Both products are then sums of a broadcast number
// times a vector, with one chain of additions for each output, whatever the number of queries.
//
// In Q8_0 keys and values are quantised in blocks of 32 dimensions with a half-precision scale.
// Keys are stored in groups of four dimensions per position and biased by 128, because integer dot
// product instructions need one unsigned operand; the scales follow.
type TileLayout struct {
	Type gguf.Type
	Dim  int // elements of a head
	wide int // Dim rounded up to whole blocks of 32
	k, v int // size in bytes of the keys, of the values
}

// NewTileLayout returns the layout for heads of dim elements in F32, F16 or Q8_0.
func NewTileLayout(t gguf.Type, dim int) (TileLayout, error) {
	l := TileLayout{Type: t, Dim: dim, wide: (dim + 31) &^ 31}
	if dim < 1 || dim > 1<<16 {
		return l, fmt.Errorf("tensor: lay out keys and values: head of %d elements", dim)
	}
	switch t {
	case gguf.TypeF32:
		l.k, l.v = l.wide*TileTokens*4, l.wide*TileTokens*4
	case gguf.TypeF16:
		l.k, l.v = l.wide*TileTokens*2, l.wide*TileTokens*2
	case gguf.TypeQ8_0:
		l.k = l.wide*TileTokens + l.wide*2
		l.v = l.k
	default:
		return l, fmt.Errorf("tensor: lay out keys and values: type %v is not supported; supported are F32, F16, Q8_0", t)
	}
	return l, nil
}

// Bytes returns the size of a tile, a multiple of 64.
func (l TileLayout) Bytes() int { return l.k + l.v }

// Put stores the key and value of one position; both have Dim elements.
func (l TileLayout) Put(tile []byte, pos int, k, v []float32) {
	kt, vt := tile[:l.k], tile[l.k:l.k+l.v]
	switch l.Type {
	case gguf.TypeF32:
		putColumn(view[float32](kt), pos, k)
		copy(view[float32](vt)[pos*l.wide:], v[:l.Dim])
	case gguf.TypeF16:
		ToHalf(view[uint16](vt)[pos*l.wide:], v[:l.Dim])
		keys := view[uint16](kt)
		var half [64]uint16
		for d := 0; d < l.Dim; d += len(half) {
			part := k[d:min(d+len(half), l.Dim)]
			ToHalf(half[:], part)
			for i := range part {
				keys[(d+i)*TileTokens+pos] = half[i]
			}
		}
	default:
		l.putQ8(kt, vt, pos, k, v)
	}
}

func putColumn(dst []float32, pos int, x []float32) {
	for d, v := range x {
		dst[d*TileTokens+pos] = v
	}
}

// Get reads back the key and value of one position.
func (l TileLayout) Get(tile []byte, pos int, k, v []float32) {
	kt, vt := tile[:l.k], tile[l.k:l.k+l.v]
	switch l.Type {
	case gguf.TypeF32:
		for d := range l.Dim {
			k[d] = view[float32](kt)[d*TileTokens+pos]
			v[d] = view[float32](vt)[pos*l.wide+d]
		}
	case gguf.TypeF16:
		for d := range l.Dim {
			k[d] = quant.HalfToFloat(view[uint16](kt)[d*TileTokens+pos])
			v[d] = quant.HalfToFloat(view[uint16](vt)[pos*l.wide+d])
		}
	default:
		ks, vs := l.scales(kt), l.scales(vt)
		for d := range l.Dim {
			b := d/32*TileTokens + pos
			k[d] = quant.HalfToFloat(ks[b]) * float32(int(kt[keyIndex(d, pos)])-128)
			v[d] = quant.HalfToFloat(vs[b]) * float32(int8(vt[pos*l.wide+d]))
		}
	}
}

// keyIndex returns the index of dimension d of position pos among quantised keys.
func keyIndex(d, pos int) int { return d/4*(4*TileTokens) + pos*4 + d%4 }

// scales returns the half-precision scales after the quantised elements: TileTokens for each block
// of 32 dimensions.
func (l TileLayout) scales(part []byte) []uint16 { return view[uint16](part[l.wide*TileTokens:]) }

func (l TileLayout) putQ8(kt, vt []byte, pos int, k, v []float32) {
	ks, vs := l.scales(kt), l.scales(vt)
	var q [32]int8
	for b := 0; b < l.wide; b += 32 {
		n := min(32, l.Dim-b)
		ks[b+pos] = quantise32(&q, k[b:b+n])
		for i, x := range q {
			kt[keyIndex(b+i, pos)] = byte(x) ^ 0x80
		}
		vs[b+pos] = quantise32(&q, v[b:b+n])
		for i, x := range q {
			vt[pos*l.wide+b+i] = byte(x)
		}
	}
}

// quantise32 rounds up to 32 numbers to 8 bits and returns their half-precision scale. If a number
// is NaN or infinite, so is the scale, so that the result reveals it.
func quantise32(q *[32]int8, x []float32) uint16 {
	*q = [32]int8{}
	top := float32(0)
	for _, v := range x {
		a := max(v, -v)
		top = max(top, a) // NaN wins
	}
	scale := top / 127
	if top == 0 {
		return 0
	}
	if !(top < 65504*127) {
		return quant.FloatToHalf(scale)
	}
	inv := 1 / scale
	for i, v := range x {
		q[i] = int8(roundEven(v * inv))
	}
	return quant.FloatToHalf(scale)
}

// roundEven rounds a number within ±2²² to the nearest integer, with ties to even, like adding and
// subtracting 1.5·2²³.
func roundEven(x float32) int32 {
	const magic = 3 << 22
	return int32(float32(x+magic) - magic)
}

// view reinterprets memory of this process; tiles are aligned and have a whole number of elements.
func view[T float32 | uint16 | int32 | int8](b []byte) []T {
	var t T
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}
