package tensor

import "unsafe"

// gemmTile holds the parameters of a kernel, which multiplies rows of A by the columns of one tile
// of B: alpha·sum + beta·C. Distances are in bytes. The generator gen/gemm depends on its fields.
type gemmTile struct {
	a, b, c     *float32
	rowA, stepA int // distance to the next row of A, to the next step
	stepB       int
	rowC        int
	k           int
	alpha, beta float32
	mask        uint32 // columns to write, for kernels with masks
}

// gemmEdge lets a kernel without masks compute the tile in separate memory, and then adds the part
// that belongs to C.
func gemmEdge(t *gemmTile, c []float32, ldc, rows, cols, nr int, edge []float32, run func(t *gemmTile, rows int)) {
	alpha, beta := t.alpha, t.beta
	t.c, t.rowC, t.alpha, t.beta = &edge[0], 4*nr, 1, 0
	run(t, rows)
	t.alpha, t.beta = alpha, beta
	for i := range rows {
		row := c[i*ldc:][:cols]
		for j := range row {
			v := alpha * edge[i*nr+j]
			if beta != 0 {
				v += beta * row[j]
			}
			row[j] = v
		}
	}
}

// gemmTilePlain is the kernel in plain Go: four columns, up to four rows.
func gemmTilePlain(t *gemmTile, rows int) {
	if rows == 4 {
		gemmTilePlain4(t)
		return
	}
	rowA, stepA, stepB := t.rowA/4, t.stepA/4, t.stepB/4
	b := unsafe.Slice(t.b, (t.k-1)*stepB+4)
	for r := range rows {
		a := unsafe.Slice(t.a, r*rowA+(t.k-1)*stepA+1)[r*rowA:]
		var s [4]float32
		for p := range t.k {
			f, v := a[p*stepA], b[p*stepB:][:4]
			s[0] += f * v[0]
			s[1] += f * v[1]
			s[2] += f * v[2]
			s[3] += f * v[3]
		}
		t.put(r, s)
	}
}

// gemmTilePlain4 keeps the sums of four rows in registers.
func gemmTilePlain4(t *gemmTile) {
	rowA, stepA, stepB := t.rowA/4, t.stepA/4, t.stepB/4
	b := unsafe.Slice(t.b, (t.k-1)*stepB+4)
	a := unsafe.Slice(t.a, 3*rowA+(t.k-1)*stepA+1)
	a1, a2, a3 := a[rowA:], a[2*rowA:], a[3*rowA:]
	var s0, s1, s2, s3, u0, u1, u2, u3, v0, v1, v2, v3, w0, w1, w2, w3 float32
	for p := range t.k {
		x := b[p*stepB:][:4]
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		i := p * stepA
		f := a[i]
		s0, s1, s2, s3 = s0+f*x0, s1+f*x1, s2+f*x2, s3+f*x3
		f = a1[i]
		u0, u1, u2, u3 = u0+f*x0, u1+f*x1, u2+f*x2, u3+f*x3
		f = a2[i]
		v0, v1, v2, v3 = v0+f*x0, v1+f*x1, v2+f*x2, v3+f*x3
		f = a3[i]
		w0, w1, w2, w3 = w0+f*x0, w1+f*x1, w2+f*x2, w3+f*x3
	}
	t.put(0, [4]float32{s0, s1, s2, s3})
	t.put(1, [4]float32{u0, u1, u2, u3})
	t.put(2, [4]float32{v0, v1, v2, v3})
	t.put(3, [4]float32{w0, w1, w2, w3})
}

// put writes a row of four sums.
func (t *gemmTile) put(row int, s [4]float32) {
	at := row * t.rowC / 4
	c := unsafe.Slice(t.c, at+4)[at:]
	for j, v := range s {
		v *= t.alpha
		if t.beta != 0 {
			v += t.beta * c[j]
		}
		c[j] = v
	}
}
