//go:build !amd64

package tensor

func (s isa) gemmShape() (rows, cols int) { return 4, 4 }

// gemmRun computes the tile for rows and cols of c.
func (s isa) gemmRun(t *gemmTile, c []float32, ldc, rows, cols int, edge *[]float32) {
	_ = c[(rows-1)*ldc+cols-1]
	t.c, t.rowC = &c[0], 4*ldc
	if cols == 4 {
		gemmTilePlain(t, rows)
		return
	}
	gemmEdge(t, c, ldc, rows, cols, 4, growFloats(edge, 4*4), gemmTilePlain)
}

func (s isa) packB(dst []float32, b gemmSide, cols, depth, nr int) {
	packBPlain(dst, b, cols, depth, nr)
}

func (s isa) packA(dst []float32, a gemmSide, rows, depth, mr int) {
	packAPlain(dst, a, rows, depth, mr)
}
