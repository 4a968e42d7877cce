package tensor

// packBPlain writes panels of nr columns, one after the other: depth rows of nr numbers, with zeros where there is no
// column.
func packBPlain(dst []float32, b gemmSide, cols, depth, nr int) {
	for col := 0; col < cols; col += nr {
		panel, width := dst[col*depth:][:nr*depth], min(nr, cols-col)
		if width < nr {
			clear(panel)
		}
		packPlain(panel, b.from(col, 0), width, depth, nr)
	}
}

// packAPlain writes panels of at most mr rows of A, as divide has them: depth rows of as many numbers.
func packAPlain(dst []float32, a gemmSide, rows, depth, mr int) {
	for high := divide(rows, mr, 1); high.next(); {
		packPlain(dst[high.at*depth:][:high.n*depth], a.from(high.at, 0), high.n, depth, high.n)
	}
}

// packPlain writes the lines of s across dst, whose rows are stride long.
func packPlain(dst []float32, s gemmSide, lines, depth, stride int) {
	if s.line == 1 {
		for p := range depth {
			copy(dst[p*stride:][:lines], s.x[p*s.step:])
		}
		return
	}
	for i := range lines {
		line := s.x[i*s.line:][:depth]
		for p, v := range line {
			dst[p*stride+i] = v
		}
	}
}
