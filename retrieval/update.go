package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// Update takes in what changed at the given paths, slash-separated and relative to the
// tree (or absolute and below it): files that are new, changed or gone, or directories.
// Without paths the whole tree is looked at again, and the git log for new commits.
// When it returns, searches find the new text.
func (x *Index) Update(ctx context.Context, paths ...string) error {
	if x.closed.Load() {
		return ErrClosed
	}
	ctx, done := x.untilClose(ctx)
	defer done()
	if len(paths) == 0 {
		return x.updateAll(ctx)
	}
	rel := make([]string, len(paths))
	for i, p := range paths {
		var err error
		if rel[i], err = x.relative(p); err != nil {
			return err
		}
		if path.Base(rel[i]) == ".gitignore" {
			return x.updateAll(ctx) // it speaks of other files
		}
	}
	if err := x.words.wait(ctx); err != nil {
		return err
	}
	lost, err := x.updateSome(ctx, rel)
	if err == nil && lost {
		return x.updateAll(ctx)
	}
	return err
}

// untilClose returns a context that ends with ctx and with Close.
func (x *Index) untilClose(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(x.life, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// updateAll looks at the whole tree and the git log.
func (x *Index) updateAll(ctx context.Context) error {
	if err := x.words.wait(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	if err := x.sync(ctx); err != nil {
		return fmt.Errorf("retrieval: update %s: %w", x.dir, err)
	}
	select {
	case <-x.logReady:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	x.loadLog(ctx)
	return nil
}

// updateSome takes in some paths of the tree. lost says that others have to be indexed
// again.
func (x *Index) updateSome(ctx context.Context, paths []string) (lost bool, err error) {
	x.writes.Lock()
	defer x.writes.Unlock()
	if x.closed.Load() {
		return false, ErrClosed
	}
	if err := x.root.refresh(); err != nil {
		return false, fmt.Errorf("retrieval: update %s: %w", x.dir, err)
	}
	files, err := worktree.Look(ctx, x.dir, x.scanOptions(), paths...)
	if err != nil {
		return false, fmt.Errorf("retrieval: update %s: %w", x.dir, err)
	}
	x.tree.limit(files, cmp.Or(max(x.cfg.MaxFiles, 0), worktree.DefaultMaxFiles))
	x.tree.add(files)
	for _, l := range x.layers() {
		if !l.isReady() || l.syncing.Load() {
			continue // its Sync looks at the tree again at its end, see syncBehind
		}
		missing, e := l.update(ctx, x.dir, files)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("retrieval: update %s: %w", l.stage, e))
		}
		lost = lost || missing
	}
	if x.embedding != nil {
		x.embedding.kick()
	}
	return lost, err
}

// relative makes a path one of the tree.
func (x *Index) relative(p string) (string, error) {
	if filepath.IsAbs(p) {
		r, err := filepath.Rel(x.dir, p)
		if real, e := filepath.EvalSymlinks(x.dir); e == nil && real != x.dir && (err != nil || !filepath.IsLocal(r)) {
			r, err = filepath.Rel(real, p) // the tree was opened by a link
		}
		if err != nil {
			return "", fmt.Errorf("retrieval: update %s: %w", p, err)
		}
		p = r
	}
	p = filepath.ToSlash(filepath.Clean(p))
	if p == ".." || strings.HasPrefix(p, "../") {
		return "", fmt.Errorf("retrieval: update %s: the path lies outside of %s", p, x.dir)
	}
	return p, nil
}

// rescanEvery is how often a tree is scanned of which not all can be watched, and
// retryAfter when a change that could not be taken in is tried again.
const (
	rescanEvery = 30 * time.Second
	retryAfter  = time.Second
)

// watch follows changes of the tree until ctx ends.
func (x *Index) watch(ctx context.Context) {
	f := follower{x: x}
	f.begin(ctx)
	x.background.Go(func() { f.run(ctx) })
}

// A follower takes in batches of a Watcher, or scans from time to time without one.
type follower struct {
	x  *Index
	w  *worktree.Watcher // nil when nothing is watched
	of os.FileInfo       // the directory it watches
}

// begin watches the directory that has the tree's path now.
func (f *follower) begin(ctx context.Context) {
	f.end()
	var err error
	if f.of, err = os.Stat(f.x.dir); err == nil {
		f.w, err = worktree.Watch(ctx, f.x.dir, worktree.WatchOptions{Ignore: f.x.cfg.Ignore})
	}
	if err != nil {
		f.w = nil
		f.tell(err.Error())
		return
	}
	f.tell(f.w.Limit())
}

func (f *follower) tell(limit string) { f.x.watching.Store(&limit) }

func (f *follower) end() {
	if f.w != nil {
		_ = f.w.Close() // what it has not told is found by a scan
		f.w = nil
	}
}

// stale reports whether another directory, or none, is where the watched one was.
func (f *follower) stale() bool {
	is, err := os.Stat(f.x.dir)
	return f.w == nil || err != nil || !os.SameFile(is, f.of)
}

func (f *follower) run(ctx context.Context) {
	defer func() { f.end() }()
	tick := time.NewTicker(rescanEvery)
	defer tick.Stop()
	again, retrying := false, false // what changed could not be taken in
	for ctx.Err() == nil {
		var batches <-chan worktree.Batch
		if f.w != nil {
			batches = f.w.Batches()
		}
		scan := false
		select {
		case <-ctx.Done():
			return
		case b, ok := <-batches:
			switch {
			case !ok:
				f.end()
				f.tell("watching has ended")
				scan = true
			case b.Rescan:
				scan = true
			default:
				again = f.x.Update(ctx, b.Paths...) != nil || again
			}
		case <-tick.C:
			scan = again || f.stale() || f.w.Limit() != ""
			if f.w != nil {
				f.tell(f.w.Limit())
			}
		}
		if scan {
			if f.stale() {
				f.begin(ctx)
			}
			again = f.x.Update(ctx) != nil
		}
		if again && !retrying {
			tick.Reset(retryAfter)
		} else if retrying && !again {
			tick.Reset(rescanEvery)
		}
		retrying = again
	}
}
