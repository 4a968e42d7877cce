package gitview

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// logQuery selects the commits to list.
type logQuery struct {
	from    *object.Commit
	without *object.Commit // leave out this commit and its ancestors; nil for none
	path    string         // only commits that change it; "" for all
	grep    *regexp.Regexp
	limit   int
}

// log lists commits, the newest first. With a path it simplifies the history as git does: at a
// merge that took the path unchanged from one parent, it follows only that parent.
func (g *Repo) log(ctx context.Context, q logQuery) ([]*object.Commit, error) {
	hidden, err := g.ancestors(ctx, q.without)
	if err != nil {
		return nil, err
	}
	walk := &commitQueue{}
	seen := map[plumbing.Hash]bool{}
	push := func(c *object.Commit) {
		if !seen[c.Hash] && !hidden[c.Hash] {
			seen[c.Hash] = true
			heap.Push(walk, c)
		}
	}
	push(q.from)
	var out []*object.Commit
	for walk.Len() > 0 && len(out) < q.limit {
		if err := context.Cause(ctx); err != nil {
			return out, err
		}
		c := heap.Pop(walk).(*object.Commit)
		parents, err := g.parents(c)
		if err != nil {
			return out, err
		}
		changed := true
		if q.path != "" {
			if changed, parents, err = simplify(c, parents, q.path); err != nil {
				return out, err
			}
		}
		for _, p := range parents {
			push(p)
		}
		if changed && (q.grep == nil || q.grep.MatchString(c.Message)) {
			out = append(out, c)
		}
	}
	return out, nil
}

// parents returns the parents that exist in the repository: in a shallow clone the parents of the
// oldest commits are missing.
func (g *Repo) parents(c *object.Commit) ([]*object.Commit, error) {
	var out []*object.Commit
	for _, h := range c.ParentHashes {
		p, err := g.r.CommitObject(h)
		if errors.Is(err, plumbing.ErrObjectNotFound) && g.shallowHint() != "" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("commit %s cannot be read: %w", h, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// simplify reports whether c changes path, and which parents to follow.
func simplify(c *object.Commit, parents []*object.Commit, p string) (changed bool, follow []*object.Commit, err error) {
	own, err := pathHash(c, p)
	if err != nil {
		return false, nil, err
	}
	for _, parent := range parents {
		h, err := pathHash(parent, p)
		if err != nil {
			return false, nil, err
		}
		if h == own {
			return false, []*object.Commit{parent}, nil
		}
	}
	return len(parents) > 0 || own != (fileEntry{}), parents, nil
}

// pathHash identifies the content of a commit at a path; the zero value means nothing is there.
func pathHash(c *object.Commit, p string) (fileEntry, error) {
	tree, err := c.Tree()
	if err != nil {
		return fileEntry{}, err
	}
	e, err := tree.FindEntry(p)
	if errors.Is(err, object.ErrEntryNotFound) || errors.Is(err, object.ErrDirectoryNotFound) || errors.Is(err, object.ErrFileNotFound) {
		return fileEntry{}, nil
	}
	if err != nil {
		return fileEntry{}, err
	}
	return fileEntry{e.Hash, e.Mode}, nil
}

// ancestors returns a commit and all its ancestors.
func (g *Repo) ancestors(ctx context.Context, c *object.Commit) (map[plumbing.Hash]bool, error) {
	if c == nil {
		return nil, nil
	}
	seen := map[plumbing.Hash]bool{c.Hash: true}
	for todo := []*object.Commit{c}; len(todo) > 0; {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		parents, err := g.parents(next)
		if err != nil {
			return nil, err
		}
		for _, p := range parents {
			if !seen[p.Hash] {
				seen[p.Hash] = true
				todo = append(todo, p)
			}
		}
	}
	return seen, nil
}

// commitQueue is a heap of commits, the newest first.
type commitQueue []*object.Commit

func (q commitQueue) Len() int { return len(q) }
func (q commitQueue) Less(i, j int) bool {
	return q[i].Committer.When.After(q[j].Committer.When)
}
func (q commitQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push and Pop implement heap.Interface.
func (q *commitQueue) Push(x any) { *q = append(*q, x.(*object.Commit)) }

func (q *commitQueue) Pop() any {
	old := *q
	c := old[len(old)-1]
	*q = old[:len(old)-1]
	return c
}

// commitLine formats a commit as one line.
func commitLine(c *object.Commit) string {
	subject, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	return fmt.Sprintf("%s %s %s: %s", c.Hash.String()[:10], c.Author.When.Format("2006-01-02"), show.Clean([]byte(c.Author.Name)), show.Line(show.Clean([]byte(subject)), 200))
}

// commitHeader formats a commit in full.
func commitHeader(c *object.Commit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "commit %s\n", c.Hash)
	if len(c.ParentHashes) > 1 {
		b.WriteString("Merge:")
		for _, h := range c.ParentHashes {
			b.WriteString(" " + h.String()[:10])
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "Author: %s <%s>\nDate:   %s\n\n", c.Author.Name, c.Author.Email, c.Author.When.Format("2006-01-02 15:04:05 -0700"))
	for line := range strings.Lines(strings.TrimSpace(show.Ends(c.Message, 8<<10))) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return show.Clean([]byte(b.String()))
}

// maxBlameLines is the maximum number of lines of a file for blame.
const maxBlameLines = 50_000

// blame reports the author of every line of a file as committed.
func (g *Repo) blame(c *object.Commit, p string, start, end int) (string, error) {
	tree, err := c.Tree()
	if err != nil {
		return "", err
	}
	e, err := tree.FindEntry(p)
	if err != nil {
		return "", fmt.Errorf("%s is not in commit %s; it may be new or renamed", show.Path(g.local(p)), c.Hash.String()[:10])
	}
	if kindOf(e.Mode) != filemode.Regular {
		return "", fmt.Errorf("%s is not a regular file in commit %s", show.Path(g.local(p)), c.Hash.String()[:10])
	}
	f, err := tree.TreeEntryFile(e)
	if err != nil {
		return "", err
	}
	if f.Size > maxDiffFile {
		return "", fmt.Errorf("%s has %s, too much to blame; use log with its path", show.Path(g.local(p)), show.Size(f.Size))
	}
	if binary, err := f.IsBinary(); err != nil || binary {
		return "", errors.Join(err, fmt.Errorf("%s is binary; use log with its path", show.Path(g.local(p))))
	}
	res, err := git.Blame(c, p)
	if err != nil {
		return "", fmt.Errorf("blame %s: %w%s", show.Path(g.local(p)), err, g.shallowHint())
	}
	first := max(start, 1)
	last := len(res.Lines)
	if end > 0 {
		last = min(end, last)
	}
	if first > last {
		return "", fmt.Errorf("%s has %d lines in that commit; choose start_line and end_line among them", show.Path(g.local(p)), len(res.Lines))
	}
	var b strings.Builder
	for i := first; i <= last; i++ {
		l := res.Lines[i-1]
		fmt.Fprintf(&b, "%s %s %-16.16s %5d| %s\n", l.Hash.String()[:10], l.Date.Format("2006-01-02"), show.Clean([]byte(l.AuthorName)), i, show.Line(l.Text, 400))
		if b.Len() > g.cfg.OutputBytes {
			fmt.Fprintf(&b, "[lines %d to %d are left out; pass start_line]\n", i+1, last)
			break
		}
	}
	return strings.TrimRight(b.String(), "\n"), nil
}
