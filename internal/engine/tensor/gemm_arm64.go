package tensor

import "unsafe"

// gemmShape returns the maximum number of rows and columns of a kernel.
func (s isa) gemmShape() (rows, cols int) {
	if s == isaGo {
		return 4, 4
	}
	return 4, 16
}

// gemmRun computes the tile for rows and cols of c.
func (s isa) gemmRun(t *gemmTile, c []float32, ldc, rows, cols int, edge *[]float32) {
	_ = c[(rows-1)*ldc+cols-1]
	t.c, t.rowC = &c[0], 4*ldc
	run, nr := gemmTileNEON, 16
	if s == isaGo {
		run, nr = gemmTilePlain, 4
	}
	if cols == nr {
		run(t, rows)
		return
	}
	gemmEdge(t, c, ldc, rows, cols, nr, growFloats(edge, 4*nr), run)
}

func (s isa) packPanel(dst []float32, x gemmSide, lines, depth, width int) {
	packPlain(dst, x, lines, depth, width)
}

// gemmTileNEON computes up to four rows: four at once or one after the other.
func gemmTileNEON(t *gemmTile, rows int) {
	if rows == 4 {
		gemmTileNEON4(t)
		return
	}
	row := *t
	for r := range rows {
		row.a = (*float32)(unsafe.Add(unsafe.Pointer(t.a), r*t.rowA))
		row.c = (*float32)(unsafe.Add(unsafe.Pointer(t.c), r*t.rowC))
		gemmTileNEON1(&row)
	}
}

//go:noescape
func gemmTileNEON4(t *gemmTile)

//go:noescape
func gemmTileNEON1(t *gemmTile)
