package ranking

import (
	"fmt"

	"github.com/luthier-dev/luthier/retrieval/internal/postings"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A Memory indexes files that are not worth an index on disk. It is not safe for concurrent use.
type Memory struct {
	b    *postings.Builder
	ix   *Indexer
	info []Info
}

// NewMemory returns a Memory without files.
func NewMemory() *Memory {
	b := postings.NewBuilder()
	return &Memory{b: b, ix: NewIndexer(b)}
}

// Add adds a file with its text.
func (m *Memory) Add(f *worktree.File, text []byte) {
	m.info = append(m.info, Info{Path: f.Path, Class: f.Class, Lines: m.ix.Add(f.Path, text)})
}

// Segment returns the added files as a segment. The Memory must not be used afterwards. The fields
// of Info that come from a log are not set.
func (m *Memory) Segment() (Segment, error) {
	lex, err := postings.Open(m.b.Bytes())
	if err != nil {
		return Segment{}, fmt.Errorf("ranking: index in memory: %w", err)
	}
	SharesOf(m.info).Set(m.info)
	return Segment{Lex: lex, Sizes: SizesOf(lex), Info: m.info}, nil
}
