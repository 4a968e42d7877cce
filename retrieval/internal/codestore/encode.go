package codestore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
)

// The format of a segment file; all numbers are little-endian:
//
//	header   64 bytes
//	  0  magic            "LUTHSEG\n"
//	  8  layout version   u32
//	 12  format version   u32
//	 16  documents        u32
//	 20  sections         u32
//	 24  table length     u64; the table begins at 64
//	 32  file length      u64
//	 40  table checksum   u32
//	 44  format name      u32 length; the name comes first in the table
//	 48  reserved, zero
//	 60  checksum of the 60 bytes above
//	table
//	  format name, then padding to 8
//	  one record per document, sorted by path (see record.go)
//	  one record per section: name offset u32, name length u32, offset u64, length u64, checksum u32, 0 u32
//	  names: paths and section names
//	sections, each at a multiple of 8, zeros between
//
// Checksums are CRC-32C, which processors compute faster than memory delivers.
const (
	magic         = "LUTHSEG\n"
	layoutVersion = 1
	headerSize    = 64
	sectionSize   = 32
	maxNames      = 1<<31 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func align8(n int) int { return (n + 7) &^ 7 }

// encodeSegment returns the file as pieces, to be written one after the other, and its name. The
// name is computed from header and table, and therefore from all paths, contents and checksums: two
// segments with the same name hold the same data.
func encodeSegment(f Format, docs []Doc, sections []Section) (pieces [][]byte, name string, err error) {
	table, err := encodeTable(f, docs, sections)
	if err != nil {
		return nil, "", err
	}
	end := headerSize + len(table)
	pieces = [][]byte{nil, table}
	for i := range sections {
		pieces = append(pieces, make([]byte, align8(end)-end), sections[i].Data)
		end = align8(end) + len(sections[i].Data)
	}
	head := make([]byte, 0, headerSize)
	head = append(head, magic...)
	le := binary.LittleEndian
	head = le.AppendUint32(head, layoutVersion)
	head = le.AppendUint32(head, f.Version)
	head = le.AppendUint32(head, uint32(len(docs)))
	head = le.AppendUint32(head, uint32(len(sections)))
	head = le.AppendUint64(head, uint64(len(table)))
	head = le.AppendUint64(head, uint64(end))
	head = le.AppendUint32(head, checksum(table))
	head = le.AppendUint32(head, uint32(len(f.Name)))
	head = append(head, make([]byte, 60-len(head))...)
	pieces[0] = le.AppendUint32(head, checksum(head))
	sum := sha256.New()
	sum.Write(pieces[0])
	sum.Write(table)
	return pieces, hex.EncodeToString(sum.Sum(nil)[:12]) + segmentSuffix, nil
}

func encodeTable(f Format, docs []Doc, sections []Section) ([]byte, error) {
	names := 0
	for i := range docs {
		names += len(docs[i].Path)
	}
	if names > maxNames {
		return nil, fmt.Errorf("codestore: encode segment: its paths have %d bytes, more than %d", names, maxNames)
	}
	t := append([]byte{}, f.Name...)
	t = append(t, make([]byte, align8(len(t))-len(t))...)
	at := len(t) + recordSize*len(docs) + sectionSize*len(sections)
	arena := make([]byte, 0, names+64)
	for i := range docs {
		t = appendRecord(t, &docs[i], at+len(arena))
		arena = append(arena, docs[i].Path...)
	}
	tableLen := at + names
	for _, s := range sections {
		tableLen += len(s.Name)
	}
	offset := headerSize + tableLen
	for _, s := range sections {
		offset = align8(offset)
		le := binary.LittleEndian
		t = le.AppendUint32(t, uint32(at+len(arena)))
		t = le.AppendUint32(t, uint32(len(s.Name)))
		t = le.AppendUint64(t, uint64(offset))
		t = le.AppendUint64(t, uint64(len(s.Data)))
		t = le.AppendUint32(t, checksum(s.Data))
		t = le.AppendUint32(t, 0)
		arena = append(arena, s.Name...)
		offset += len(s.Data)
	}
	return append(t, arena...), nil
}
