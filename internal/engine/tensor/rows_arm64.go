package tensor

// dotRows computes the first rows and returns their number.
func dotRows(dst []int32, rows []int8, x []int16) int {
	dotRowsNEON(&dst[0], &rows[0], &x[0], len(x), len(dst))
	return len(dst)
}

// dotRowsNEON multiplies count rows of cols integers, a multiple of 32, by x.
//
//go:noescape
func dotRowsNEON(dst *int32, rows *int8, x *int16, cols, count int)
