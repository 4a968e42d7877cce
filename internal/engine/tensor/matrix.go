package tensor

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// Matrix holds Rows×Cols weights, interleaved for the kernels (see the package comment). It does
// not change and may be used by many goroutines at once.
type Matrix struct {
	Rows, Cols int

	lay   *layout
	isa   isa
	data  []byte    // panels
	panel int       // bytes per panel
	row   int       // bytes per row in ggml's layout
	raw   sync.Pool // rows being read, *[]byte
}

// NewMatrix makes a matrix from the bytes of a ggml tensor: rows of cols values, in blocks of type
// t. data is copied into memory from alloc (nil means Go's heap), of the same size except that the
// number of rows is padded to a multiple of 16. Different matrices may be made concurrently; for
// one large matrix see NewMatrixRows.
func NewMatrix(t gguf.Type, rows, cols int, data []byte, alloc Alloc) (*Matrix, error) {
	m, err := NewMatrixRows(t, rows, cols, alloc)
	if err != nil {
		return nil, err
	}
	if err := m.SetRows(0, data); err != nil {
		return nil, err
	}
	return m, nil
}

// NewMatrixRows makes a matrix of zeros, to be filled with SetRows, by several goroutines if
// desired.
func NewMatrixRows(t gguf.Type, rows, cols int, alloc Alloc) (*Matrix, error) {
	return newMatrix(t, rows, cols, alloc, detect())
}

func newMatrix(t gguf.Type, rows, cols int, alloc Alloc, with isa) (*Matrix, error) {
	n, err := t.RowBytes(cols)
	if err != nil {
		return nil, fmt.Errorf("tensor: make matrix: %w", err)
	}
	l := layoutOf(t)
	if l == nil {
		return nil, fmt.Errorf("tensor: make matrix: there are no kernels for weights of type %v", t)
	}
	if rows <= 0 || cols <= 0 {
		return nil, fmt.Errorf("tensor: make matrix: a shape of %d×%d has no values", rows, cols)
	}
	if alloc == nil {
		alloc = HeapAlloc
	}
	panel := l.panelBytes(cols)
	panels := (rows + panelRows - 1) / panelRows
	return &Matrix{Rows: rows, Cols: cols, lay: l, isa: with, data: alloc(panels * panel), panel: panel, row: n}, nil
}

// SetRows fills the matrix, starting at row first, with the ggml bytes of whole rows. The parameter
// first must be a multiple of Granule, and so must the number of rows except at the end of the
// matrix. Distinct ranges may be set concurrently.
func (m *Matrix) SetRows(first int, data []byte) error {
	n := len(data) / m.row
	switch {
	case len(data)%m.row != 0:
		return fmt.Errorf("tensor: set rows: %d bytes are not whole rows of %d", len(data), m.row)
	case first < 0 || first+n > m.Rows:
		return fmt.Errorf("tensor: set rows: rows [%d,%d) of %d", first, first+n, m.Rows)
	case first%panelRows != 0 || n%panelRows != 0 && first+n != m.Rows:
		return fmt.Errorf("tensor: set rows: rows [%d,%d) do not begin and end at a multiple of %d", first, first+n, panelRows)
	}
	pk := m.packer()
	for p := first / panelRows; len(data) > 0; p++ {
		part := data[:min(len(data), panelRows*m.row)]
		pk.pack(m.panelAt(p), part)
		data = data[len(part):]
	}
	return nil
}

func (m *Matrix) panelAt(p int) []byte { return m.data[p*m.panel : (p+1)*m.panel] }

// Type returns the type of the weights.
func (m *Matrix) Type() gguf.Type { return m.lay.typ }

// SharesForm reports whether activations prepared for other are also prepared for m.
func (m *Matrix) SharesForm(other *Matrix) bool { return m.lay.form == other.lay.form }

// Bytes returns the size of the weights in bytes.
func (m *Matrix) Bytes() int { return len(m.data) }

