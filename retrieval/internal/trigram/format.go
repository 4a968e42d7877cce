package trigram

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"unicode"
)

// The format of an index; numbers are little-endian:
//
//	header    64 bytes, see below
//	documents their numbers as distances from the previous one (the first from 0), as variable-length bytes
//	anchors   for every 32nd trigram: the trigram, the position of its entry in the directory and of its list (4, 4, 8 bytes)
//	directory for each trigram, ascending: distance to the previous one (omitted for every 32nd), number of documents, bytes of the
//	          list (only where the number does not determine them), as variable-length bytes
//	checks    CRC-32C of every 4,096 bytes of the lists
//	lists     of the documents of each trigram, by their position in the table of documents; see bits.go
//
// The checksum in the header covers everything except the lists, and is verified when the index is
// opened. Lists are verified when they are read.
const (
	magic      = "ltrigram"
	version    = 1
	headerSize = 64
	groupSize  = 32
	anchorSize = 16
	blockSize  = 4096
	checkSize  = 4
)

// header is the start of an index. It contains magic, version, foldVersion, these fields, and then
// the checksum of all of that and of the tables.
type header struct {
	docs, grams        uint32
	docBytes, dirBytes uint32
	listBytes          uint64
}

const sumOffset = headerSize - 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// foldVersion identifies the tables with which text was folded. A search that used other tables
// could miss indexed text.
func foldVersion() uint32 {
	return crc32.Checksum([]byte(unicode.Version), castagnoli)
}

func (h header) append(dst []byte) []byte {
	dst = append(dst, magic...)
	le := binary.LittleEndian
	for _, v := range []uint32{version, foldVersion(), h.docs, h.grams, h.docBytes, h.dirBytes} {
		dst = le.AppendUint32(dst, v)
	}
	dst = le.AppendUint64(dst, h.listBytes)
	return append(dst, make([]byte, headerSize-len(dst))...)
}

// Bytes encodes the added documents as an index. The builder is unchanged, so that more documents
// can be added for another index.
func (b *Builder) Bytes() []byte {
	lists := b.lists.lists
	order := make([]uint32, len(lists))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return int(lists[x].key) - int(lists[y].key) })

	var anchors, dir []byte
	w := bitWriter{out: make([]byte, 0, len(b.lists.arena)/2)}
	var docs []uint32
	key, n := uint32(0), uint32(len(b.docs))
	for i, at := range order {
		l := &lists[at]
		if i%groupSize == 0 {
			anchors = binary.LittleEndian.AppendUint32(anchors, l.key)
			anchors = binary.LittleEndian.AppendUint32(anchors, uint32(len(dir)))
			anchors = binary.LittleEndian.AppendUint64(anchors, uint64(len(w.out)))
		} else {
			dir = binary.AppendUvarint(dir, uint64(l.key-key))
		}
		key = l.key
		dir = binary.AppendUvarint(dir, uint64(l.count))
		docs = b.lists.read(docs[:0], l)
		start := len(w.out)
		w.list(docs, n)
		if l.count < n { // a list that includes every document is empty
			dir = binary.AppendUvarint(dir, uint64(len(w.out)-start))
		}
	}
	return b.join(anchors, dir, w.out)
}

func (b *Builder) join(anchors, dir, lists []byte) []byte {
	var docs []byte
	last := uint32(0)
	for _, d := range b.docs {
		docs = binary.AppendUvarint(docs, uint64(d-last))
		last = d
	}
	h := header{
		docs: uint32(len(b.docs)), grams: uint32(len(b.lists.lists)),
		docBytes: uint32(len(docs)), dirBytes: uint32(len(dir)), listBytes: uint64(len(lists)),
	}
	size := headerSize + len(docs) + len(anchors) + len(dir) + checksSize(h.listBytes) + len(lists)
	out := h.append(make([]byte, 0, size))
	out = append(out, docs...)
	out = append(out, anchors...)
	out = append(out, dir...)
	for block := range slices.Chunk(lists, blockSize) {
		out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(block, castagnoli))
	}
	binary.LittleEndian.PutUint32(out[sumOffset:], tableSum(out))
	return append(out, lists...)
}

// tableSum returns the checksum of header and tables, without the bytes of the checksum itself.
func tableSum(tables []byte) uint32 {
	return crc32.Update(crc32.Checksum(tables[:sumOffset], castagnoli), castagnoli, tables[headerSize:])
}

func checksSize(listBytes uint64) int {
	return int((listBytes + blockSize - 1) / blockSize * checkSize)
}
