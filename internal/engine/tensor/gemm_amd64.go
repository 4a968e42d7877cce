package tensor

import "unsafe"

// gemmShape returns the maximum number of rows and columns of a kernel.
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

// packPanel writes lines of A or B as columns of dst, which has depth rows of width numbers. If
// there are fewer than width lines, the rest of each row is irrelevant.
func (s isa) packPanel(dst []float32, x gemmSide, lines, depth, width int) {
	switch s {
	case isaGo:
		packPlain(dst, x, lines, depth, width)
		return
	case isaAVX2:
		packNarrow(dst, x, lines, depth, width)
		return
	}
	to, from, keep := dst[:depth*width], x.x[:(lines-1)*x.line+(depth-1)*x.step+1], uint32(1<<width-1)
	if x.line == 1 {
		mask := uint32(1<<lines - 1)
		if width > 16 {
			gemmCopy32(&to[0], 4*width, &from[0], 4*x.step, depth, mask, keep)
		} else {
			gemmCopy16(&to[0], 4*width, &from[0], 4*x.step, depth, mask, keep)
		}
		return
	}
	for i := 0; i < width; i += 16 {
		// Lanes without a line get a copy of the last line.
		at := min(i, lines-1)
		gemmTurn16(&to[i], 4*width, &from[at*x.line], 4*x.line, depth, min(16, lines-at), keep>>i&0xffff)
	}
}

// packNarrow is like packPlain, with AVX2 vectors.
func packNarrow(dst []float32, x gemmSide, lines, depth, width int) {
	if x.line == 1 {
		packNarrowSteps(dst, x, lines, depth, width)
	} else {
		packNarrowLines(dst, x, lines, depth, width)
	}
}

// packNarrowSteps copies as many numbers as a tile has rows or columns. For so few, a call of copy
// would take longer than the copying.
func packNarrowSteps(dst []float32, x gemmSide, lines, depth, width int) {
	to, from := &dst[:depth*width][0], &x.x[:(depth-1)*x.step+lines][0]
	switch lines {
	case 16:
		gemmCopyNarrow16(to, 4*width, from, 4*x.step, depth)
	case 6:
		gemmCopyNarrow6(to, 4*width, from, 4*x.step, depth)
	case 5:
		gemmCopyNarrow5(to, 4*width, from, 4*x.step, depth)
	case 4:
		gemmCopyNarrow4(to, 4*width, from, 4*x.step, depth)
	default:
		packPlain(dst, x, lines, depth, width)
	}
}

// packNarrowLines transposes blocks of eight lines and eight steps in registers.
func packNarrowLines(dst []float32, x gemmSide, lines, depth, width int) {
	to, from, some, i := dst[:depth*width], x.x[:(lines-1)*x.line+depth], depth&^7, 0
	for ; some > 0 && i+8 <= lines; i += 8 {
		gemmTurn8(&to[i], 4*width, &from[i*x.line], 4*x.line, some)
		if some < depth {
			packLines(to[some*width+i:], x.from(i, some), 8, depth-some, width)
		}
	}
	if i < lines {
		packLines(to[i:], x.from(i, 0), lines-i, depth, width)
	}
}

// gemmTile512 calls the AVX-512 kernel for a number of rows.
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

// gemmTile256 calls the AVX2 kernel for a number of rows.
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
