package retrieval

import (
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

// Update indexes the changes at the given paths, which are slash-separated and relative to the tree
// (or absolute and below it): files that are new, changed or gone, or directories. Without paths it
// scans the whole tree again, and the git log for new commits. When it returns, searches find the
// new text.
func (x *Index) Update(ctx context.Context, paths ...string) error {
	if x.closed.Load() {
		return ErrClosed
	}
	ctx, done := x.untilClose(ctx)
	defer done()
	if len(paths) == 0 || x.lent != nil && x.lent.replaced() {
		return x.updateAll(ctx)
	}
	rel := make([]string, len(paths))
	for i, p := range paths {
		var err error
		if rel[i], err = x.relative(p); err != nil {
			return err
		}
		if path.Base(rel[i]) == ".gitignore" {
			return x.updateAll(ctx) // other files may be affected too
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

// untilClose returns a context that ends with ctx or with Close.
func (x *Index) untilClose(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(x.life, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// updateAll scans the whole tree and reads the git log.
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

// updateSome updates some paths of the tree. The result lost reports that other files must be
// indexed again.
func (x *Index) updateSome(ctx context.Context, paths []string) (lost bool, err error) {
	x.writes.Lock()
	defer x.writes.Unlock()
	if x.closed.Load() {
		return false, ErrClosed
	}
	if err := x.root.refresh(); err != nil {
		return false, fmt.Errorf("retrieval: update %s: %w", x.dir, err)
	}
	since, err := x.since()
	if err != nil {
		return false, err
	}
	defer since.close()
	files, err := x.look(ctx, paths...)
	if err != nil {
		return false, fmt.Errorf("retrieval: update %s: %w", x.dir, err)
	}
	defer x.lent.hold()()
	for _, l := range x.layers() {
		if !l.isReady() || l.syncing.Load() {
			continue // its Sync will index these changes at its end, see syncBehind
		}
		missing, e := l.update(ctx, x.dir, since[l], files)
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

// relative converts a path to one relative to the tree.
func (x *Index) relative(p string) (string, error) {
	if filepath.IsAbs(p) {
		r, err := filepath.Rel(x.dir, p)
		if x.lent == nil && (err != nil || !filepath.IsLocal(r)) { // the name of a lent tree may be that of something else here
			if real, e := filepath.EvalSymlinks(x.dir); e == nil {
				r, err = filepath.Rel(real, p) // the tree was opened through a link
			}
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

// rescanEvery is the interval between scans of a tree that cannot be watched completely. retryAfter
// is the wait before a failed update is tried again.
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

// A follower processes the batches of a Watcher, or scans from time to time if there is none.
type follower struct {
	x  *Index
	w  *worktree.Watcher // nil if nothing is watched
	of os.FileInfo       // the watched directory
}

// begin watches the directory that is at the tree's path now.
func (f *follower) begin(ctx context.Context) {
	f.end()
	if f.x.lent != nil {
		f.tell(fmt.Sprintf("a tree without a path cannot be watched: it is scanned every %v", rescanEvery))
		return
	}
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
		_ = f.w.Close() // a scan will find the changes that it has not reported
		f.w = nil
	}
}

// stale reports whether the watched directory is gone or was replaced by another one.
func (f *follower) stale() bool {
	if f.w == nil {
		return true
	}
	is, err := os.Stat(f.x.dir)
	return err != nil || !os.SameFile(is, f.of)
}

func (f *follower) run(ctx context.Context) {
	defer func() { f.end() }()
	tick := time.NewTicker(rescanEvery)
	defer tick.Stop()
	again, retrying := false, false // set if an update has failed and must be repeated
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
