package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/ignore"
)

// WatchOptions of Watch. The zero value is a sensible default; Ignore and KeepTools should be those
// of the scan.
type WatchOptions struct {
	Ignore    []string
	KeepTools bool
	// MaxWatches limits the number of watched directories; 0 means 4,000. On systems that watch
	// each file of a directory (macOS, BSD), files count too.
	MaxWatches int
	Quiet      time.Duration // a batch is sent when there was no change for this long; 0 means 100 ms
	Delay      time.Duration // a batch is sent at the latest this long after its first change; 0 means 1 s
}

const (
	defaultMaxWatches = 4000
	defaultQuiet      = 100 * time.Millisecond
	defaultDelay      = time.Second
	leastWait         = 10 * time.Millisecond // so that a batch does not consist of every single change
	maxPending        = 10_000                // number of changed paths above which a full scan is cheaper
)

// A Batch lists what may have changed. Paths are for [Look]; a directory stands for everything
// below it.
type Batch struct {
	Paths  []string // sorted
	Rescan bool     // scan the tree: the changed paths are not known, or the rules for ignored files have changed
	Reason string   // reason for Rescan, in words
}

// A Watcher reports changes of a tree until it is closed.
type Watcher struct {
	batches chan Batch
	stop    context.CancelFunc
	done    chan struct{}
	err     error // from closing

	mu    sync.Mutex
	limit string
}

// Watch starts to watch the tree at root. All changes that happen after Watch has returned are
// reported, so the caller should scan the tree then. Directories that [Scan] would not enter are
// not watched. The Watcher ends with ctx or by Close.
func Watch(ctx context.Context, root string, opts WatchOptions) (*Watcher, error) {
	l, err := newWatchLoop(root, opts)
	if err != nil {
		return nil, err
	}
	ctx, l.stop = context.WithCancel(ctx)
	go l.run(ctx)
	return l.Watcher, nil
}

func newWatchLoop(root string, opts WatchOptions) (*watchLoop, error) {
	fsw, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("worktree: watch %s: %w; scan it from time to time instead", root, err)
	}
	l := &watchLoop{
		Watcher: &Watcher{batches: make(chan Batch), done: make(chan struct{})},
		fsw:     fsw, root: filepath.Clean(root), opts: opts.withDefaults(), watched: map[string]int{".": 0}, pending: map[string]bool{},
	}
	if err := l.fsw.Add(l.root); err != nil {
		return nil, errors.Join(fmt.Errorf("worktree: watch %s: %w; scan it from time to time instead", root, err), fsw.Close())
	}
	l.rules = newRules(ignore.New(l.root), opts.Ignore)
	l.watchBelow(".")
	return l, nil
}

// Batches returns the channel of changes. It is closed when the Watcher ends. A slow reader gets
// larger batches.
func (w *Watcher) Batches() <-chan Batch { return w.batches }

// Limit returns the reason why a part of the tree is not watched, or "" if all of it is. If there
// is a reason, changes can go unnoticed, so the caller should scan the tree from time to time.
func (w *Watcher) Limit() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.limit
}

// Close ends the Watcher and waits for its goroutines.
func (w *Watcher) Close() error {
	w.stop()
	<-w.done
	return w.err
}

func (o WatchOptions) withDefaults() WatchOptions {
	if o.MaxWatches <= 0 {
		o.MaxWatches = defaultMaxWatches
	}
	if o.Quiet <= 0 {
		o.Quiet = defaultQuiet
	}
	if o.Delay <= 0 {
		o.Delay = defaultDelay
	}
	return o
}

// watchLoop is the state of a Watcher's goroutine.
type watchLoop struct {
	*Watcher
	fsw     *fsnotify.Watcher
	root    string
	opts    WatchOptions
	rules   rules
	watched map[string]int // directories and the cost of each
	cost    int
	pending map[string]bool
	rescan  string // reason for a rescan, "" if none is needed
	since   time.Time
}

func (l *watchLoop) run(ctx context.Context) {
	defer close(l.done)
	defer close(l.batches)
	defer func() { l.err = l.fsw.Close() }()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ready := false
	for {
		out, batch := chan<- Batch(nil), Batch{}
		if ready {
			out, batch = l.batches, l.batch()
		}
		select {
		case <-ctx.Done():
			return
		case out <- batch:
			l.sent()
			ready = false
		case <-timer.C:
			ready = l.settle()
		case e, ok := <-l.fsw.Events:
			if !ok {
				return
			}
			if l.event(e) {
				ready = false // a batch that has not been received yet may grow
				timer.Reset(l.wait())
			}
		case err, ok := <-l.fsw.Errors:
			if !ok {
				return
			}
			l.failed(err)
			ready = false
			timer.Reset(l.wait())
		}
	}
}

// wait returns the time to wait for further changes.
func (l *watchLoop) wait() time.Duration {
	if l.since.IsZero() {
		l.since = time.Now()
	}
	return max(leastWait, min(l.opts.Quiet, l.opts.Delay-time.Since(l.since)))
}

func (l *watchLoop) batch() Batch {
	if l.rescan != "" {
		return Batch{Rescan: true, Reason: l.rescan}
	}
	return Batch{Paths: slices.Sorted(maps.Keys(l.pending))}
}

func (l *watchLoop) sent() {
	clear(l.pending)
	l.rescan, l.since = "", time.Time{}
}

