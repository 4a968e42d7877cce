package tensor

// rowsISA is the kernel set that DotRows uses on this machine.
var rowsISA = detect()

// dotRows computes the first rows and returns their number.
func dotRows(dst []int32, rows []int8, x []int16) int {
	if rowsISA < isaAVX2 {
		return 0
	}
	cols, whole := len(x), len(dst)&^3
	if whole > 0 {
		dotRowsFours(dst, rows, x, whole/4)
	}
	if rest := len(dst) - whole; rest > 0 {
		dotRowsOnes(dst[whole:], rows[whole*cols:], x, rest)
	}
	return len(dst)
}

// dotRowsFours computes n times four rows.
func dotRowsFours(dst []int32, rows []int8, x []int16, n int) {
	if rowsISA >= isaAVX512 {
		dotRows512x4(&dst[0], &rows[0], &x[0], len(x), n)
		return
	}
	dotRows256x4(&dst[0], &rows[0], &x[0], len(x), n)
}

// dotRowsOnes computes n rows.
func dotRowsOnes(dst []int32, rows []int8, x []int16, n int) {
	if rowsISA >= isaAVX512 {
		dotRows512x1(&dst[0], &rows[0], &x[0], len(x), n)
		return
	}
	dotRows256x1(&dst[0], &rows[0], &x[0], len(x), n)
}
