package gitview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// fileEntry is a file on one side of a comparison.
type fileEntry struct {
	hash plumbing.Hash // zero for a file of the work tree that was not hashed
	mode filemode.FileMode
}

// fileChange is a path that differs between two sides. A nil side means that the file does not
// exist there.
type fileChange struct {
	path     string // relative to the repository
	from, to *fileEntry
	oldPath  string // for a rename
	disk     bool   // the field to describes the file in the work tree
}

// letter returns git's one-letter code for the change.
func (c fileChange) letter() byte {
	switch {
	case c.oldPath != "":
		return 'R'
	case c.from == nil:
		return 'A'
	case c.to == nil:
		return 'D'
	case kindOf(c.from.mode) != kindOf(c.to.mode):
		return 'T'
	}
	return 'M'
}

func kindOf(m filemode.FileMode) filemode.FileMode {
	if m == filemode.Executable || m == filemode.Deprecated {
		return filemode.Regular
	}
	return m
}

// workStatus is the state of the work tree.
type workStatus struct {
	staged    []fileChange // the index compared with HEAD
	unstaged  []fileChange // the work tree compared with the index
	unmerged  []string
	untracked []string // a directory without tracked files is one entry, ending with "/"
	ignored   []string // only if requested
	more      int      // untracked and ignored entries beyond maxUntracked
	notes     []string
}

// maxUntracked is the maximum number of untracked, and of ignored, entries that are kept.
const maxUntracked = 2000

// status compares HEAD, index and work tree below the repository path under. Like git, it trusts
// the index for files whose size and times have not changed since. Unlike go-git, it reads neither
// ignored directories nor the trees that the index records as equal to HEAD's.
func (g *Repo) status(ctx context.Context, under string, ignored bool) (*workStatus, error) {
	idx, err := g.r.Storer.Index()
	if err != nil {
		return nil, fmt.Errorf("the index cannot be read: %w; use git status with shell", err)
	}
	head, err := g.headTree()
	if err != nil {
		return nil, fmt.Errorf("HEAD cannot be read: %w%s", err, g.shallowHint())
	}
	st := &workStatus{}
	if st.staged, err = g.againstIndex(head, idx, under); err != nil {
		return nil, err
	}
	if err := g.unstaged(ctx, idx, under, st); err != nil {
		return nil, err
	}
	if err := g.untracked(ctx, idx, under, ignored, st); err != nil {
		return nil, err
	}
	return st, nil
}

// againstIndex lists the differences between a tree (nil means empty) and the index.
func (g *Repo) againstIndex(tree *object.Tree, idx *index.Index, under string) ([]fileChange, error) {
	t := &treeFlattener{g: g, under: under, equal: cachedTrees(idx), same: map[string]bool{}, files: map[string]fileEntry{}}
	if tree != nil {
		if err := t.walk(tree, ""); err != nil {
			return nil, fmt.Errorf("a tree cannot be read: %w%s", err, g.shallowHint())
		}
	}
	var out []fileChange
	for _, e := range idx.Entries {
		if !below(e.Name, under) || t.isSame(e.Name) {
			continue
		}
		from, ok := t.files[e.Name]
		delete(t.files, e.Name)
		to := fileEntry{e.Hash, e.Mode}
		switch {
		case e.Stage != 0 || e.IntentToAdd:
		case !ok:
			out = append(out, fileChange{path: e.Name, to: &to})
		case from != to:
			out = append(out, fileChange{path: e.Name, from: &from, to: &to})
		}
	}
	for p, from := range t.files {
		out = append(out, fileChange{path: p, from: &from})
	}
	slices.SortFunc(out, func(a, b fileChange) int { return strings.Compare(a.path, b.path) })
	return g.renames(out, tree), nil
}

// treeFlattener lists the files of a tree, except in directories that are unchanged in the index.
type treeFlattener struct {
	g     *Repo
	under string
	equal map[string]plumbing.Hash
	same  map[string]bool
	files map[string]fileEntry
	seen  int // entries
}

// maxTreeEntries limits the entries of a tree with all trees in it. A tree that holds one tree
// under many names, which holds another one under many names, has more than can be listed.
const maxTreeEntries = 4_000_000

func (t *treeFlattener) walk(tree *object.Tree, prefix string) error {
	if t.seen += 1 + len(tree.Entries); t.seen > maxTreeEntries || len(prefix) > maxPath {
		return fmt.Errorf("it has more than %d entries, or paths of more than %d bytes; use git with shell", maxTreeEntries, maxPath)
	}
	if h, ok := t.equal[prefix]; ok && h == tree.Hash {
		t.same[prefix] = true
		return nil
	}
	for _, e := range tree.Entries {
		p := path.Join(prefix, e.Name)
		if e.Mode == filemode.Dir {
			if !below(p, t.under) && !below(t.under, p) {
				continue
			}
			sub, err := t.g.r.TreeObject(e.Hash)
			if err != nil {
				return err
			}
			if err := t.walk(sub, p); err != nil {
				return err
			}
		} else if below(p, t.under) {
			t.files[p] = fileEntry{e.Hash, e.Mode}
		}
	}
	return nil
}

