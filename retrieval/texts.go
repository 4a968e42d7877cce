package retrieval

import (
	"bytes"

	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// texts reads files for their snippets, each once.
type texts struct {
	x    *Index
	seen map[string]*text
}

// text is a file as it is now.
type text struct {
	content []byte
	starts  []int // of lines
	stale   bool  // it is no longer what was indexed
	err     error
}

func (t *texts) of(d codestore.Doc) *text {
	if c, ok := t.seen[d.Path]; ok {
		return c
	}
	if t.seen == nil {
		t.seen = map[string]*text{}
	}
	c := t.x.readText(d)
	t.seen[d.Path] = c
	return c
}

// readText reads a document and tells whether it changed since it was indexed.
func (x *Index) readText(d codestore.Doc) *text {
	raw, now, err := x.root.ReadFile(d.Path, max(x.cfg.MaxFileSize, worktree.DefaultMaxFileSize))
	if err != nil {
		return &text{stale: true, err: err}
	}
	content, _ := worktree.Text(raw)
	t := newText(content)
	t.stale = !d.File.Fresh(&now) && worktree.HashOf(raw) != d.Hash
	return t
}

// newText finds the lines of a file's content.
func newText(content []byte) *text {
	t := &text{content: content, starts: []int{0}}
	for i := 0; ; {
		n := bytes.IndexByte(t.content[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
		t.starts = append(t.starts, i)
	}
	return t
}

// lines returns lines from first to last, both included.
func (t *text) lines(first, last int) string {
	last = min(last, len(t.starts))
	if first < 1 || first > last {
		return ""
	}
	end := len(t.content)
	if last < len(t.starts) {
		end = t.starts[last]
	}
	return string(t.content[t.starts[first-1]:end])
}
