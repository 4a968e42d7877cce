package tensor

// Batch is the activations of several tokens, in f32 and in the rounded forms that kernels read. It is reused from
// product to product and allocates only when it grows.
type Batch struct {
	n, cols int
	f32     []float32
}

// Reset sets the shape to n rows of cols values. The contents are undefined.
func (b *Batch) Reset(n, cols int) {
	b.n, b.cols = n, cols
	if cap(b.f32) < n*cols {
		b.f32 = make([]float32, n*cols)
	}
	b.f32 = b.f32[:n*cols]
}

// Len is the number of rows.
func (b *Batch) Len() int { return b.n }

// F32 is row i.
func (b *Batch) F32(i int) []float32 { return b.f32[i*b.cols : (i+1)*b.cols : (i+1)*b.cols] }

// Prepare rounds rows [lo,hi) to the form that m's kernels read. It is to be called again when the rows have changed.
// Distinct rows may be prepared at once.
func (b *Batch) Prepare(m *Matrix, lo, hi int) {}