// isSame reports whether a directory above p is known to be equal. It caches the answer for every
// directory.
func (t *treeFlattener) isSame(p string) bool {
	if len(t.same) == 0 {
		return false
	}
	dir := path.Dir(p)
	if dir == "." {
		return t.same[""]
	}
	if v, ok := t.same[dir]; ok {
		return v
	}
	v := t.isSame(dir)
	t.same[dir] = v
	return v
}

// cachedTrees returns the hashes of the directories in the index's TREE extension, by path.
func cachedTrees(idx *index.Index) map[string]plumbing.Hash {
	out := map[string]plumbing.Hash{}
	if idx.Cache == nil {
		return out
	}
	entries := idx.Cache.Entries
	// Entries are in pre-order, each with the number of its subtrees; an invalidated entry has a
	// negative count.
	var read func(prefix string, depth int)
	read = func(prefix string, depth int) {
		if len(entries) == 0 || depth > maxPath {
			return
		}
		e := entries[0]
		entries = entries[1:]
		p := path.Join(prefix, e.Path)
		if e.Entries >= 0 && !e.Hash.IsZero() {
			out[p] = e.Hash
		}
		for range e.Trees {
			read(p, depth+1)
		}
	}
	read("", 0)
	return out
}

// maxRenames limits the pairs compared in a rename search by content.
const maxRenames = 60

// renames detects renames: it joins a deleted and an added file with the same or similar content.
func (g *Repo) renames(changes []fileChange, tree *object.Tree) []fileChange {
	if tree == nil {
		return changes
	}
	var all object.Changes
	by := map[string]fileChange{}
	added, deleted := 0, 0
	entry := func(p string, e *fileEntry) object.ChangeEntry {
		if e == nil {
			return object.ChangeEntry{}
		}
		return object.ChangeEntry{Name: p, Tree: tree, TreeEntry: object.TreeEntry{Name: path.Base(p), Mode: e.mode, Hash: e.hash}}
	}
	for _, c := range changes {
		by[c.path] = c
		if c.from != nil && c.to != nil || kindOf(firstEntry(c).mode) != filemode.Regular {
			continue
		}
		if c.from == nil {
			added++
		} else {
			deleted++
		}
		all = append(all, &object.Change{From: entry(c.path, c.from), To: entry(c.path, c.to)})
	}
	if added == 0 || deleted == 0 {
		return changes
	}
	found, err := object.DetectRenames(all, &object.DiffTreeOptions{DetectRenames: true, RenameScore: 50, RenameLimit: maxRenames,
		OnlyExactRenames: added > maxRenames || deleted > maxRenames})
	if err != nil {
		return changes // reported as deleted and added, which is also correct
	}
	for _, f := range found {
		if f.From.Name != "" && f.To.Name != "" && f.From.Name != f.To.Name {
			c := by[f.To.Name]
			c.oldPath, c.from = f.From.Name, by[f.From.Name].from
			by[f.To.Name] = c
			delete(by, f.From.Name)
		}
	}
	var out []fileChange
	for _, c := range changes {
		if c, ok := by[c.path]; ok {
			out = append(out, c)
		}
	}
	return out
}

func firstEntry(c fileChange) *fileEntry {
	if c.from != nil {
		return c.from
	}
	return c.to
}

// unstaged compares the index with the work tree.
func (g *Repo) unstaged(ctx context.Context, idx *index.Index, under string, st *workStatus) error {
	cmp := &diskComparer{g: g, idx: idx, crlf: g.normalizesLines()}
	if cfg, err := g.r.Config(); err == nil {
		cmp.noMode = strings.EqualFold(cfg.Raw.Section("core").Option("filemode"), "false")
	}
	changes := make([]*fileChange, len(idx.Entries))
	errs := make([]error, len(idx.Entries))
	// Only files whose times changed are read, but after a checkout or a copy that may be all of
	// them.
	var wg sync.WaitGroup
	work := make(chan int, 256)
	for range min(runtime.GOMAXPROCS(0), 8) {
		wg.Go(func() {
			for i := range work {
				if ctx.Err() == nil {
					changes[i], errs[i] = cmp.compare(idx.Entries[i])
				}
			}
		})
	}
	for i, e := range idx.Entries {
		if !below(e.Name, under) {
			continue
		}
		if e.Stage != 0 {
			if n := len(st.unmerged); n == 0 || st.unmerged[n-1] != e.Name {
				st.unmerged = append(st.unmerged, e.Name)
			}
			continue
		}
		if !e.SkipWorktree {
			work <- i
		}
	}
	close(work)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	for i, c := range changes {
		if errs[i] != nil {
			st.notes = append(st.notes, fmt.Sprintf("%s: %v", show.Path(g.local(idx.Entries[i].Name)), errs[i]))
		}
		if c != nil {
			st.unstaged = append(st.unstaged, *c)
		}
	}
	if len(st.unstaged) > 0 && g.hasFilters() {
		st.notes = append(st.notes, ".gitattributes names filters (such as Git LFS); they are not run, so that files they change may be told as modified")
	}
	return nil
}

