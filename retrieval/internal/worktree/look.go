package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Look returns the files that a scan would find at a few paths, and below those that are
// directories. For each path, the result first has a File with SkipGone, which stands for
// everything that was at and below the path, and then the current files. So the result lists the
// files to drop from an index, followed by the files to add.
func Look(ctx context.Context, root string, opts Options, paths ...string) ([]File, error) {
	r, err := OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Look(ctx, opts, paths...)
}

// Look returns the files that a scan would find at a few paths, as [Look] does.
func (r *Root) Look(ctx context.Context, opts Options, paths ...string) ([]File, error) {
	o := opts.withDefaults()
	o.Progress = nil
	w := newWalk(r, newRules(r.git(), o.Ignore), o)
	looker := looker{worker: worker{walk: w, head: make([]byte, HeadSize)}, hidden: map[string]bool{"": false}}
	var out []File
	for _, p := range paths {
		p = path.Clean(filepath.ToSlash(p))
		if !filepath.IsLocal(filepath.FromSlash(p)) {
			return nil, fmt.Errorf("worktree: look at %q: the path is not below the root", p)
		}
		files, err := looker.look(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("worktree: look at %s: %w", p, err)
		}
		out = append(out, files...)
	}
	return out, nil
}

type looker struct {
	worker
	hidden map[string]bool // directories examined so far: true if a directory is excluded from the project
}

func (l *looker) look(ctx context.Context, p string) ([]File, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	gone := []File{{Path: p, Skip: SkipGone}}
	up := ""
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		up = p[:i]
	}
	fi, err := l.root.any.Lstat(filepath.FromSlash(p))
	if err != nil || l.hides(up) || p != "." && l.rules.ignores(p, fi.IsDir()) {
		return gone, nil // a path that cannot be examined cannot be indexed either
	}
	if !fi.IsDir() {
		f, err := l.file(p, up, fi)
		return append(gone, f), err // the path may have been a directory
	}
	n := &node{path: p, depth: strings.Count(p, "/") + 1}
	if p == "." {
		n = &node{}
	} else if !l.opts.KeepTools && toolDirs[path.Base(p)] {
		return gone, nil
	}
	sub := newWalk(l.root, l.rules, l.opts)
	if _, err := sub.runFrom(ctx, n); err != nil {
		return nil, err
	}
	var t Tree
	n.collect(&t)
	return append(append(gone, t.Files...), t.Skipped...), nil
}

// file examines a path that is not a directory.
func (l *looker) file(p, up string, fi fs.FileInfo) (File, error) {
	dir, err := l.root.open(filepath.FromSlash(cmp.Or(up, ".")))
	if errors.Is(err, fs.ErrNotExist) {
		return File{Path: p, Skip: SkipGone}, nil
	}
	if err != nil {
		return File{Path: p, Skip: SkipUnreadable}, nil
	}
	defer dir.Close()
	f, ok := l.state(p, dir, fs.FileInfoToDirEntry(fi), time.Now().UnixNano())
	if !ok {
		f = File{Path: p, Skip: SkipGone}
	}
	return f, nil
}

// hides reports whether a scan does not enter dir. The reason may be the name of dir or of a
// directory above, or a mark in one of them.
func (l *looker) hides(dir string) bool {
	hidden, known := l.hidden[dir]
	if known {
		return hidden
	}
	up, name := "", dir
	if i := strings.LastIndexByte(dir, '/'); i >= 0 {
		up, name = dir[:i], dir[i+1:]
	}
	hidden = l.hides(up) || !l.opts.KeepTools && toolDirs[name] || strings.Count(dir, "/")+1 > l.opts.MaxDepth || l.marked(dir)
	l.hidden[dir] = hidden
	return hidden
}

// marked reports whether dir contains a mark that excludes it from the project, or cannot be opened
// without following a link.
func (l *looker) marked(dir string) bool {
	f, err := l.root.open(filepath.FromSlash(dir))
	if err != nil {
		return true
	}
	defer f.Close()
	var marks []fs.DirEntry
	for _, name := range []string{".git", "CACHEDIR.TAG", "pyvenv.cfg"} {
		if fi, err := l.root.any.Lstat(filepath.Join(filepath.FromSlash(dir), name)); err == nil {
			marks = append(marks, fs.FileInfoToDirEntry(fi))
		}
	}
	return l.outside(&node{path: dir}, f, marks) != NotSkipped
}
