package tensor

// The blocks of a product, after K. Goto and R. A. van de Geijn, Anatomy of High-Performance Matrix
// Multiplication (ACM TOMS 34:3, 2008): a panel of B, gemmDepth steps of one tile's columns, stays
// in the first-level cache while the rows of a block of A go by, which stays in the second together
// with the other panels.
const (
	gemmDepth = 224  // steps of k
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
	alpha, beta float32 // beta becomes 1 after the first steps

	packA, packB bool
}

// run walks over the blocks. Sizes are divided evenly, so that no block is a small rest.
func (g *gemm) run() {
	mr, nr := g.isa.gemmShape()
	g.packA, g.packB = g.packsA(nr), g.packsB(mr)
	for steps := divide(g.k, gemmDepth, 1); steps.next(); {
		for cols := divide(g.n, gemmCols, nr); cols.next(); {
			b := g.b.from(cols.at, steps.at)
			var panels []float32
			if g.packB || cols.n%nr != 0 {
				panels = g.packCols(b, cols.n, steps.n)
			}
			for rows := divide(g.m, gemmRows, mr); rows.next(); {
				a := g.a.from(rows.at, steps.at)
				if g.packA {
					a = g.packRows(a, rows.n, steps.n)
				}
				g.block(a, b, panels, g.c[rows.at*g.ldc+cols.at:], rows.n, cols.n, steps.n)
			}
		}
		g.beta = 1
	}
}

// block multiplies packed or unpacked rows with the panels of B, or with B itself where it is not
// packed.
func (g *gemm) block(a, b gemmSide, panels, c []float32, rows, cols, depth int) {
	mr, nr := g.isa.gemmShape()
	t := &g.ws.tile
	*t = gemmTile{k: depth, alpha: g.alpha, beta: g.beta, rowA: 4 * a.line, stepA: 4 * a.step, stepB: 4 * b.step}
	line, packed := a.line, g.packA && a.line == 1
	if packed {
		line = depth
	}
	if panels != nil {
		t.stepB = 4 * nr
	}
	for col := 0; col < cols; col += nr {
		if panels != nil {
			t.b = &panels[col*depth]
		} else {
			t.b = &b.x[col]
		}
		for high := divide(rows, mr, 1); high.next(); {
			t.a = &a.x[high.at*line]
			if packed {
				t.stepA = 4 * high.n
			}
			g.isa.gemmRun(t, c[high.at*g.ldc+col:], g.ldc, high.n, min(nr, cols-col), &g.ws.edge)
		}
	}
	*t = gemmTile{} // holds on to nothing
}

// packsA tells whether A is copied. Rows that lie a multiple of 1024 bytes apart would evict each
// other from the cache; of what runs across k only a small part of each cache line is wanted in a
// step.
func (g *gemm) packsA(nr int) bool {
	return g.n > nr && (g.a.step != 1 || g.a.line%256 == 0 && g.k > 64)
}

// packRows copies a block of A: rows along k to where they do not evict each other, others in
// panels of the rows of a tile.
func (g *gemm) packRows(a gemmSide, rows, depth int) gemmSide {
	if a.step == 1 {
		line := depth + 16
		dst := growFloats(&g.ws.a, rows*line)
		for i := range rows {
			copy(dst[i*line:][:depth], a.x[i*a.line:])
		}
		return gemmSide{dst, line, 1}
	}
	mr, _ := g.isa.gemmShape()
	dst := growFloats(&g.ws.a, rows*depth)
	for p := 0; p < depth; p += gemmChunk {
		some := min(gemmChunk, depth-p)
		for high := divide(rows, mr, 1); high.next(); {
			g.isa.packPanel(dst[high.at*depth+p*high.n:], a.from(high.at, p), high.n, some, high.n)
		}
	}
	return gemmSide{dst, 1, 0}
}

// gemmChunk is how many rows of a matrix that runs across k are packed at once: what is read for
// one panel is still in the cache for the next, which wants the rest of its cache lines.
const gemmChunk = 32

// packCols packs a block of B in panels of the columns of a tile.
func (g *gemm) packCols(b gemmSide, cols, depth int) []float32 {
	_, nr := g.isa.gemmShape()
	dst := growFloats(&g.ws.b, (cols+nr-1)/nr*nr*depth)
	chunk := depth
	if b.line == 1 {
		chunk = gemmChunk
	}
	for p := 0; p < depth; p += chunk {
		for col := 0; col < cols; col += nr {
			g.isa.packPanel(dst[col*depth+p*nr:], b.from(col, p), min(nr, cols-col), min(chunk, depth-p), nr)
		}
	}
	return dst
}

// packsB tells the same of B, which the kernels need with its columns side by side.
func (g *gemm) packsB(mr int) bool {
	return g.b.line != 1 || g.m > 8*mr || g.b.step%256 == 0 && g.m > 2*mr
}

// parts walks over the fewest parts of all that are at most so long, a multiple of unit, and as
// equal as such multiples can be.
type parts struct {
	at, n            int // the part
	all, unit        int
	length, lengthen int // of a part; by unit for as many of the next as this holds
}

func divide(all, most, unit int) parts {
	n := (all + most - 1) / most
	units := (all + unit - 1) / unit
	return parts{all: all, unit: unit, length: units / n * unit, lengthen: units % n}
}

// next goes to the next part, first to the first.
func (p *parts) next() bool {
	p.at += p.n
	if p.at >= p.all {
		return false
	}
	p.n = p.length
	if p.lengthen > 0 {
		p.n += p.unit
		p.lengthen--
	}
	p.n = min(p.n, p.all-p.at)
	return true
}

// growFloats is the first n numbers of x, which is made larger where it has fewer.
func growFloats(x *[]float32, n int) []float32 {
	if cap(*x) < n {
		*x = floats(n)
	}
	return (*x)[:n]
}
