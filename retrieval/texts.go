package retrieval

import (
	"bytes"
	"context"

	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// texts reads files for snippets, each file only once.
type texts struct {
	x    *Index
	ctx  context.Context
	seen map[string]*text
	err  error // the tree cannot be opened
}

// text is a file in its current state.
type text struct {
	content []byte
	starts  []int // of each line
	stale   bool  // differs from the indexed content
	err     error
}

func (t *texts) of(d codestore.Doc) *text {
	if c, ok := t.seen[d.Path]; ok {
		return c
	}
	if t.seen == nil {
		t.seen = map[string]*text{}
	}
	c := t.x.readText(t.ctx, d)
	if refused(c.err) {
		t.err = c.err
	}
	t.seen[d.Path] = c
	return c
}

// readText reads a document and reports whether it changed since it was indexed.
func (x *Index) readText(ctx context.Context, d codestore.Doc) *text {
	raw, now, err := x.root.read(ctx, d.Path, max(x.cfg.MaxFileSize, worktree.DefaultMaxFileSize))
	if err != nil {
		return &text{stale: true, err: err}
	}
	content, _ := worktree.Text(raw)
	t := newText(content)
	t.stale = !d.File.Fresh(&now) && worktree.HashOf(raw) != d.Hash
	return t
}

// newText splits a file's content into lines.
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

// lines returns the lines from first to last, inclusive.
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