// diskComparer compares index entries with files.
type diskComparer struct {
	g      *Repo
	idx    *index.Index
	crlf   bool // line endings are normalised
	noMode bool // core.fileMode is false
}

func (d *diskComparer) compare(e *index.Entry) (*fileChange, error) {
	from := &fileEntry{e.Hash, e.Mode}
	rel := d.g.local(e.Name)
	info, err := d.g.cfg.Root.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) || err != nil && isNotDir(err) {
		return &fileChange{path: e.Name, from: from, disk: true}, nil
	}
	if err != nil {
		return nil, show.Cause(err)
	}
	if e.IntentToAdd {
		return &fileChange{path: e.Name, to: &fileEntry{mode: diskMode(info)}, disk: true}, nil
	}
	to := &fileEntry{mode: diskMode(info)}
	if e.Mode == filemode.Submodule {
		return nil, nil // the nested repository itself reports its changes
	}
	if kindOf(e.Mode) != kindOf(to.mode) {
		if info.IsDir() {
			return &fileChange{path: e.Name, from: from, disk: true}, nil
		}
		return &fileChange{path: e.Name, from: from, to: to, disk: true}, nil
	}
	if d.noMode || runtime.GOOS == "windows" {
		to.mode = e.Mode
	}
	if to.mode == e.Mode && d.unchanged(e, info) {
		return nil, nil
	}
	same, err := d.sameContent(rel, e, info)
	if err != nil {
		return nil, err
	}
	if same && to.mode == e.Mode {
		return nil, nil
	}
	if same {
		to.hash = e.Hash
	}
	return &fileChange{path: e.Name, from: from, to: to, disk: true}, nil
}

func isNotDir(err error) bool { return strings.Contains(err.Error(), "not a directory") }

func diskMode(info fs.FileInfo) filemode.FileMode {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return filemode.Symlink
	case info.IsDir():
		return filemode.Dir
	case info.Mode()&0o100 != 0:
		return filemode.Executable
	}
	return filemode.Regular
}

// unchanged reports whether size and time show that the file has not changed since the index was
// written. A file written at the same time as the index is "racily clean" and must be read
// (gitformat-index, racy-git).
func (d *diskComparer) unchanged(e *index.Entry, info fs.FileInfo) bool {
	return uint32(info.Size()) == e.Size && info.ModTime().Equal(e.ModifiedAt) &&
		!d.idx.ModTime.IsZero() && e.ModifiedAt.Before(d.idx.ModTime)
}

func (d *diskComparer) sameContent(rel string, e *index.Entry, info fs.FileInfo) (bool, error) {
	if e.Mode == filemode.Symlink {
		dest, err := d.g.cfg.Root.Readlink(rel)
		return err == nil && plumbing.ComputeHash(plumbing.BlobObject, []byte(dest)) == e.Hash, err
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	if uint32(info.Size()) != e.Size && e.Size != 0 {
		return false, nil // like git, without reading: a different size means different content
	}
	f, err := d.g.cfg.Files.Open(rel, info)
	if err != nil {
		return false, err
	}
	defer f.Close()
	h := plumbing.NewHasher(plumbing.BlobObject, info.Size())
	if _, err := io.Copy(h, f); err != nil {
		return false, show.Cause(err)
	}
	if h.Sum() == e.Hash {
		return true, nil
	}
	return d.crlf && d.sameNormalized(f, info.Size(), e.Hash), nil
}

// maxNormalized is the largest file whose line endings are normalised in memory.
const maxNormalized = 16 << 20

// sameNormalized compares a file in the form git would store: with LF instead of CRLF.
func (d *diskComparer) sameNormalized(f *os.File, size int64, want plumbing.Hash) bool {
	if size > maxNormalized {
		return false
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return false
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	return plumbing.ComputeHash(plumbing.BlobObject, []byte(text)) == want
}

// normalizesLines reports whether the repository stores text with different line endings from those
// in the work tree.
func (g *Repo) normalizesLines() bool {
	if cfg, err := g.r.Config(); err == nil {
		if v := strings.ToLower(cfg.Raw.Section("core").Option("autocrlf")); v == "true" || v == "input" {
			return true
		}
	}
	for line := range strings.Lines(g.cfg.Attributes()) {
		if !strings.HasPrefix(line, "#") && (strings.Contains(line, "text") || strings.Contains(line, "eol=") || strings.Contains(line, "crlf")) {
			return true
		}
	}
	return false
}

func (g *Repo) hasFilters() bool {
	return strings.Contains(g.cfg.Attributes(), "filter=")
}
