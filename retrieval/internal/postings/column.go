package postings

import "encoding/binary"

// column is an array of numbers in the index, each of one, two or four bytes. If their size is zero
// bytes, all numbers are zero.
type column struct {
	data  []byte
	width int
}

// at returns number i, which must exist.
func (c column) at(i uint32) uint32 {
	switch c.width {
	case 1:
		return uint32(c.data[i])
	case 2:
		return uint32(binary.LittleEndian.Uint16(c.data[2*int(i):]))
	case 4:
		return binary.LittleEndian.Uint32(c.data[4*int(i):])
	}
	return 0
}

// openColumn reads a column of n numbers.
func openColumn(data []byte, n uint64) (column, bool) {
	for _, width := range [...]uint64{0, 1, 2, 4} {
		if uint64(len(data)) == width*n {
			return column{data, int(width)}, true
		}
	}
	return column{}, false
}

// encodeColumn writes n numbers, all with the number of bytes that the largest one needs: none if
// all are zero.
func encodeColumn(n int, at func(i int) uint32) []byte {
	return encodeAtLeast(0, n, at)
}

// encodeAtLeast writes n numbers, all with the number of bytes that the largest of them needs, or
// that the parameter largest needs if that is more.
func encodeAtLeast(largest uint32, n int, at func(i int) uint32) []byte {
	for i := range n {
		largest |= at(i)
	}
	var out []byte
	switch {
	case largest == 0:
	case largest <= 0xff:
		out = make([]byte, n)
		for i := range n {
			out[i] = byte(at(i))
		}
	case largest <= 0xffff:
		out = make([]byte, 2*n)
		for i := range n {
			binary.LittleEndian.PutUint16(out[2*i:], uint16(at(i)))
		}
	default:
		out = make([]byte, 4*n)
		for i := range n {
			binary.LittleEndian.PutUint32(out[4*i:], at(i))
		}
	}
	return out
}

// zigzag maps differences near zero, positive or negative, to small numbers.
func zigzag(d uint32) uint32 { return d<<1 ^ uint32(int32(d)>>31) }

func unzigzag(z uint32) uint32 { return z>>1 ^ -(z & 1) }
