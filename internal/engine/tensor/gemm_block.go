package tensor

// The block sizes of a product, after K. Goto and R. A. van de Geijn, Anatomy of High-Performance
// Matrix Multiplication (ACM TOMS 34:3, 2008). A panel of B, gemmDepth steps of one tile's columns,
// stays in the first-level cache while it is multiplied by the rows of a block of A. The block of A
// stays in the second-level cache together with the other panels.
const (
	gemmDepth = 224  // steps of k
	gemmCols  = 1024 // columns of B
	gemmRows  = 384  // rows of A
)

// gemmSide is A or B: element (i, p), where p is the step along k, is at x[i*line+p*step].
type gemmSide struct {
	x          []float32
	line, step int
}

// newGemmSide returns the side for a matrix whose rows run along k, or across it.
func newGemmSide(x []float32, ld int, across bool) gemmSide {
	if across {
		return gemmSide{x, 1, ld}
	}
	return gemmSide{x, ld, 1}
}

// from returns the side starting at line i and step p.
func (s gemmSide) from(i, p int) gemmSide {
	s.x = s.x[i*s.line+p*s.step:]
	return s
}

// gemm is the state of one product.
type gemm struct {
	isa         isa
	ws          *GemmSpace
	m, n, k     int
	a, b        gemmSide
	c           []float32
	ldc         int
	alpha, beta float32 // beta is 1 after the first steps

	packA, packB bool
}

// run iterates over the blocks. Sizes are divided evenly, so that no block is a small remainder.
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

// block multiplies packed or unpacked rows by the panels of B, or by B itself if it is not packed.
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
	*t = gemmTile{} // keep no references to memory
}

// packsA reports whether A is copied. Rows whose starts are a multiple of 1024 bytes apart would
// evict each other from the cache. If the rows run across k, a step needs only a small part of each
// cache line.
func (g *gemm) packsA(nr int) bool {
	return g.n > nr && (g.a.step != 1 || g.a.line%256 == 0 && g.k > 64)
}

// packRows copies a block of A. Rows along k are copied to addresses at which they do not evict
// each other; otherwise the block is packed into panels with the rows of a tile.
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

// gemmChunk is the number of rows packed at once from a matrix that runs across k. The cache lines
// read for one panel are then still in the cache for the next panel, which needs the rest of them.
const gemmChunk = 32

// packCols packs a block of B into panels with the columns of a tile.
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

// packsB reports whether B is copied; the kernels need its columns next to each other.
func (g *gemm) packsB(mr int) bool {
	return g.b.line != 1 || g.m > 8*mr || g.b.step%256 == 0 && g.m > 2*mr
}

// parts divides all into as few parts as possible of a limited length. The parts are multiples of
// unit and as equal as possible.
type parts struct {
	at, n            int // the current part
	all, unit        int
	length, lengthen int // length of a part; lengthen parts are longer by unit
}

func divide(all, most, unit int) parts {
	n := (all + most - 1) / most
	units := (all + unit - 1) / unit
	return parts{all: all, unit: unit, length: units / n * unit, lengthen: units % n}
}

// next moves to the next part; the first call moves to the first.
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

// growFloats returns the first n numbers of x, and reallocates x if it is too small.
func growFloats(x *[]float32, n int) []float32 {
	if cap(*x) < n {
		*x = floats(n)
	}
	return (*x)[:n]
}
