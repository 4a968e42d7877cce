package postings

import (
	"bytes"
	"encoding/binary"
)

// titleBlock is the number of titles that share an entry of the sparse index.
const titleBlock = 16

// titleWriter encodes titles as they are added. The chunks of a long function follow each other, so
// a repeated title takes one byte.
type titleWriter struct {
	data  []byte
	index []uint32
	last  []byte
	n     int
}

func (w *titleWriter) add(title []byte) {
	first := w.n%titleBlock == 0
	if first {
		w.index = append(w.index, uint32(len(w.data)))
	}
	w.n++
	if !first && bytes.Equal(title, w.last) {
		w.data = append(w.data, 0)
		return
	}
	w.data = binary.AppendUvarint(w.data, uint64(len(title))+1)
	w.data = append(w.data, title...)
	w.last = append(w.last[:0], title...)
}

// titles holds the titles of all chunks. The entries of index are positions in data that never
// decrease, so the total length of all titles is not much more than data.
type titles struct {
	data  []byte
	index column
	n     uint32 // number of entries of index
}

// fit reports whether the entries of the index ascend.
func (t *titles) fit() bool {
	last := uint32(0)
	for i := range t.n {
		at := t.index.at(i)
		if at < last || uint64(at) > uint64(len(t.data)) {
			return false
		}
		last = at
	}
	return true
}

// at returns title i, which points into data. It is empty if the data is damaged.
func (t *titles) at(i uint32) []byte {
	block := i / titleBlock
	data := t.data[t.index.at(block):]
	if block+1 < t.n {
		data = t.data[t.index.at(block):t.index.at(block+1)]
	}
	var title []byte
	for range i%titleBlock + 1 {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			return nil
		}
		data = data[size:]
		if n == 0 {
			continue
		}
		n--
		if n > uint64(len(data)) {
			return nil
		}
		title, data = data[:n:n], data[n:]
	}
	return title
}
