package codestore

import (
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// A state is one generation of the index. It is immutable, except for refs, which is guarded by
// Store.mu.
type state struct {
	generation uint64
	segments   []*Segment
	refs       int
}

// A Segment is one segment of a View: a set of documents, some of which may be dead, and sections
// about all of them.
type Segment struct {
	file  *segmentFile
	dead  bitmap
	live  int
	stat  string // name of the file with the documents' states, "" if those in the records are current
	state []byte // stateSize bytes per document; nil without such a file
}

// Name identifies the segment. Segments with the same name hold the same documents and sections,
// even in different processes.
func (s *Segment) Name() string { return s.file.name }

// Docs returns the number of documents in the segment, including dead ones. They are numbered from
// 0.
func (s *Segment) Docs() int { return s.file.docs }

// LiveDocs returns the number of live documents.
func (s *Segment) LiveDocs() int { return s.live }

// Live reports whether document i belongs to the index. A dead document has been changed, moved or
// removed since.
func (s *Segment) Live(i int) bool { return !s.dead.has(i) }

// Path returns the path of document i.
func (s *Segment) Path(i int) string { return string(s.file.path(i)) }

// Doc returns the metadata of document i.
func (s *Segment) Doc(i int) Doc {
	d := Doc{Hash: s.file.hash(i)}
	d.Path, d.Size = string(s.file.path(i)), s.file.size(i)
	readState(s.stateOf(i), &d.File)
	return d
}

func (s *Segment) stateOf(i int) []byte {
	if s.state != nil {
		return s.state[i*stateSize : (i+1)*stateSize]
	}
	return s.file.record(i)[stateAt:]
}

// Find returns the number of the document at path, if it is alive.
func (s *Segment) Find(path string) (int, bool) {
	i, ok := s.file.find(path)
	return i, ok && s.Live(i)
}

// Section returns the bytes of a section, or nil if there is none of that name. Its checksum is
// verified on first use. The bytes must not be changed, nor used after Close of the View; read them
// within [Guard].
func (s *Segment) Section(name string) ([]byte, error) {
	sec, ok := s.file.sections[name]
	if !ok {
		return nil, nil
	}
	if err := sec.check(); err != nil {
		return nil, fmt.Errorf("codestore: read section %q of %s: %w; index the tree again", name, s.file.name, err)
	}
	return sec.data, nil
}

// Value returns the result of open for this segment. It calls open the first time it is called with
// key, and keeps the result as long as the segment is open, across Views. It is the place for
// decoded readers of sections. The result must not hold anything that has to be closed.
func (s *Segment) Value(key string, open func() (any, error)) (any, error) {
	s.file.mu.Lock()
	v := s.file.values[key]
	if v == nil {
		v = &value{}
		s.file.values[key] = v
	}
	s.file.mu.Unlock()
	v.once.Do(func() { v.made, v.err = open() })
	return v.made, v.err
}

// loadState opens the segments that a manifest names, reusing those in have. It also returns the
// names of missing or damaged segments with the reason. The caller owns the references to the
// result's segments.
func (d *disk) loadState(m *manifest, f Format, have map[string]*segmentFile) (*state, []string) {
	st := &state{generation: m.Generation}
	var lost []string
	for _, entry := range m.Segments {
		seg, err := d.loadSegment(entry, f, have)
		if err != nil {
			lost = append(lost, fmt.Sprintf("%s: %v", entry.Name, err))
			continue
		}
		st.segments = append(st.segments, seg)
	}
	return st, lost
}

func (d *disk) loadSegment(entry manifestSegment, f Format, have map[string]*segmentFile) (*Segment, error) {
	file := have[entry.Name]
	if file != nil && file.lost() != "" {
		delete(have, entry.Name) // the open segment is not the one on disk
		file = nil
	}
	if file == nil {
		var err error
		if file, err = openSegment(d.at(entry.Name), entry.Name, f, d.opts); err != nil {
			return nil, err
		}
		if len(file.data) <= heapSegment { // cheap, and Update does not wait for the disk
			if err := file.verify(); err != nil {
				return nil, errors.Join(err, file.unmap())
			}
		}
	}
	seg, err := newSegment(file, entry, d)
	if err != nil && have[entry.Name] == nil {
		err = errors.Join(err, file.unmap())
	}
	return seg, err
}

// maxState limits the size of a file of documents' states that is read.
const maxState = 1 << 31

func newSegment(file *segmentFile, entry manifestSegment, d *disk) (*Segment, error) {
	dead, ok := bitmapOf(entry.Dead, file.docs)
	if !ok || entry.Docs != file.docs {
		return nil, damaged("the manifest does not fit it")
	}
	seg := &Segment{file: file, dead: dead, live: file.docs - dead.count()}
	if entry.Stat != "" {
		// Nothing is lost without it: the documents' contents are just compared once more.
		if raw, err := regular.Read(d.at(entry.Stat), maxState); err == nil {
			if states, ok := decodeStates(raw, file.docs); ok {
				seg.stat, seg.state = entry.Stat, states
			}
		}
	}
	return seg, nil
}

func (st *state) manifest(f Format) *manifest {
	m := &manifest{Format: f.Name, Version: f.Version, Generation: st.generation}
	for _, s := range st.segments {
		entry := manifestSegment{Name: s.file.name, Docs: s.file.docs, Stat: s.stat}
		if s.live != s.file.docs {
			entry.Dead = s.dead.bytes()
		}
		m.Segments = append(m.Segments, entry)
	}
	return m
}

// find returns the live document at path.
func (st *state) find(path string) (*Segment, int, bool) {
	for _, s := range st.segments {
		if i, ok := s.Find(path); ok {
			return s, i, true
		}
	}
	return nil, 0, false
}
