package tensor

import (
	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// panelRows is the number of interleaved rows: the 32-bit lanes of a 512-bit vector.
const panelRows = 16

// chunkCols is the number of columns in a chunk, the piece of a panel that kernels process per
// iteration of their outer loop. A chunk is one super-block of a K-quant or up to eight blocks of
// 32.
const chunkCols = 256

// field is a run of equal items in a block. In the panel, the 16 rows' values of each item are
// adjacent.
type field struct {
	off, size, count int // offset in the block, bytes per item (1, 2 or 4), number of items
}

// bytes returns the size of the field over 16 rows.
func (f field) bytes() int { return f.size * f.count * panelRows }

// layout describes how a type's blocks become a panel. Only the order of the bytes changes, so a
// panel is exactly as large as its 16 rows, and the blocks can be restored (see Row).
//
// Plain types (block 1) are items without a header. For types with blocks of 32, a chunk of up to
// eight blocks stores the headers of all its blocks first, then their values. Types with
// super-blocks of 256 store the fields one after another.
type layout struct {
	typ    gguf.Type
	block  int     // values per block
	bytes  int     // bytes per block
	header []field // scales, minimums and high bits
	body   []field // the values
	form   form    // the form of the activations
}

// headerBytes and bodyBytes return the sizes over the 16 rows of one block.
func (l *layout) headerBytes() int { return fieldBytes(l.header) }
func (l *layout) bodyBytes() int   { return fieldBytes(l.body) }

func fieldBytes(fs []field) int {
	n := 0
	for _, f := range fs {
		n += f.bytes()
	}
	return n
}

// layoutOf returns the layout of a type, or nil if there is none. The offsets are those of ggml's
// block structs.
func layoutOf(t gguf.Type) *layout {
	l := layout{typ: t, block: t.BlockSize(), bytes: t.BlockBytes()}
	half := field{0, 2, 1}
	switch t {
	case gguf.TypeF32:
		l.body, l.form = []field{{0, 4, 1}}, formF32
	case gguf.TypeF16:
		l.body, l.form = []field{half}, formF32
	case gguf.TypeBF16:
		l.body, l.form = []field{half}, formBF16
	case gguf.TypeQ8_0:
		l.header, l.body, l.form = []field{half}, []field{{2, 4, 8}}, formQ8x128
	case gguf.TypeQ4_0:
		l.header, l.body, l.form = []field{half}, []field{{2, 4, 4}}, formQ8x8
	case gguf.TypeIQ4_NL:
		l.header, l.body, l.form = []field{half}, []field{{2, 4, 4}}, formQ8x128
	case gguf.TypeMXFP4:
		l.header, l.body, l.form = []field{{0, 1, 1}}, []field{{1, 4, 4}}, formQ8x128
	case gguf.TypeQ4_1:
		l.header, l.body, l.form = []field{half, {2, 2, 1}}, []field{{4, 4, 4}}, formQ8sum
	case gguf.TypeQ5_0:
		l.header, l.body, l.form = []field{half, {2, 4, 1}}, []field{{6, 4, 4}}, formQ8x16
	case gguf.TypeQ5_1:
		l.header, l.body, l.form = []field{half, {2, 2, 1}, {4, 4, 1}}, []field{{8, 4, 4}}, formQ8sum
	case gguf.TypeQ4_K: // d, dmin, scales, values
		l.header, l.body, l.form = []field{half, {2, 2, 1}, {4, 2, 6}}, []field{{16, 4, 32}}, formK
	case gguf.TypeQ5_K: // d, dmin, scales, high bits, values
		l.header, l.body, l.form = []field{half, {2, 2, 1}, {4, 2, 6}, {16, 4, 8}}, []field{{48, 4, 32}}, formK
	case gguf.TypeQ6_K: // high bits, values, scales, d: the vectors first, so that they are aligned in half of the super-blocks
		l.header, l.form = []field{{128, 4, 16}, {0, 4, 32}, {192, 2, 8}, {208, 2, 1}}, formK
	case gguf.TypeQ2_K: // d, dmin, scales, values
		l.header, l.body, l.form = []field{{80, 2, 1}, {82, 2, 1}, {0, 2, 8}}, []field{{16, 4, 16}}, formK
	case gguf.TypeQ3_K: // high bits, values, scales, d
		l.header, l.form = []field{{0, 4, 8}, {32, 4, 16}, {96, 2, 6}, {108, 2, 1}}, formK
	case gguf.TypeIQ4_XS: // d, scales_l, scales_h, values
		l.header, l.body, l.form = []field{{0, 2, 1}, {4, 2, 2}, {2, 2, 1}}, []field{{8, 4, 32}}, formKx128
	default:
		return nil
	}
	return &l
}

// panelBytes returns the size of a panel of cols columns.
func (l *layout) panelBytes(cols int) int { return cols / l.block * l.bytes * panelRows }

// blocksPerChunk returns the number of blocks whose headers are stored together.
func (l *layout) blocksPerChunk() int {
	if l.block == 1 {
		return 1 << 30
	}
	return chunkCols / l.block
}

// places calls f for every item of the panel, with the item's offset src in a row of the ggml
// tensor, the offset dst of the first row's value in the panel, and the size of the item in bytes.
func (l *layout) places(cols int, f func(src, dst, size int)) {
	blocks, per := cols/l.block, l.blocksPerChunk()
	hdr, body := l.headerBytes(), l.bodyBytes()
	for c := 0; c < blocks; c += per {
		nb := min(per, blocks-c)
		chunk := c * l.bytes * panelRows
		for b := range nb {
			dst := chunk + b*hdr
			src := (c + b) * l.bytes
			each(l.header, src, dst, f)
			each(l.body, src, chunk+nb*hdr+b*body, f)
		}
	}
}

func each(fs []field, src, dst int, f func(src, dst, size int)) {
	for _, fd := range fs {
		for i := range fd.count {
			f(src+fd.off+i*fd.size, dst, fd.size)
			dst += fd.size * panelRows
		}
	}
}

// unpack writes the ggml bytes of row r of the panel to dst.
func (l *layout) unpack(dst, panel []byte, r, cols int) {
	var sign byte
	if l.typ == gguf.TypeQ8_0 {
		sign = 0x80
	}
	l.places(cols, func(src, at, size int) {
		copy(dst[src:src+size], panel[at+r*size:])
		if size == 4 && sign != 0 {
			for i := range size {
				dst[src+i] ^= sign
			}
		}
	})
}
