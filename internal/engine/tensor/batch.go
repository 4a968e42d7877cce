package tensor

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Batch holds the activations of several tokens, in f32 and in the rounded forms that kernels read.
// A Batch is reused from product to product and allocates memory only when it grows.
type Batch struct {
	n, cols int
	f32     []float32
	mu      sync.Mutex // guards the allocation of forms
	forms   [forms]rounded
	scratch sync.Pool // of *[]byte, for unpacked panels
}

// rounded is the memory of one form.
type rounded struct {
	data   atomic.Pointer[byte]
	size   atomic.Int64
	stride int // bytes per row
}

// Reset sets the shape to n rows of cols values. The contents are undefined.
func (b *Batch) Reset(n, cols int) {
	b.n, b.cols = n, cols
	if cap(b.f32) < n*cols {
		b.f32 = floats(n * cols)
	}
	b.f32 = b.f32[:n*cols]
	for f := range b.forms {
		b.forms[f].stride = (cols + chunkCols - 1) / chunkCols * form(f).record()
	}
}

// floats returns aligned memory for n numbers.
func floats(n int) []float32 {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&HeapAlloc(n * 4)[0])), n)
}

// Len returns the number of rows.
func (b *Batch) Len() int { return b.n }

// F32 returns row i.
func (b *Batch) F32(i int) []float32 { return b.f32[i*b.cols : (i+1)*b.cols : (i+1)*b.cols] }

// Prepare rounds rows [lo,hi) to the form that m's kernels read. It must be called again after the
// rows have changed. Distinct rows may be prepared concurrently.
func (b *Batch) Prepare(m *Matrix, lo, hi int) {
	if m.Cols != b.cols {
		panic("tensor: prepare batch: the batch and the matrix differ in columns")
	}
	f := m.lay.form
	if f == formF32 {
		return
	}
	r := b.grown(f)
	data := unsafe.Slice(r.data.Load(), b.n*r.stride)
	for i := lo; i < hi; i++ {
		f.round(m.isa, data[i*r.stride:(i+1)*r.stride], b.F32(i))
	}
}

// grown returns the memory of a form, large enough for the batch's shape.
func (b *Batch) grown(f form) *rounded {
	r := &b.forms[f]
	need := int64(b.n * r.stride)
	if r.size.Load() >= need {
		return r
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.size.Load() < need {
		r.data.Store(&HeapAlloc(int(need))[0])
		r.size.Store(need)
	}
	return r
}

// row returns the address at which kernels find row i in the form f.
func (b *Batch) row(f form, i int) unsafe.Pointer {
	if uint(i) >= uint(b.n) {
		panic("tensor: multiply: a token outside the batch")
	}
	if f == formF32 {
		return unsafe.Pointer(&b.f32[i*b.cols])
	}
	return unsafe.Add(unsafe.Pointer(b.forms[f].data.Load()), i*b.forms[f].stride)
}

// borrow returns n bytes of scratch memory, which must be returned to b.scratch.
func (b *Batch) borrow(n int) *[]byte {
	if s, ok := b.scratch.Get().(*[]byte); ok && cap(*s) >= n {
		*s = (*s)[:n]
		return s
	}
	s := HeapAlloc(n)
	return &s
}
