//go:build !amd64 && !arm64

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

func (s isa) packPanel(dst []float32, x gemmSide, lines, depth, width int) {
	packPlain(dst, x, lines, depth, width)
}
