package tensor

import "unsafe"

// RowStep is what the length of a row for DotRows is a multiple of; shorter rows are filled up with
// zeros.
const RowStep = 32

// DotRows multiplies rows of 8-bit integers with one row of 16-bit integers: dst[i] is the sum of
// the products of x and the i-th len(x) bytes of rows, each taken as a signed number. It is exact,
// on every processor the same, as long as the sum of the absolute products stays below 2³¹; beyond
// that it wraps.
//
// The rows lie one behind the other as they would in a file, and need no alignment: unlike a
// Matrix, which interleaves its rows, they can be multiplied where they are mapped. len(x) must be
// a multiple of RowStep and rows must hold len(dst) rows; anything else is a mistake of the caller,
// and DotRows panics.
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

// dotRowsPlain is what the kernels compute.
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
