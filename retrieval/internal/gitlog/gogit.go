package gitlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/gitfs"
)

// goGitSource reads objects if the git program is not available.
type goGitSource struct {
	repo    *repository
	objects *filesystem.Storage
	cut     map[string]bool
}

func newGoGitSource(repo *repository) (*goGitSource, error) {
	if repo.hashLen != 20 {
		return nil, errors.New("repositories with SHA-256 need the git program")
	}
	g := &goGitSource{repo: repo, cut: map[string]bool{}}
	g.objects = filesystem.NewStorageWithOptions(gitfs.New(repo.commonDir), cache.NewObjectLRU(64<<20),
		filesystem.Options{KeepDescriptors: true})
	for _, h := range repo.shallow {
		cutID := plumbing.NewHash(h)
		g.cut[string(cutID[:])] = true
	}
	return g, nil
}

func (g *goGitSource) close() { _ = g.objects.Close() }

func (g *goGitSource) peel(_ context.Context, name string) (h string, err error) {
	defer recovered(&err)
	if !isHash(name) {
		return "", errNoRef
	}
	hash := plumbing.NewHash(name)
	for range maxRefDepth {
		tag, err := object.GetTag(g.objects, hash)
		if err != nil {
			break
		}
		hash = tag.Target
	}
	if _, err := object.GetCommit(g.objects, hash); err != nil {
		return "", errNoRef
	}
	return hash.String(), nil
}

// recovered converts a panic to an error: go-git does not check bounds in damaged packs.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the repository is damaged: %v", r)
	}
}

func (g *goGitSource) read(ctx context.Context, q reading, yield func(*rawCommit)) (err error) {
	defer recovered(&err)
	known := map[string]bool{}
	for _, id := range q.known {
		known[id] = true
	}
	w := goGitWalk{g: g, seen: map[string]bool{}}
	damage := func(e error) { // report the first error, and continue reading after it
		if err == nil {
			err = e
		}
	}
	for _, id := range q.want {
		damage(w.push(id))
	}
	for n := 0; n < q.n && len(w.queue) > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c := w.pop()
		id := string(c.Hash[:])
		if known[id] || q.has(id) {
			continue
		}
		raw, changesErr := g.commit(ctx, c)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if changesErr != nil { // its files are unknown, but its ancestors may still be readable
			raw.changes, raw.unread = nil, true
			damage(changesErr)
		}
		yield(raw)
		n++
		for _, p := range raw.parents {
			damage(w.push(p))
		}
	}
	return err
}

func (g *goGitSource) commit(ctx context.Context, c *object.Commit) (*rawCommit, error) {
	raw := &rawCommit{id: string(c.Hash[:]), time: c.Committer.When.Unix(), message: c.Message}
	raw.boundary = g.cut[raw.id]
	if raw.boundary {
		return raw, nil
	}
	for _, p := range c.ParentHashes {
		raw.parents = append(raw.parents, string(p[:]))
	}
	before := plumbing.ZeroHash
	if len(c.ParentHashes) > 0 {
		parent, err := object.GetCommit(g.objects, c.ParentHashes[0])
		if err != nil {
			return raw, fmt.Errorf("commit %s cannot be read: %w", c.ParentHashes[0], err)
		}
		before = parent.TreeHash
	}
	d := treeDiff{ctx: ctx, g: g, out: raw}
	return raw, d.diff("", before, c.TreeHash, 0)
}

// goGitWalk is a queue of commits by time.
type goGitWalk struct {
	g     *goGitSource
	queue []*object.Commit
	seen  map[string]bool
}

func (w *goGitWalk) push(id string) error {
	if w.seen[id] {
		return nil
	}
	w.seen[id] = true
	c, err := object.GetCommit(w.g.objects, plumbing.Hash([]byte(id)))
	if err != nil {
		return fmt.Errorf("commit %x cannot be read: %w", id, err)
	}
	w.queue = append(w.queue, c)
	return nil
}

// pop returns the newest commit. Only a few are waiting: one per branch.
func (w *goGitWalk) pop() *object.Commit {
	newest := 0
	for i, c := range w.queue {
		if c.Committer.When.After(w.queue[newest].Committer.When) {
			newest = i
		}
	}
	c := w.queue[newest]
	w.queue = append(w.queue[:newest], w.queue[newest+1:]...)
	return c
}

// treeDiff finds the files that differ between two trees. It reads only directories whose hashes
// differ.
type treeDiff struct {
	ctx context.Context
	g   *goGitSource
	out *rawCommit

	trees int // that were compared
}

// Limits of the comparison of two trees. What is beyond them is not listed. A tree can hold one
// tree under many names, and so on, so that it has more paths than can be visited.
const (
	maxTreeDepth = 256
	maxTreePairs = 200_000
)

func (d *treeDiff) diff(prefix string, before, after plumbing.Hash, depth int) error {
	if before == after || depth > maxTreeDepth {
		return nil
	}
	if d.trees++; d.trees > maxTreePairs {
		return nil
	}
	if d.ctx.Err() != nil {
		return context.Cause(d.ctx)
	}
	old, err := d.entries(before)
	if err != nil {
		return err
	}
	now, err := d.entries(after)
	if err != nil {
		return err
	}
	was := make(map[string]object.TreeEntry, len(old))
	for _, e := range old {
		was[e.Name] = e
	}
	for _, e := range now {
		if err := d.pair(prefix+e.Name, was[e.Name], e, depth); err != nil {
			return err
		}
		delete(was, e.Name)
	}
	for _, e := range old {
		if _, gone := was[e.Name]; gone {
			if err := d.pair(prefix+e.Name, e, object.TreeEntry{}, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *treeDiff) entries(tree plumbing.Hash) ([]object.TreeEntry, error) {
	if tree.IsZero() {
		return nil, nil
	}
	t, err := object.GetTree(d.g.objects, tree)
	if err != nil {
		return nil, fmt.Errorf("tree %s cannot be read: %w", tree, err)
	}
	return t.Entries, nil
}

// pair compares two entries of the same name, either of which may be absent.
func (d *treeDiff) pair(path string, old, now object.TreeEntry, depth int) error {
	if old.Hash == now.Hash && old.Mode == now.Mode {
		return nil
	}
	if old.Mode == filemode.Dir || now.Mode == filemode.Dir {
		var before, after plumbing.Hash
		if old.Mode == filemode.Dir {
			before, old = old.Hash, object.TreeEntry{}
		}
		if now.Mode == filemode.Dir {
			after, now = now.Hash, object.TreeEntry{}
		}
		if err := d.diff(path+"/", before, after, depth+1); err != nil {
			return err
		}
	}
	c := rawChange{path: path, status: 'M', old: old.Hash.String(), new: now.Hash.String()}
	switch {
	case old.Mode == now.Mode && old.Hash == now.Hash: // both were directories
		return nil
	case old.Mode == filemode.Submodule || now.Mode == filemode.Submodule || len(path) > maxPath:
		return nil
	case old.Hash.IsZero():
		c.status = 'A'
	case now.Hash.IsZero():
		c.status = 'D'
	}
	if len(d.out.changes) == maxRawChanges {
		d.out.more++
		return nil
	}
	d.out.changes = append(d.out.changes, c)
	return nil
}
