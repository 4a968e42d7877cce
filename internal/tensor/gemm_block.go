package tensor

// The blocks of a product, after K. Goto and R. A. van de Geijn, Anatomy of High-Performance Matrix Multiplication (ACM
// TOMS 34:3, 2008): a panel of B, gemmDepth steps of one tile's columns, stays in the first-level cache while the rows of a
// block of A go by, which stays in the second together with the other panels.
const (
	gemmDepth = 256  // steps of k
	gemmCols  = 1024 // columns of B
	gemmRows  = 384  // rows of A
)

// gemmSide is A or B: element (i, p), p the step of k, is at x[i*line+p*step].
type gemmSide struct {
	x          []float32
	line, step int
}

// newGemmSide takes a matrix whose rows run along k, or across it.
func newGemmSide(x []float32, ld int, across bool) gemmSide {
	if across {
		return gemmSide{x, 1, ld}
	}
	return gemmSide{x, ld, 1}
}

// from is the side from line i and step p on.
func (s gemmSide) from(i, p int) gemmSide {
	s.x = s.x[i*s.line+p*s.step:]
	return s
}

// gemm is one product on its way.
type gemm struct {
	isa         isa
	ws          *GemmSpace
	m, n, k     int
	a, b        gemmSide
	c           []float32
	ldc         int
	alpha, beta float32
}

// run walks over the blocks. Sizes are divided evenly, so that no block is a small rest.
func (g *gemm) run() {
	mr, nr := g.isa.gemmShape()
	packA, packB := g.packsA(nr), g.packsB(mr)
	beta := g.beta
	for p, depth := range even(g.k, gemmDepth, 1) {
		for j, cols := range even(g.n, gemmCols, nr) {
			b := g.b.from(j, p)
			var panels []float32
			if packB || cols%nr != 0 {
				panels = growFloats(&g.ws.b, depth*(cols+nr))
				g.isa.packB(panels, b, cols, depth, nr)
			}
			for i, rows := range even(g.m, gemmRows, mr) {
				a := g.a.from(i, p)
				packed := a
				if packA {
					packed.x = growFloats(&g.ws.a, depth*(rows+16))
					g.isa.packA(packed.x, a, rows, depth, mr)
				}
				g.block(packed, b, panels, i, j, rows, cols, depth, beta)
			}
		}
		beta = 1
	}
}

// block multiplies packed or unpacked rows with the panels of B, or with B itself where it is not packed.
func (g *gemm) block(a, b gemmSide, panels []float32, i, j, rows, cols, depth int, beta float32) {
	mr, nr := g.isa.gemmShape()
	packA := g.packsA(nr)
	t := &g.ws.tile
	*t = gemmTile{k: depth, alpha: g.alpha, beta: beta}
	for col := 0; col < cols; col += nr {
		width := min(nr, cols-col)
		if panels != nil {
			t.b, t.stepB = &panels[col*depth], 4*nr
		} else {
			t.b, t.stepB = &b.x[col], 4*b.step
		}
		for row, high := range even(rows, mr, 1) {
			if packA {
				t.a, t.rowA, t.stepA = &a.x[row*depth], 4, 4*high
			} else {
				t.a, t.rowA, t.stepA = &a.x[row*a.line], 4*a.line, 4*a.step
			}
			c := g.c[(i+row)*g.ldc+j+col:]
			g.isa.gemmRun(t, c, g.ldc, high, width, &g.ws.edge)
		}
	}
	*t = gemmTile{} // holds on to nothing
}

// packsA tells whether A is copied into the order it is used in. Rows that lie a multiple of 1024 bytes apart would evict each
// other from the cache; what runs across k is a cache line a step.
func (g *gemm) packsA(nr int) bool {
	return g.n > nr && (g.a.step != 1 || g.a.line%256 == 0 && g.k > 64)
}

// packsB tells the same of B, which the kernels need with its columns side by side.
func (g *gemm) packsB(mr int) bool {
	return g.b.line != 1 || g.m > 8*mr || g.b.step%256 == 0 && g.m > 2*mr
}

// even yields the starts and sizes of the fewest parts of n that are at most size, a multiple of unit, and as equal as such
// multiples can be.
func even(n, size, unit int) func(yield func(at, n int) bool) {
	return func(yield func(at, n int) bool) {
		parts := (n + size - 1) / size
		units := (n + unit - 1) / unit
		part, rest := units/parts*unit, units%parts*unit
		for at := 0; at < n; {
			part := part
			if rest > 0 {
				part, rest = part+unit, rest-unit
			}
			part = min(part, n-at)
			if !yield(at, part) {
				return
			}
			at += part
		}
	}
}

// growFloats is the first n numbers of x, which is made larger where it has fewer.
func growFloats(x *[]float32, n int) []float32 {
	if cap(*x) < n {
		*x = floats(n)
	}
	return (*x)[:n]
}
