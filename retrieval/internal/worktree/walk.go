package worktree

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A walk reads the directories of a tree with several workers, which take the most recently found
// directory from a common stack.
type walk struct {
	root  *Root
	rules rules
	opts  Options
	told  progress

	mu    sync.Mutex
	wake  *sync.Cond
	stack []*node
	open  int // directories on the stack or being read by a worker
	err   error
	found int
}

// A node is one directory.
type node struct {
	path     string // "" for the root
	depth    int
	files    []File // by name
	skipped  []File
	children []*node
}

// hardCap limits the number of files that a walk lists, as a multiple of Options.MaxFiles.
const hardCap = 5

func newWalk(root *Root, rules rules, opts Options) *walk {
	w := &walk{root: root, rules: rules, opts: opts, told: progress{call: opts.Progress}}
	w.wake = sync.NewCond(&w.mu)
	return w
}

func (w *walk) run(ctx context.Context) (*node, error) { return w.runFrom(ctx, &node{}) }

func (w *walk) runFrom(ctx context.Context, top *node) (*node, error) {
	w.stack, w.open = []*node{top}, 1
	stop := context.AfterFunc(ctx, func() { w.fail(context.Cause(ctx)) })
	defer stop()
	var workers sync.WaitGroup
	for range w.opts.Workers {
		workers.Go(func() {
			wk := worker{walk: w, head: make([]byte, HeadSize)}
			for n := w.next(); n != nil; n = w.next() {
				w.done(n, wk.read(n))
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return top, w.err
}

// next waits for a directory to read. It returns nil if everything is done.
func (w *walk) next() *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.stack) == 0 && w.open > 0 && w.err == nil {
		w.wake.Wait()
	}
	if len(w.stack) == 0 || w.err != nil {
		return nil
	}
	n := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	return n
}

func (w *walk) done(n *node, err error) {
	var bytes int64
	for i := range n.files {
		bytes += n.files[i].Size
	}
	w.told.add(len(n.files), bytes)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && n.path == "" && w.err == nil {
		w.err = err
	}
	w.stack = append(w.stack, n.children...)
	w.open += len(n.children) - 1
	w.found += len(n.files)
	w.wake.Broadcast()
}

func (w *walk) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.wake.Broadcast()
}

func (w *walk) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.found >= hardCap*w.opts.MaxFiles
}

// A worker is one goroutine of a walk with its buffer.
type worker struct {
	*walk
	head []byte
}

// read lists one directory into n. An error means that nothing could be listed; n records the error
// too.
func (w *worker) read(n *node) error {
	refuse := func(why Skip) { n.skipped = append(n.skipped, File{Path: n.path, Mode: fs.ModeDir, Skip: why}) }
	switch {
	case n.depth > w.opts.MaxDepth:
		refuse(SkipDeep)
		return nil
	case w.full():
		refuse(SkipMany)
		return nil
	}
	dir, err := w.root.open(filepath.FromSlash(cmp.Or(n.path, ".")))
	if err != nil {
		refuse(SkipUnreadable)
		return err
	}
	defer dir.Close()
	seen := time.Now().UnixNano()
	entries, err := dir.ReadDir(-1)
	if err != nil && len(entries) == 0 {
		refuse(SkipUnreadable)
		return err
	}
	if why := w.outside(n, dir, entries); why != NotSkipped {
		refuse(why)
		return nil
	}
	for _, e := range entries {
		w.entry(n, dir, e, seen)
	}
	sortFiles(n.files)
	sortFiles(n.skipped)
	slices.SortFunc(n.children, func(a, b *node) int { return strings.Compare(a.path, b.path) })
	return nil
}

// entry adds one entry of a directory to n.
func (w *worker) entry(n *node, dir *os.File, e fs.DirEntry, seen int64) {
	path := e.Name()
	if n.path != "" {
		path = n.path + "/" + path
	}
	if w.rules.ignores(path, e.IsDir()) {
		return
	}
	if e.IsDir() {
		child := &node{path: path, depth: n.depth + 1}
		if !w.opts.KeepTools && toolDirs[e.Name()] {
			n.skipped = append(n.skipped, File{Path: path, Mode: fs.ModeDir, Skip: SkipTool})
			return
		}
		n.children = append(n.children, child)
		return
	}
	f, ok := w.state(path, dir, e, seen)
	if !ok {
		return
	}
	if f.Skip != NotSkipped {
		n.skipped = append(n.skipped, f)
	} else {
		n.files = append(n.files, f)
	}
}