// settle prepares a batch. It returns false if there are no changes to report.
func (l *watchLoop) settle() bool {
	if l.rescan != "" {
		l.rules = newRules(ignore.New(l.root), l.opts.Ignore)
		l.watchBelow(".")
	}
	return l.rescan != "" || len(l.pending) > 0
}

func (l *watchLoop) failed(err error) {
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		l.rescan = "the system had more changes than it could tell"
		return
	}
	l.rescan = "the system could not tell all changes: " + err.Error()
}

// event handles one change. It returns false if the change does not matter.
func (l *watchLoop) event(e fsnotify.Event) bool {
	rel, err := filepath.Rel(l.root, e.Name)
	if err != nil {
		return false
	}
	rel = filepath.ToSlash(rel)
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	switch {
	case rel == ".":
		if gone {
			l.rescan = "the root was moved or removed"
		}
		return gone
	case e.Op == fsnotify.Chmod:
		return false
	}
	if path.Base(rel) == ".gitignore" {
		l.rescan = "the rules of what to ignore have changed"
		return true
	}
	if dir := path.Dir(rel); dir != "." && (path.Base(rel) == "CACHEDIR.TAG" || path.Base(rel) == "pyvenv.cfg" || path.Base(rel) == ".git") {
		return l.note(dir) // a mark: it concerns the whole directory
	}
	_, watched := l.watched[rel]
	if gone && watched {
		l.forget(rel)
		return l.note(rel)
	}
	fi, err := os.Lstat(e.Name)
	isDir := err == nil && fi.IsDir()
	if l.rules.ignores(rel, isDir) {
		return false
	}
	if isDir {
		if !e.Has(fsnotify.Create) {
			return false // changes of its entries are reported separately
		}
		l.watch(rel)
	}
	return l.note(rel)
}

func (l *watchLoop) note(rel string) bool {
	l.pending[rel] = true
	if len(l.pending) > maxPending {
		clear(l.pending)
		l.rescan = fmt.Sprintf("more than %d paths have changed", maxPending)
	}
	return true
}

// watch watches dir and the directories below it. Entries created before a directory is watched are
// found by the reader's Look at dir, which is part of the batch.
func (l *watchLoop) watch(dir string) {
	if l.add(dir) {
		l.watchBelow(dir)
	}
}

// watchBelow watches the directories below dir, the nearest first.
func (l *watchLoop) watchBelow(dir string) {
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		entries, err := os.ReadDir(filepath.Join(l.root, filepath.FromSlash(at)))
		if err != nil {
			continue // gone again, or unreadable and so not indexed either
		}
		if l.outside(at, entries) {
			l.unwatch(at)
			continue
		}
		l.charge(at, len(entries))
		for _, e := range entries {
			sub := path.Join(at, e.Name())
			if !e.IsDir() || !l.opts.KeepTools && toolDirs[e.Name()] || l.rules.ignores(sub, true) {
				continue
			}
			if l.add(sub) {
				queue = append(queue, sub)
			}
		}
	}
}

// add watches one directory, unless there are too many.
func (l *watchLoop) add(dir string) bool {
	if _, again := l.watched[dir]; !again && l.cost >= l.opts.MaxWatches {
		l.limited(fmt.Sprintf("only %d directories are watched", len(l.watched)))
		return false
	}
	err := l.fsw.Add(filepath.Join(l.root, filepath.FromSlash(dir)))
	switch {
	case err == nil:
		l.charge(dir, 0)
		return true
	case errors.Is(err, fs.ErrNotExist):
		return false
	}
	l.limited(fmt.Sprintf("only %d directories are watched: %v", len(l.watched), err))
	return false
}

// charge adds the cost that watching dir has for the system.
func (l *watchLoop) charge(dir string, entries int) {
	n := 1
	switch runtime.GOOS {
	case "darwin", "freebsd", "netbsd", "openbsd", "dragonfly":
		n += entries // one descriptor each
	}
	if n > l.watched[dir] {
		l.cost += n - l.watched[dir]
		l.watched[dir] = n
	}
}

func (l *watchLoop) unwatch(dir string) {
	if n, ok := l.watched[dir]; ok && dir != "." {
		_ = l.fsw.Remove(filepath.Join(l.root, filepath.FromSlash(dir))) // it may be gone already
		l.cost -= n
		delete(l.watched, dir)
	}
}

// forget ends the watches of a directory that is gone and of everything below it.
func (l *watchLoop) forget(dir string) {
	for sub := range l.watched {
		if sub == dir || strings.HasPrefix(sub, dir+"/") {
			l.unwatch(sub)
		}
	}
}

func (l *watchLoop) limited(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit == "" {
		l.limit = why
	}
}

// maxLink limits the size of a .git file that is read.
const maxLink = 64 << 10

// outside reports whether a scan does not enter a directory.
func (l *watchLoop) outside(dir string, entries []fs.DirEntry) bool {
	if dir == "." {
		return false
	}
	for _, e := range entries {
		switch {
		case e.Name() == ".git" && e.Type().IsRegular():
			text, err := regular.Read(filepath.Join(l.root, filepath.FromSlash(dir), ".git"), maxLink)
			if err == nil && linksWorktree(text) {
				return true
			}
		case !l.opts.KeepTools && isToolMark(e):
			return true
		}
	}
	return false
}
