package retrieval

import (
	"cmp"
	"context"
	"encoding/binary"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/postings"
	"github.com/luthier-dev/luthier/retrieval/internal/ranking"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A layer is one index of the tree: of words, of trigrams, or of symbols. Each is independent, so
// that words can be searched while the others are still being built.
type layer struct {
	store *codestore.Store
	stage string

	syncing atomic.Bool // a Sync runs concurrently with updates, which it adds afterwards

	once  sync.Once
	ready chan struct{} // closed after the first Sync, even if it failed

	mu     sync.Mutex
	report codestore.Report
	err    error // from the last Sync
	usable bool  // a Sync has succeeded: its result is searched, even if a later Sync failed
}

// openLayer opens the index with format f below home. If base is not empty, the index starts as a
// copy of the one in base.
func openLayer(ctx context.Context, home, base, stage string, f codestore.Format, opts codestore.Options) (*layer, error) {
	var s *codestore.Store
	var err error
	if base != "" {
		s, err = codestore.OpenOver(ctx, filepath.Join(home, f.Name), filepath.Join(base, f.Name), f, opts)
	} else {
		s, err = codestore.Open(filepath.Join(home, f.Name), f, opts)
	}
	if err != nil {
		return nil, err
	}
	return &layer{store: s, stage: stage, ready: make(chan struct{})}, nil
}

// sync brings the layer up to date with a tree. The caller must call open afterwards.
func (l *layer) sync(ctx context.Context, tree *worktree.Tree, since *codestore.Since, progress func(Progress)) error {
	var tell func(codestore.Progress)
	if progress != nil {
		tell = func(p codestore.Progress) {
			progress(Progress{Stage: l.stage, Files: p.Files, TotalFiles: p.TotalFiles, Bytes: p.Bytes, TotalBytes: p.TotalBytes})
		}
	}
	r, err := l.store.Sync(ctx, tree, since, tell)
	l.mu.Lock()
	l.err = err
	if err == nil {
		r.Rebuilt = cmp.Or(r.Rebuilt, l.report.Rebuilt)
		l.report, l.usable = r, true
	}
	l.mu.Unlock()
	return err
}

// open releases the callers that wait for the layer, even if it failed.
func (l *layer) open() { l.once.Do(func() { close(l.ready) }) }

// update adds some files. The result lost reports that other documents are missing now because
// their files on disk were removed or damaged; only a Sync restores them.
func (l *layer) update(ctx context.Context, dir string, since *codestore.Since, files []worktree.File) (lost bool, err error) {
	before, err := l.docs()
	if err != nil {
		return false, err
	}
	r, err := l.store.Update(ctx, dir, since, files...)
	if err != nil {
		return false, err
	}
	after, err := l.docs()
	l.mu.Lock()
	l.report.Segments, l.report.Memory = r.Segments, r.Memory
	if r.Rebuilt != "" {
		l.report.Rebuilt = r.Rebuilt
	}
	l.mu.Unlock()
	return r.Rebuilt != "" || after < before-r.Removed, err
}

func (l *layer) docs() (int, error) {
	v, err := l.store.View()
	if err != nil {
		return 0, err
	}
	defer v.Close()
	return v.Docs(), nil
}

// wait returns when the layer can be searched.
func (l *layer) wait(ctx context.Context) error {
	select {
	case <-l.ready:
	default:
		select {
		case <-l.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.usable {
		return nil
	}
	return l.err
}

func (l *layer) isReady() bool {
	select {
	case <-l.ready:
		return true
	default:
		return false
	}
}

// eachDoc calls fn with the text of each document, in their order, until one cannot be read or ctx
// ends.
func eachDoc(ctx context.Context, docs []codestore.Doc, read func(int) ([]byte, error), fn func(i int, text []byte)) error {
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := read(i)
		if err != nil {
			return err
		}
		text, _ := worktree.Text(raw)
		fn(i, text)
	}
	return nil
}

// opened returns a section of a segment, decoded by open. It is decoded once for all callers while
// the segment is in use.
func opened[T any](seg *codestore.Segment, section string, open func([]byte) (T, error)) (T, error) {
	v, err := seg.Value(section, func() (any, error) {
		data, err := seg.Section(section)
		if err != nil {
			return nil, err
		}
		return open(data)
	})
	if err != nil {
		var none T
		return none, err
	}
	return v.(T), nil
}

// Sections of the layer of words.
const (
	wordsSection = "lexical"
	linesSection = "lines" // number of lines of each document, four bytes each
)

// wordsFormat indexes words by chunk and field.
func wordsFormat() codestore.Format {
	return codestore.Format{Name: "words", Version: 3, Build: buildWords}
}

func buildWords(ctx context.Context, docs []codestore.Doc, read func(int) ([]byte, error)) ([]codestore.Section, error) {
	b := postings.NewBuilder()
	x := ranking.NewIndexer(b)
	lines := make([]byte, 0, 4*len(docs))
	err := eachDoc(ctx, docs, read, func(i int, text []byte) {
		lines = binary.LittleEndian.AppendUint32(lines, uint32(x.Add(docs[i].Path, text)))
	})
	return []codestore.Section{{Name: wordsSection, Data: b.Bytes()}, {Name: linesSection, Data: lines}}, err
}

// fail records why a Sync could not begin. A layer that was built before still answers.
func (l *layer) fail(err error) {
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
	l.open()
}
