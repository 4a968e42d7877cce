package codestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A segmentFile is an open segment. Its table is in memory; the whole file is mapped, or in memory
// too.
type segmentFile struct {
	name     string
	file     string // its path, "" if it is only in memory
	at       stamp  // stamp of that file
	docs     int
	table    []byte
	records  []byte // the documents' records, within table
	data     []byte // the whole file
	unmap    func() error
	refs     int // number of references held by states and writers; guarded by Store.mu
	source   int64
	sections map[string]*section
	broken   atomic.Bool // one of its checksums was wrong

	mu     sync.Mutex
	values map[string]*value
}

type section struct {
	data  []byte
	sum   uint32
	check func() error // runs once
}

// value is something that a caller derived from a segment.
type value struct {
	once sync.Once
	made any
	err  error
}

// heapSegment is the largest size of a segment that is read into memory instead of mapped: for it,
// mapping would cost more than it saves.
const heapSegment = 1 << 20

var errDamaged = errors.New("damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("segment is %w: %s", errDamaged, fmt.Sprintf(format, args...))
}

// openSegment opens a segment of format f. It checks everything except the contents of the
// sections.
func openSegment(path, name string, f Format, o Options) (*segmentFile, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}
	size := fi.Size()
	if o.NoMap || !canMap || size <= heapSegment && !o.mapAll {
		data := make([]byte, 0)
		if size <= maxHeapRead {
			data, err = io.ReadAll(io.LimitReader(file, size))
		} else {
			err = damaged("%d bytes are more than this system can read", size)
		}
		if err != nil {
			return nil, err
		}
		s, err := parseSegment(name, f, data, data)
		if err == nil {
			s.file, s.at = path, stampOf(fi)
		}
		return s, err
	}
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(file, head); err != nil {
		return nil, damaged("header cannot be read: %v", err)
	}
	h, err := parseHeader(head, f)
	if err != nil {
		return nil, err
	}
	if h.table > uint64(size)-headerSize {
		return nil, damaged("table of %d bytes in a file of %d", h.table, size)
	}
	table := make([]byte, headerSize+h.table)
	copy(table, head)
	if _, err := io.ReadFull(file, table[headerSize:]); err != nil {
		return nil, damaged("table cannot be read: %v", err)
	}
	data, unmap, err := mapFile(file, size)
	if err != nil {
		return nil, err
	}
	s, err := parseSegment(name, f, table, data)
	if err != nil {
		return nil, errors.Join(err, unmap())
	}
	s.unmap, s.file, s.at = unmap, path, stampOf(fi)
	return s, nil
}

const maxHeapRead = 1 << 30

type header struct {
	docs, sections, formatName uint64 // 32-bit values, in variables wide enough for sums
	table, size                uint64
	sum                        uint32
}

func parseHeader(b []byte, f Format) (h header, err error) {
	le := binary.LittleEndian
	switch {
	case len(b) < headerSize || !bytes.HasPrefix(b, []byte(magic)):
		return h, damaged("it does not begin as one")
	case checksum(b[:60]) != le.Uint32(b[60:]):
		return h, damaged("checksum of its header is wrong")
	case le.Uint32(b[8:]) != layoutVersion:
		return h, fmt.Errorf("segment has layout version %d, this is %d", le.Uint32(b[8:]), layoutVersion)
	case le.Uint32(b[12:]) != f.Version:
		return h, fmt.Errorf("segment has version %d of its format, this is %d", le.Uint32(b[12:]), f.Version)
	}
	h = header{
		docs: uint64(le.Uint32(b[16:])), sections: uint64(le.Uint32(b[20:])), table: le.Uint64(b[24:]), size: le.Uint64(b[32:]),
		sum: le.Uint32(b[40:]), formatName: uint64(le.Uint32(b[44:])),
	}
	return h, nil
}

