package retrieval

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/postings"
	"github.com/luthier-dev/luthier/retrieval/internal/ranking"
)

// tables caches the metadata of each segment's files, so that a search need not compute it again.
// Tables in it are immutable.
type tables struct {
	mu     sync.Mutex
	of     map[string][]ranking.Info
	shares ranking.Shares
	shared int // number of files from which the field shares was computed
}

// fewFiles is the largest size of a tree whose shares are computed again with each change. In a
// larger tree, the number of files must first change by the fraction sharesDrift.
const (
	fewFiles    = 5000
	sharesDrift = 16
)

// forget drops all tables after the log or the whole tree was read again.
func (t *tables) forget() {
	t.mu.Lock()
	t.of, t.shares = nil, nil
	t.mu.Unlock()
}

// snapshot is the state of the layer of words at one moment, ready for searching.
type snapshot struct {
	view *codestore.View
	segs []ranking.Segment
}

func (s *snapshot) close() { s.view.Close() }

// doc returns the metadata of a file that was found.
func (s *snapshot) doc(segment int, id uint32) codestore.Doc {
	return s.view.Segments()[segment].Doc(int(id))
}

type openWords struct {
	lex   *postings.Reader
	sizes *ranking.Sizes
	lines []byte
}

// snapshot opens the newest state. It must be called, and its result used, within codestore.Guard.
func (x *Index) snapshot() (*snapshot, error) {
	view, err := x.words.store.View()
	if err != nil {
		return nil, err
	}
	s := &snapshot{view: view}
	for _, seg := range view.Segments() {
		w, err := wordsOf(seg)
		if err != nil {
			view.Close()
			return nil, err
		}
		s.segs = append(s.segs, ranking.Segment{Lex: w.lex, Sizes: w.sizes, Live: func(f uint32) bool { return seg.Live(int(f)) }})
	}
	x.cache.fill(s, x.log.Load())
	return s, nil
}

func wordsOf(seg *codestore.Segment) (*openWords, error) {
	return opened(seg, wordsSection, func(data []byte) (*openWords, error) {
		lex, err := postings.Open(data)
		if err != nil {
			return nil, err
		}
		lines, err := seg.Section(linesSection)
		if err != nil {
			return nil, err
		}
		return &openWords{lex, ranking.SizesOf(lex), lines}, nil
	})
}

// fill sets the table of each segment.
func (t *tables) fill(s *snapshot, log *ranking.Log) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string][]ranking.Info{}
	}
	var fresh, all [][]ranking.Info
	files := 0
	now := map[string][]ranking.Info{}
	for i, seg := range s.view.Segments() {
		table, ok := t.of[seg.Name()]
		if !ok {
			table = newTable(seg, s.segs[i].Lex.Files())
			log.Set(table)
			fresh = append(fresh, table)
		}
		now[seg.Name()] = table
		all = append(all, table)
		files += len(table)
		s.segs[i].Info = table
	}
	changed := len(fresh) > 0 || files != t.shared
	if t.shares == nil || changed && (files <= fewFiles || max(files-t.shared, t.shared-files) > t.shared/sharesDrift) {
		before := t.shares
		t.shares, t.shared = ranking.SharesOf(all...), files
		if before != nil && !maps.Equal(before, t.shares) {
			for i, seg := range s.view.Segments() { // new slices: others may be reading the existing tables
				table := slices.Clone(s.segs[i].Info)
				t.shares.Set(table)
				now[seg.Name()], s.segs[i].Info = table, table
			}
			fresh = nil
		}
	}
	for _, table := range fresh {
		t.shares.Set(table)
	}
	t.of = now
}

func newTable(seg *codestore.Segment, files int) []ranking.Info {
	table := make([]ranking.Info, files)
	var lines []byte
	if w, err := wordsOf(seg); err == nil {
		lines = w.lines
	}
	for i := range min(files, seg.Docs()) {
		d := seg.Doc(i)
		table[i] = ranking.Info{Path: d.Path, Class: d.Class}
		if 4*i+4 <= len(lines) {
			table[i].Lines = int(binary.LittleEndian.Uint32(lines[4*i:]))
		}
	}
	return table
}
