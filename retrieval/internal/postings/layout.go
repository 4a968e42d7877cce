package postings

import (
	"encoding/binary"
	"hash/crc32"
)

// Sections of an index, in the order of their entries in the header.
const (
	secFiles = iota
	secOwner
	secLine
	secSkip
	secSpan
	secLength
	secTitleIndex = secLength + Fields + iota - 6
	secTitles
	secShapes
	secBlocks
	secDict
	secPostings
	sections
)

const (
	magic   = "luthlex\x00"
	version = 1

	// The header: magic; version, files, chunks, terms (uint32); totals (uint64 each); sections;
	// CRC-32C of all of it.
	countsAt   = 8
	totalsAt   = countsAt + 4*4
	sectionsAt = totalsAt + 8*Fields
	entrySize  = 8 + 8 + 4 // position, size, CRC-32C
	headerSum  = sectionsAt + entrySize*sections
	headerSize = headerSum + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// large reports whether a section is checked only by Verify, because Open must not read all of it.
func large(section int) bool {
	return section == secTitles || section == secDict || section == secPostings
}

// header is the part of an index before the sections.
type header struct {
	files, chunks, terms uint32
	totals               [Fields]uint64
	section              [sections]entry
}

type entry struct {
	at, size uint64
	sum      uint32
}

func (h *header) encode(out []byte) {
	le := binary.LittleEndian
	copy(out, magic)
	for i, v := range [...]uint32{version, h.files, h.chunks, h.terms} {
		le.PutUint32(out[countsAt+4*i:], v)
	}
	for i, v := range h.totals {
		le.PutUint64(out[totalsAt+8*i:], v)
	}
	for i, s := range h.section {
		e := out[sectionsAt+entrySize*i:]
		le.PutUint64(e, s.at)
		le.PutUint64(e[8:], s.size)
		le.PutUint32(e[16:], s.sum)
	}
	le.PutUint32(out[headerSum:], checksum(out[:headerSum]))
}

// decode reads a header of headerSize bytes whose magic, version and checksum are right.
func (h *header) decode(in []byte) {
	le := binary.LittleEndian
	h.files, h.chunks, h.terms = le.Uint32(in[countsAt+4:]), le.Uint32(in[countsAt+8:]), le.Uint32(in[countsAt+12:])
	for i := range h.totals {
		h.totals[i] = le.Uint64(in[totalsAt+8*i:])
	}
	for i := range h.section {
		e := in[sectionsAt+entrySize*i:]
		h.section[i] = entry{le.Uint64(e), le.Uint64(e[8:]), le.Uint32(e[16:])}
	}
}
