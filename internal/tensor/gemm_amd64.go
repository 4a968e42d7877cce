package tensor

import "unsafe"

// gemmShape is how many rows and columns a kernel takes at most.
func (s isa) gemmShape() (rows, cols int) {
	switch s {
	case isaAVX512:
		return 12, 32
	case isaAVX2:
		return 6, 16
	}
	return 4, 4
}

// gemmRun computes the tile for rows and cols of c.
func (s isa) gemmRun(t *gemmTile, c []float32, ldc, rows, cols int, edge *[]float32) {
	_ = c[(rows-1)*ldc+cols-1]
	t.c, t.rowC = &c[0], 4*ldc
	switch {
	case s == isaAVX512:
		t.mask = uint32(1<<cols - 1)
		gemmTile512(t, rows)
	case s == isaAVX2 && cols == 16:
		gemmTile256(t, rows)
	case s == isaAVX2:
		gemmEdge(t, c, ldc, rows, cols, 16, growFloats(edge, 6*16), gemmTile256)
	case cols == 4:
		gemmTilePlain(t, rows)
	default:
		gemmEdge(t, c, ldc, rows, cols, 4, growFloats(edge, 4*4), gemmTilePlain)
	}
}

// packB packs the columns of B for the kernels.
func (s isa) packB(dst []float32, b gemmSide, cols, depth, nr int) {
	if s != isaAVX512 {
		packBPlain(dst, b, cols, depth, nr)
		return
	}
	for col := 0; col < cols; col += 32 {
		panel, width := dst[col*depth:][:32*depth], min(32, cols-col)
		if b.line == 1 {
			gemmCopy32(&panel[0], 4*32, &b.x[col], 4*b.step, depth, uint32(1<<width-1), ^uint32(0))
			continue
		}
		gemmTurn16(&panel[0], 4*32, &b.x[col*b.line], 4*b.line, depth, min(16, width), 0xffff)
		if width > 16 {
			gemmTurn16(&panel[16], 4*32, &b.x[(col+16)*b.line], 4*b.line, depth, width-16, 0xffff)
		} else {
			clearColumns(panel[16:], depth)
		}
	}
}

// clearColumns clears the right half of a panel, where the left holds the last columns.
func clearColumns(x []float32, depth int) {
	for p := range depth {
		clear(x[p*32:][:16])
	}
}

// packA packs the rows of A for the kernels.
func (s isa) packA(dst []float32, a gemmSide, rows, depth, mr int) {
	if s != isaAVX512 {
		packAPlain(dst, a, rows, depth, mr)
		return
	}
	for high := divide(rows, mr, 1); high.next(); {
		to, mask := &dst[high.at*depth], uint32(1<<high.n-1)
		if a.line == 1 {
			gemmCopy16(to, 4*high.n, &a.x[high.at], 4*a.step, depth, mask, mask)
		} else {
			gemmTurn16(to, 4*high.n, &a.x[high.at*a.line], 4*a.line, depth, high.n, mask)
		}
	}
}

// gemmTile512 calls the kernel of AVX-512 for a number of rows.
func gemmTile512(t *gemmTile, rows int) {
	p := (*byte)(unsafe.Pointer(t))
	switch rows {
	case 1:
		gemmTile512x1(p)
	case 2:
		gemmTile512x2(p)
	case 3:
		gemmTile512x3(p)
	case 4:
		gemmTile512x4(p)
	case 5:
		gemmTile512x5(p)
	case 6:
		gemmTile512x6(p)
	case 7:
		gemmTile512x7(p)
	case 8:
		gemmTile512x8(p)
	case 9:
		gemmTile512x9(p)
	case 10:
		gemmTile512x10(p)
	case 11:
		gemmTile512x11(p)
	case 12:
		gemmTile512x12(p)
	}
}

// gemmTile256 calls the kernel of AVX2 for a number of rows.
func gemmTile256(t *gemmTile, rows int) {
	p := (*byte)(unsafe.Pointer(t))
	switch rows {
	case 1:
		gemmTile256x1(p)
	case 2:
		gemmTile256x2(p)
	case 3:
		gemmTile256x3(p)
	case 4:
		gemmTile256x4(p)
	case 5:
		gemmTile256x5(p)
	case 6:
		gemmTile256x6(p)
	}
}
