package retrieval

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/luthier-dev/luthier/internal/atomicfile"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/vectors"
	"github.com/luthier-dev/luthier/retrieval/internal/words"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// embedding keeps vectors of the tree's chunks, and finds the chunks near a query.
type embedding struct {
	x     *Index
	e     Embedder
	layer *layer // lists the chunks by the keys of their texts
	store *vectors.Store
	wake  chan struct{}
	now   atomic.Pointer[chunkSet]

	mu       sync.Mutex
	fillErr  error // from the last fill
	queryErr error // from the last query
	done     vectors.Progress
}

// chunkSet holds the chunks at one moment; its field set numbers them in the order of places.
type chunkSet struct {
	set    *vectors.Set
	places []Range
}

// openEmbedding opens the vectors of an index.
func openEmbedding(ctx context.Context, x *Index, base string, opts codestore.Options) (*embedding, error) {
	l, err := openLayer(ctx, x.home, base, "embed", chunkFormat(), opts)
	if err != nil {
		return nil, err
	}
	name := vectors.KeyOf(x.cfg.Embedder.Name()).String() + ".vectors"
	if base != "" {
		takeVectors(filepath.Join(base, name), filepath.Join(x.home, name))
	}
	store, err := vectors.Open(filepath.Join(x.home, name), vectors.Config{Model: x.cfg.Embedder.Name(), Dim: x.cfg.Embedder.Dim()})
	if err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	return &embedding{x: x, e: x.cfg.Embedder, layer: l, store: store, wake: make(chan struct{}, 1)}, nil
}

// takeVectors begins a new file of vectors with a copy of another one. Vectors that cannot be taken
// over are computed again.
func takeVectors(from, to string) {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	src, err := regular.Open(from)
	if err != nil {
		return
	}
	defer src.Close()
	_ = atomicfile.Write(to, atomicfile.Options{Perm: 0o644}, func(w io.Writer) error {
		_, err := io.Copy(w, src)
		return err
	})
}

// kick schedules a fill, which brings the vectors up to date with the tree.
func (m *embedding) kick() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// fill computes missing vectors until ctx ends. After a failure, the rest is computed after the
// next change.
func (m *embedding) fill(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
		}
		err := m.fillOnce(ctx)
		m.mu.Lock()
		m.fillErr = err
		if err == nil && m.done.Added > 0 {
			m.queryErr = nil // the Embedder works again
		}
		m.mu.Unlock()
	}
}

func (m *embedding) fillOnce(ctx context.Context) error {
	c, err := m.chunks(ctx)
	if err != nil {
		return err
	}
	m.now.Store(c)
	text := func(id int) (string, error) {
		p := c.places[id]
		t := m.x.readText(ctx, codestore.Doc{File: worktree.File{Path: p.Path}})
		if t.err != nil {
			return "", t.err
		}
		return chunkText(p.Path, t.lines(p.StartLine, p.EndLine)), nil
	}
	done := func(p vectors.Progress) {
		m.mu.Lock()
		m.done = p
		m.mu.Unlock()
	}
	p, err := c.set.Fill(ctx, text, vectors.FillConfig{
		Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			return m.e.Embed(ctx, texts, EmbedDocument)
		},
		Progress: func(p vectors.Progress) {
			done(p)
			m.x.tell(Progress{Stage: "embed", Files: p.Added + p.Skipped, TotalFiles: p.Total})
		},
	})
	done(p)
	return err
}

