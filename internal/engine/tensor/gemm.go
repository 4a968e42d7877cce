package tensor

import "fmt"

// gemmISA is the set of kernels of products here.
var gemmISA = detect()

// GemmSpace is the memory that Gemm packs blocks of its operands into. It grows to what the
// products so far needed and is used again by the next; the zero value is ready. It must not be
// used by two goroutines at once.
type GemmSpace struct {
	// BFloat16 lets Gemm round A and B to bfloat16, which has the range of float32 and 8 bits of
	// precision, where the processor multiplies such numbers much faster (x86-64 with AMX, on
	// Linux) and the product is large enough to gain by it. Sums stay of 32 bits.
	BFloat16 bool

	a, b []float32 // packed blocks
	edge []float32 // a tile that does not fit C
	tile gemmTile
}

// Gemm computes C = alpha·op(A)·op(B) + beta·C, where op transposes when transA or transB says so:
// op(A) is m×k, op(B) is k×n and C is m×n. Matrices are row-major with lda, ldb and ldc numbers
// between the starts of rows as they are stored: A is m rows of at least k, or k rows of at least m
// when transA.
//
// It runs on the caller's goroutine; ws is its memory, nil for fresh memory each time. With a beta
// of 0, C is only written; with an alpha of 0, A and B are not read, and infinities and non-numbers
// in them do not matter. C must not overlap A or B. Dimensions that are negative or do not fit the
// slices are a mistake of the caller: Gemm panics.
//
// The sum of an element runs over k in order, in blocks; the last bits may differ from one set of
// kernels to another, but not from one call to the next.
func Gemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int, ws *GemmSpace) {
	gemmOn(gemmISA, transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, ws)
}

// gemmOn is Gemm with a set of kernels.
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

// brainWork is from how many multiplications on rounding and packing for tiles pays.
const brainWork = 1 << 16

// gemmFits panics unless x holds rows×cols numbers, ld between the starts of rows.
func gemmFits(name string, x []float32, ld, rows, cols int) {
	if ld < cols {
		panic(fmt.Sprintf("tensor: multiply matrices: %d numbers between the rows of %s, which are %d long", ld, name, cols))
	}
	if need := (rows-1)*ld + cols; len(x) < need {
		panic(fmt.Sprintf("tensor: multiply matrices: %s holds %d numbers, %d×%d with %d between rows need %d", name, len(x), rows, cols, ld, need))
	}
}

// scaleMatrix multiplies C by beta; a beta of 0 clears it, whatever it held.
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