// parseSegment checks the header and table at the beginning of head, and returns a segment with
// them. The parameter data is the whole file, which may be mapped and is not accessed.
func parseSegment(name string, f Format, head, data []byte) (*segmentFile, error) {
	h, err := parseHeader(head, f)
	if err != nil {
		return nil, err
	}
	if h.size != uint64(len(data)) {
		return nil, damaged("it has %d bytes instead of %d", len(data), h.size)
	}
	if h.table > uint64(len(head))-headerSize {
		return nil, damaged("table of %d bytes in a file of %d", h.table, len(data))
	}
	table := head[headerSize : headerSize+h.table]
	if checksum(table) != h.sum {
		return nil, damaged("checksum of its table is wrong")
	}
	named := (h.formatName + 7) &^ 7
	if need := named + recordSize*h.docs + sectionSize*h.sections; need > h.table {
		return nil, damaged("table of %d bytes is too small for %d documents", h.table, h.docs)
	}
	if got := string(table[:h.formatName]); got != f.Name {
		return nil, fmt.Errorf("segment is of format %q, this is %q", got, f.Name)
	}
	s := &segmentFile{name: name, docs: int(h.docs), table: table, data: data, unmap: func() error { return nil }, values: map[string]*value{}}
	s.records = table[named : named+recordSize*h.docs]
	if err := s.checkDocs(); err != nil {
		return nil, err
	}
	return s, s.findSections(table[named+recordSize*h.docs:][:sectionSize*h.sections])
}

// checkDocs checks that all paths lie within the table, are sorted and are unique.
func (s *segmentFile) checkDocs() error {
	var before []byte
	for i := range s.docs {
		r := s.record(i)
		at, n := binary.LittleEndian.Uint32(r), binary.LittleEndian.Uint32(r[4:])
		if uint64(at)+uint64(n) > uint64(len(s.table)) || n == 0 {
			return damaged("path of document %d is outside of its table", i)
		}
		path := s.path(i)
		if i > 0 && bytes.Compare(before, path) >= 0 {
			return damaged("documents are not sorted by path")
		}
		before = path
		s.source += s.size(i)
	}
	return nil
}

func (s *segmentFile) findSections(records []byte) error {
	s.sections = map[string]*section{}
	le := binary.LittleEndian
	for ; len(records) > 0; records = records[sectionSize:] {
		nameAt, nameLen := uint64(le.Uint32(records)), uint64(le.Uint32(records[4:]))
		at, n := le.Uint64(records[8:]), le.Uint64(records[16:])
		size := uint64(len(s.data))
		if nameAt+nameLen > uint64(len(s.table)) || at > size || n > size-at || at%8 != 0 {
			return damaged("section is outside of its file")
		}
		sec := &section{data: s.data[at : at+n : at+n], sum: le.Uint32(records[24:])}
		name := string(s.table[nameAt : nameAt+nameLen])
		sec.check = sync.OnceValue(func() error {
			return Guard(func() error {
				if checksum(sec.data) != sec.sum {
					s.broken.Store(true)
					return damaged("checksum of section %q is wrong", name)
				}
				return nil
			})
		})
		s.sections[name] = sec
	}
	return nil
}

// lost returns the reason why a segment must be built again although it is open: its file was
// truncated, replaced or removed, or a checksum was wrong. It returns "" if there is none.
func (s *segmentFile) lost() string {
	if s.broken.Load() {
		return "a checksum is wrong"
	}
	if s.file == "" {
		return ""
	}
	fi, err := os.Stat(s.file)
	switch {
	case err != nil:
		return err.Error()
	case stampOf(fi) != s.at:
		return "its file was changed by another program"
	}
	return ""
}

// verify checks all sections.
func (s *segmentFile) verify() error {
	for _, sec := range s.sections {
		if err := sec.check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *segmentFile) record(i int) []byte { return s.records[i*recordSize : (i+1)*recordSize] }

// path returns the bytes of a path, which must not be changed.
func (s *segmentFile) path(i int) []byte {
	r := s.record(i)
	at, n := binary.LittleEndian.Uint32(r), binary.LittleEndian.Uint32(r[4:])
	return s.table[at : at+n : at+n]
}

func (s *segmentFile) size(i int) int64 {
	return int64(binary.LittleEndian.Uint64(s.record(i)[24:]))
}

func (s *segmentFile) hash(i int) worktree.Hash { return worktree.Hash(s.record(i)[8:24]) }

// find returns the number of the document at path, alive or not.
func (s *segmentFile) find(path string) (int, bool) {
	i := sort.Search(s.docs, func(i int) bool { return string(s.path(i)) >= path })
	return i, i < s.docs && string(s.path(i)) == path
}
