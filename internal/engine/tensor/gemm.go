package tensor

import "fmt"

// gemmISA is the kernel set used for matrix products on this machine.
var gemmISA = detect()

// GemmSpace is the memory into which Gemm packs blocks of its operands. It grows as products need
// it and is reused; the zero value is ready to use. It must not be used by two goroutines at once.
type GemmSpace struct {
	// BFloat16 lets Gemm round A and B to bfloat16, which has the range of float32 and 8 bits of
	// precision. Gemm does so if the processor multiplies such numbers much faster (x86-64 with
	// AMX, on Linux) and the product is large enough to benefit from it. Sums still have 32 bits.
	BFloat16 bool

	a, b []float32 // packed blocks
	edge []float32 // a tile that extends beyond C
	tile gemmTile
}

// Gemm computes C = alpha·op(A)·op(B) + beta·C, where op transposes its operand if transA or transB
// is true: op(A) is m×k, op(B) is k×n and C is m×n. Matrices are row-major with lda, ldb and ldc
// numbers between the starts of rows as stored: A is m rows of at least k numbers, or k rows of at
// least m if transA is true.
//
// It runs on the caller's goroutine. The parameter ws is its memory; nil means new memory each
// time. If beta is 0, C is only written. If alpha is 0, A and B are not read, and infinities and
// NaNs in them do not matter. C must not overlap A or B. Dimensions that are negative or do not fit
// the slices make Gemm panic.
//
// The sum of an element runs over k in order, in blocks. The last bits may differ from one kernel
// set to another, but not from one call to the next.
func Gemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int, ws *GemmSpace) {
	gemmOn(gemmISA, transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, ws)
}

// gemmOn is like Gemm, with a given kernel set.
func gemmOn(s isa, transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int, ws *GemmSpace) {
	if m < 0 || n < 0 || k < 0 {
		panic(fmt.Sprintf("tensor: multiply matrices: negative size in %d×%d×%d", m, n, k))
	}
	if m == 0 || n == 0 {
		return
	}
	gemmFits("C", c, ldc, m, n)
	if k == 0 || alpha == 0 {
		scaleMatrix(c, ldc, m, n, beta)
		return
	}
	ar, ac, br, bc := m, k, k, n
	if transA {
		ar, ac = k, m
	}
	if transB {
		br, bc = n, k
	}
	gemmFits("A", a, lda, ar, ac)
	gemmFits("B", b, ldb, br, bc)
	if ws == nil {
		ws = new(GemmSpace)
	}
	g := gemm{isa: s, ws: ws, m: m, n: n, k: k, a: newGemmSide(a, lda, transA), b: newGemmSide(b, ldb, !transB), c: c, ldc: ldc, alpha: alpha, beta: beta}
	if ws.BFloat16 && m*n*k >= brainWork && brainISA() {
		(&brain{gemm: g}).run()
		return
	}
	g.run()
}

// brainWork is the smallest number of multiplications for which rounding and packing for AMX tiles
// pays off.
const brainWork = 1 << 16

// gemmFits panics unless x can hold rows×cols numbers, with ld numbers between the starts of rows.
func gemmFits(name string, x []float32, ld, rows, cols int) {
	if ld < cols {
		panic(fmt.Sprintf("tensor: multiply matrices: %d numbers between the rows of %s, which are %d long", ld, name, cols))
	}
	if need := (rows-1)*ld + cols; len(x) < need {
		panic(fmt.Sprintf("tensor: multiply matrices: %s holds %d numbers, %d×%d with %d between rows need %d", name, len(x), rows, cols, ld, need))
	}
}

// scaleMatrix multiplies C by beta; a beta of 0 clears C, whatever it contains.
func scaleMatrix(c []float32, ldc, m, n int, beta float32) {
	for i := range m {
		row := c[i*ldc:][:n]
		switch beta {
		case 0:
			clear(row)
		case 1:
			return
		default:
			for j := range row {
				row[j] *= beta
			}
		}
	}
}