// state returns all metadata of one file. The result ok is false if the file no longer exists.
func (w *worker) state(path string, dir *os.File, e fs.DirEntry, seen int64) (f File, ok bool) {
	f, err := statEntry(dir, path, e, seen)
	switch {
	case os.IsNotExist(err):
		return f, false
	case err != nil:
		return File{Path: path, Mode: e.Type(), Skip: SkipUnreadable}, true
	case f.Mode&fs.ModeSymlink != 0:
		f.Skip = SkipSymlink
	case f.Mode.IsDir(): // it was a file when the directory was read
		return f, false
	case !f.Mode.IsRegular():
		f.Skip = SkipSpecial
	case f.Size > w.opts.MaxFileSize:
		f.Class = Classify(path, nil)
		f.Skip = SkipLarge
	default:
		w.classify(&f, dir, e.Name())
	}
	return f, true
}

// classify sets Class and Skip of a regular file. It opens the file only if its name and the
// previous scan do not suffice.
func (w *worker) classify(f *File, dir *os.File, name string) {
	if before, ok := w.opts.Previous.Lookup(f.Path); ok && before.Fresh(f) && before.Skip != SkipUnreadable {
		f.Class, f.Skip = before.Class, before.Skip
		if f.Skip != SkipMany && f.Skip != SkipLarge {
			return
		}
	}
	f.Class = Classify(f.Path, nil)
	if !f.Class.Any(Binary|Minified) && f.Size > 0 {
		n, err := readHead(dir, name, f.Path, w.root, w.head)
		if err != nil {
			f.Skip = SkipUnreadable
			return
		}
		f.Class = Classify(f.Path, w.head[:n])
	}
	f.Skip = f.Class.skip()
}

// skip returns the reason not to index files of this class, or 0.
func (c Class) skip() Skip {
	switch {
	case c.Any(Binary):
		return SkipBinary
	case c.Any(Minified):
		return SkipMinified
	}
	return NotSkipped
}

// toolDirs are names of directories that only tools fill.
var toolDirs = set(`node_modules bower_components jspm_packages __pycache__ .hg .svn .jj .bzr .tox .nox .mypy_cache .pytest_cache
	.ruff_cache .hypothesis .gradle .terraform .next .nuxt .svelte-kit .parcel-cache .turbo .venv .direnv .eggs .ipynb_checkpoints`)

// outside returns the reason why a directory does not belong to the project, judged by its entries,
// or 0.
func (w *worker) outside(n *node, dir *os.File, entries []fs.DirEntry) Skip {
	if n.path == "" {
		return NotSkipped
	}
	for _, e := range entries {
		switch e.Name() {
		case ".git":
			if e.Type().IsRegular() && w.isWorktree(dir, n) {
				return SkipWorktree
			}
		default:
			if !w.opts.KeepTools && isToolMark(e) {
				return SkipTool
			}
		}
	}
	return NotSkipped
}

// isWorktree reports whether a directory is another work tree of a repository, whose files
// duplicate those of this tree, and not a submodule.
func (w *worker) isWorktree(dir *os.File, n *node) bool {
	k, err := readHead(dir, ".git", n.path+"/.git", w.root, w.head)
	return err == nil && linksWorktree(w.head[:k])
}

// linksWorktree reports whether the text of a .git file links to another work tree.
func linksWorktree(text []byte) bool {
	return bytes.HasPrefix(text, []byte("gitdir: ")) && bytes.Contains(text, []byte("/worktrees/"))
}

// isToolMark reports whether an entry is a mark that tools put into directories that only they
// fill: https://bford.info/cachedir/ and Python's virtual environments.
func isToolMark(e fs.DirEntry) bool {
	return (e.Name() == "CACHEDIR.TAG" || e.Name() == "pyvenv.cfg") && e.Type().IsRegular()
}

// collect appends the files found below n to t, in the order of paths.
func (n *node) collect(t *Tree) {
	n.each(func(m *node) {
		t.Files = append(t.Files, m.files...)
		t.Skipped = append(t.Skipped, m.skipped...)
	})
	sortFiles(t.Files)
	sortFiles(t.Skipped)
}

func (n *node) each(fn func(*node)) {
	fn(n)
	for _, c := range n.children {
		c.each(fn)
	}
}
