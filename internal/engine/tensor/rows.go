package tensor

import "unsafe"

// RowStep is the unit of the length of rows for DotRows, which must be a multiple of it; shorter
// rows are padded with zeros.
const RowStep = 32

// DotRows multiplies rows of 8-bit integers by one row of 16-bit integers: dst[i] is the sum of the
// products of x and the i-th len(x) bytes of rows, each taken as a signed number. The result is
// exact, and the same on every processor, if the sum of the absolute products stays below 2³¹;
// beyond that it wraps.
//
// The rows are contiguous, as in a file, and need no alignment. Unlike a Matrix, which interleaves
// its rows, they can be multiplied in place in a mapped file. The length of x must be a multiple of
// RowStep, and rows must have len(dst) rows; otherwise DotRows panics.
func DotRows(dst []int32, rows []byte, x []int16) {
	if len(x)%RowStep != 0 || len(rows) != len(dst)*len(x) {
		panic("tensor: multiply rows: lengths do not fit")
	}
	if len(rows) == 0 {
		clear(dst)
		return
	}
	signed := unsafe.Slice((*int8)(unsafe.Pointer(&rows[0])), len(rows))
	n := dotRows(dst, signed, x)
	dotRowsPlain(dst[n:], signed[n*len(x):], x)
}

// dotRowsPlain defines the result of the kernels.
func dotRowsPlain(dst []int32, rows []int8, x []int16) {
	for i := range dst {
		row := rows[i*len(x):][:len(x)]
		sum := int32(0)
		for j, v := range row {
			sum += int32(v) * int32(x[j])
		}
		dst[i] = sum
	}
}
