package tensor

import (
	"fmt"

	"github.com/luthier-dev/luthier/internal/gguf"
	"github.com/luthier-dev/luthier/internal/quant"
)

// Matrix is Rows×Cols weights.
type Matrix struct {
	Rows, Cols int

	typ  gguf.Type
	data []byte
	row  int // bytes of a row
}

// NewMatrix makes a matrix from the bytes of a ggml tensor: rows of cols values, in blocks of type t.
func NewMatrix(t gguf.Type, rows, cols int, data []byte, alloc Alloc) (*Matrix, error) {
	n, err := t.RowBytes(cols)
	if err != nil {
		return nil, fmt.Errorf("tensor: make matrix: %w", err)
	}
	if rows < 0 || len(data) != rows*n {
		return nil, fmt.Errorf("tensor: make matrix: %d bytes for %d rows of %d", len(data), rows, n)
	}
	return &Matrix{Rows: rows, Cols: cols, typ: t, data: data, row: n}, nil
}

// Bytes is the memory the weights take.
func (m *Matrix) Bytes() int { return len(m.data) }

// Row writes the values of row i to dst, which holds Cols values.
func (m *Matrix) Row(i int, dst []float32) {
	if err := quant.Dequantize(m.typ, dst[:m.Cols], m.data[i*m.row:(i+1)*m.row]); err != nil {
		panic(err)
	}
}

// Granule is the multiple in which rows are given to Mul, save at the end.
func (m *Matrix) Granule() int { return 16 }

// Mul computes rows [r0,r1) of the product with the rows toks of b (nil means all of them in order):
// dst[j*stride+r] = W[r]·b[toks[j]]. b must have been prepared for m. r0 is a multiple of Granule, r1 too or Rows.
// Calls for different ranges may run at once.
func (m *Matrix) Mul(dst []float32, stride int, b *Batch, toks []int32, r0, r1 int) {
	w := make([]float32, m.Cols)
	n := len(toks)
	if toks == nil {
		n = b.n
	}
	for r := r0; r < r1; r++ {
		m.Row(r, w)
		for j := range n {
			t := j
			if toks != nil {
				t = int(toks[j])
			}
			var sum float32
			for k, v := range b.F32(t) {
				sum += v * w[k]
			}
			dst[j*stride+r] = sum
		}
	}
}