// status reports the progress of the vectors.
func (m *embedding) status() *EmbeddingStatus {
	s := &EmbeddingStatus{Model: m.e.Name()}
	if c := m.now.Load(); c != nil {
		s.Chunks = c.set.Len()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Missing = m.done.Total - m.done.Added
	s.Err = errors.Join(m.fillErr, m.queryErr)
	if s.Err == nil && m.done.Skipped > 0 && m.done.Err != nil {
		s.Err = fmt.Errorf("retrieval: embed: %d chunks were left out: %w", m.done.Skipped, m.done.Err)
	}
	return s
}

// chunkText returns the text that is embedded for a chunk. It includes the path, which says much
// about the chunk.
func chunkText(path, lines string) string { return path + "\n" + lines }

// Sections of the layer of chunks.
const (
	keysSection  = "keys"  // 16 bytes for each chunk
	spansSection = "spans" // document, first line and last line of each chunk, four bytes each
)

func chunkFormat() codestore.Format {
	return codestore.Format{Name: "chunks", Version: 1, Build: buildChunks}
}

func buildChunks(ctx context.Context, docs []codestore.Doc, read func(int) ([]byte, error)) ([]codestore.Section, error) {
	var lexer words.Lexer
	var keys, spans []byte
	err := eachDoc(ctx, docs, read, func(i int, content []byte) {
		t := newText(content)
		for _, c := range lexer.Read(words.LangOf(docs[i].Path), t.content).Chunks {
			lines := t.lines(c.First, c.Last)
			if strings.TrimSpace(lines) == "" {
				continue
			}
			key := vectors.KeyOf(chunkText(docs[i].Path, lines))
			keys = append(keys, key[:]...)
			for _, n := range [...]int{i, c.First, c.Last} {
				spans = binary.LittleEndian.AppendUint32(spans, uint32(n))
			}
		}
	})
	return []codestore.Section{{Name: keysSection, Data: keys}, {Name: spansSection, Data: spans}}, err
}

// chunks lists the chunks of the currently indexed tree.
func (m *embedding) chunks(ctx context.Context) (*chunkSet, error) {
	c := &chunkSet{}
	var keys []vectors.Key
	err := m.x.rebuilding(ctx, func() error {
		c.places, keys = nil, nil
		view, err := m.layer.store.View()
		if err != nil {
			return err
		}
		defer view.Close()
		for _, seg := range view.Segments() {
			k, err := seg.Section(keysSection)
			if err != nil {
				return err
			}
			spans, err := seg.Section(spansSection)
			if err != nil {
				return err
			}
			for ; len(k) >= 16 && len(spans) >= 12; k, spans = k[16:], spans[12:] {
				doc := int(binary.LittleEndian.Uint32(spans))
				if doc >= seg.Docs() || !seg.Live(doc) {
					continue
				}
				keys = append(keys, vectors.Key(k[:16]))
				c.places = append(c.places, Range{
					strings.Clone(seg.Path(doc)), int(binary.LittleEndian.Uint32(spans[4:])), int(binary.LittleEndian.Uint32(spans[8:])),
				})
			}
		}
		return nil
	})
	c.set = m.store.Select(keys)
	return c, err
}

// near holds the amounts that the vectors add to the scores of a search.
type near struct {
	files map[string]float64 // added to files' scores, by path
	at    map[Range]float64  // added to places' scores; EndLine is 0
}

// places returns the amount to add to the score of a place. It may be used on a nil map.
func (n *near) places(path string, start int) float64 { return n.at[Range{path, start, 0}] }

// Weights of the vectors relative to the other features, and the number of vectors considered.
const (
	nearChunks = 100
	nearFile   = 2.0
	nearPlace  = 1.5
)

// find returns the chunks nearest to a text, and remembers the error if it fails.
func (m *embedding) find(ctx context.Context, c *chunkSet, text string) (found []vectors.Scored, err error) {
	vs, err := m.e.Embed(ctx, []string{text}, EmbedQuery)
	if err == nil && len(vs) != 1 {
		err = fmt.Errorf("the Embedder gave %d vectors for one text", len(vs))
	}
	if err == nil {
		found, err = c.set.Search(ctx, vs[0], nearChunks)
	}
	if err != nil && ctx.Err() != nil {
		return nil, err // the search was cancelled
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queryErr = nil
	if err != nil {
		m.queryErr = fmt.Errorf("retrieval: embed query: %w", err)
	}
	return found, err
}

// nearest searches the vectors. Without an Embedder, or before there are vectors, it returns
// nothing. If the Embedder fails, only its part of the answer is missing.
func (x *Index) nearest(ctx context.Context, text string) (near, error) {
	out := near{}
	if x.embedding == nil {
		return out, nil
	}
	c := x.embedding.now.Load()
	if c == nil || c.set.Len() == 0 {
		return out, nil
	}
	found, err := x.embedding.find(ctx, c, text)
	if err != nil || len(found) == 0 {
		return out, ctx.Err()
	}
	out.files, out.at = map[string]float64{}, map[Range]float64{}
	best, least := found[0].Score, found[len(found)-1].Score
	for i, f := range found {
		// Cosines of one model lie close together, so what counts is the position relative to the
		// best one, by score and by rank.
		share := float64(f.Score-least)/float64(max(best-least, 1e-6))/2 + 1/(2+float64(i)/5)
		for _, id := range f.IDs {
			p := c.places[id]
			out.files[p.Path] = max(out.files[p.Path], nearFile*share)
			out.at[Range{p.Path, p.StartLine, 0}] = nearPlace * share
		}
	}
	return out, nil
}