// Granule returns the unit of row ranges in Mul and SetRows: both ends of a range must be multiples
// of it, except at the end of the matrix.
func (m *Matrix) Granule() int { return panelRows }

// Row writes the values of row i to dst, which holds Cols values: exactly the values of ggml's
// dequantisation.
func (m *Matrix) Row(i int, dst []float32) {
	if m.lay.block == 1 {
		panel, size := m.panelAt(i/panelRows), m.lay.bytes
		for k := range dst[:m.Cols] {
			dst[k] = plain(m.lay.typ, panel[(k*panelRows+i%panelRows)*size:])
		}
		return
	}
	raw, ok := m.raw.Get().(*[]byte)
	if !ok {
		b := make([]byte, m.row)
		raw = &b
	}
	m.lay.unpack(*raw, m.panelAt(i/panelRows), i%panelRows, m.Cols)
	if err := quant.Dequantize(m.lay.typ, dst[:m.Cols], *raw); err != nil {
		panic(err) // the type and the sizes were checked when the matrix was made
	}
	m.raw.Put(raw)
}

// maxTile is the maximum number of tokens that a kernel takes at once.
const maxTile = 16

// call holds the arguments of a kernel: a panel and up to maxTile tokens. The assembly depends on
// the offsets of its fields.
type call struct {
	w   unsafe.Pointer          // the panel
	n   int                     // blocks per row, or columns for plain types
	act [maxTile]unsafe.Pointer // the tokens' activations, in the form of the type
	dst [maxTile]unsafe.Pointer // destinations of the 16 sums of each token
	gap int                     // distance from the panel to the next, for kernels that take two panels
}

// groupBytes is the size of the part of a matrix that is processed with one tile of tokens before
// the next: the part that fits in the second-level cache together with the activations.
const groupBytes = 512 << 10

// Mul computes rows [r0,r1) of the product with the rows toks of b (nil means all of them in
// order): dst[j*stride+r] = W[r]·b[toks[j]]. The batch b must have been prepared for m. The number
// r0 must be a multiple of Granule, and r1 a multiple of Granule or equal to Rows. Calls for
// different ranges may run concurrently. Mul allocates nothing except scratch memory that b keeps.
func (m *Matrix) Mul(dst []float32, stride int, b *Batch, toks []int32, r0, r1 int) {
	n := b.n
	if toks != nil {
		n = len(toks)
	}
	m.check(dst, stride, b, n, r0, r1)
	if n == 0 || r0 == r1 {
		return
	}
	x := product{m: m, dst: dst, stride: stride, b: b, toks: toks, n: n, r1: r1}
	p := r0 / panelRows
	if m.isa.unpacks(m.lay, n) {
		p = x.wide(p)
	}
	group := max(1, groupBytes/m.panel)
	for ; p*panelRows < r1; p += group {
		x.panels(0, p, min(p+group, (r1+panelRows-1)/panelRows))
	}
}

// check panics if the arguments of Mul would make a kernel read or write outside its memory.
func (m *Matrix) check(dst []float32, stride int, b *Batch, n, r0, r1 int) {
	switch {
	case b.cols != m.Cols:
		panic(fmt.Sprintf("tensor: multiply: a batch of %d columns with a matrix of %d", b.cols, m.Cols))
	case r0 < 0 || r0 > r1 || r1 > m.Rows || r0%panelRows != 0 || r1%panelRows != 0 && r1 != m.Rows:
		panic(fmt.Sprintf("tensor: multiply: rows [%d,%d) of %d", r0, r1, m.Rows))
	case n > 0 && (stride < 0 || len(dst) < (n-1)*stride+r1):
		panic(fmt.Sprintf("tensor: multiply: %d results for %d tokens of stride %d, rows up to %d", len(dst), n, stride, r1))
	case m.lay.form != formF32 && b.forms[m.lay.form].size.Load() < int64(b.n*b.forms[m.lay.form].stride):
		panic("tensor: multiply: the batch was not prepared")
	}
}
