package tensor

import "unsafe"

// Products whose operands are rounded to bfloat16 while they are packed, for processors with a unit
// for tiles of such numbers. Sums have 32 bits.
const (
	brainTile  = 16              // rows, columns, and pairs of steps of a tile
	brainPanel = 2 * brainTile   // lines that are packed next to each other
	brainStep  = 2 * brainTile   // steps of k in a tile
	brainBytes = 64 * brainTile  // size of a tile in bytes
	brainDepth = 16 * brainStep  // steps of k in a block
	brainRows  = 12 * brainPanel // rows of A in a block
)

// brain is the state of one product; bfloat16 is the brain floating point of Google Brain.
type brain struct {
	gemm
	edge []float32 // a block that extends beyond C
}

// run iterates over the blocks like gemm.run.
func (g *brain) run() {
	if g.beta != 0 && g.beta != 1 {
		scaleMatrix(g.c, g.ldc, g.m, g.n, g.beta)
		g.beta = 1
	}
	g.edge = growFloats(&g.ws.edge, brainPanel*brainPanel)
	for steps := divide(g.k, brainDepth, brainStep); steps.next(); {
		depth := (steps.n + brainStep - 1) / brainStep
		for cols := divide(g.n, gemmCols, brainPanel); cols.next(); {
			b := g.panels(&g.ws.b, g.b.from(cols.at, steps.at), cols.n, steps.n, 1, false)
			for rows := divide(g.m, brainRows, brainPanel); rows.next(); {
				a := g.panels(&g.ws.a, g.a.from(rows.at, steps.at), rows.n, steps.n, g.alpha, true)
				g.block(a, b, g.c[rows.at*g.ldc+cols.at:], rows.n, cols.n, depth)
			}
		}
		g.beta = 1
	}
}

// panels packs lines of A or B into panels of two tiles' lines, each of which holds its tiles in
// the order of k. Missing lines and steps at the ends are padded so that they add nothing. The rows
// of A's tiles are lines, the rows of B's tiles are pairs of steps.
func (g *brain) panels(space *[]float32, x gemmSide, lines, steps int, alpha float32, isA bool) []float32 {
	tiles := (steps + brainStep - 1) / brainStep
	panels := (lines + brainPanel - 1) / brainPanel
	const each = brainBytes / 4
	dst := growFloats(space, panels*tiles*2*each+alignment/4)
	dst = dst[aligned(dst):]
	if whole := steps / brainStep; whole > 0 {
		g.packWhole(dst, x, lines/brainTile, whole, tiles, alpha, isA)
	}
	for i := 0; i < panels*2; i++ {
		to := dst[(i/2*tiles*2+i%2)*each:]
		n, from := min(brainTile, lines-i*brainTile), 0
		if n == brainTile {
			from = steps / brainStep
		}
		for t := from; t < tiles; t++ {
			g.packEdge(to[t*2*each:][:each], x, i*brainTile, max(n, 0), t*brainStep, min(brainStep, steps-t*brainStep), alpha, isA)
		}
	}
	return dst
}

// packWhole packs the full tiles: strips groups of 16 lines, each with whole tiles along k.
func (g *brain) packWhole(dst []float32, x gemmSide, strips, whole, tiles int, alpha float32, isA bool) {
	const each = brainBytes / 4
	if x.step == 1 {
		for i := range strips {
			packBrain(dst[(i/2*tiles*2+i%2)*each:], 2*brainBytes, x.from(i*brainTile, 0), brainStep, whole, alpha, isA)
		}
		return
	}
	// The loop over steps is outermost, so that adjacent memory is read together.
	for t := range whole {
		for odd := range min(2, strips) {
			packBrain(dst[(t*2+odd)*each:], tiles*2*brainBytes, x.from(odd*brainTile, t*brainStep), brainPanel, (strips-odd+1)/2, alpha, isA)
		}
	}
}

// packEdge packs a tile that is not full. Missing steps are 0; missing lines need no value, because
// their products are discarded.
func (g *brain) packEdge(dst []float32, x gemmSide, line, lines, step, steps int, alpha float32, isA bool) {
	if lines == 0 {
		clear(dst)
		return
	}
	var whole [brainTile * brainStep]float32
	g.isa.packPanel(whole[:], x.from(line, step), lines, steps, brainTile)
	packBrain(dst, 0, gemmSide{whole[:], 1, brainTile}, 0, 1, alpha, isA)
}

// block multiplies the panels of A by those of B.
func (g *brain) block(a, b, c []float32, rows, cols, depth int) {
	const each = 2 * brainBytes / 4
	high, wide := rows/brainPanel, cols/brainPanel
	if high > 0 && wide > 0 {
		_ = c[(high*brainPanel-1)*g.ldc+wide*brainPanel-1]
		brainBlocks(a, b, c, g.ldc, depth, high, wide, g.beta != 0)
	}
	for j := 0; j*brainPanel < cols; j++ {
		for i := 0; i*brainPanel < rows; i++ {
			if i < high && j < wide {
				i = max(i, high-1)
				continue
			}
			brainBlocks(a[i*depth*each:], b[j*depth*each:], g.edge, brainPanel, depth, 1, 1, false)
			n := min(brainPanel, cols-j*brainPanel)
			for r := range min(brainPanel, rows-i*brainPanel) {
				row, from := c[(i*brainPanel+r)*g.ldc+j*brainPanel:][:n], g.edge[r*brainPanel:][:n]
				if g.beta != 0 {
					AddTo(row, from)
				} else {
					copy(row, from)
				}
			}
		}
	}
}

// aligned returns the index of the first number that starts a cache line.
func aligned(x []float32) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(x)))&(alignment-1)) / 4
}
