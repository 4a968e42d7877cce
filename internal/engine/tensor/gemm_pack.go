package tensor

// packPlain writes the lines of x as columns of dst, which has depth rows of width numbers. If
// there are fewer than width lines, the rest of each row is zeros.
func packPlain(dst []float32, x gemmSide, lines, depth, width int) {
	dst = dst[:depth*width]
	if lines < width {
		clear(dst)
	}
	if x.line != 1 {
		packLines(dst, x, lines, depth, width)
		return
	}
	for p := range depth {
		copy(dst[p*width:][:lines], x.x[p*x.step:])
	}
}

// packLines transposes lines that run along k.
func packLines(dst []float32, x gemmSide, lines, depth, width int) {
	for i := range lines {
		line := x.x[i*x.line:][:depth]
		for p, v := range line {
			dst[p*width+i] = v
		}
	}
}
