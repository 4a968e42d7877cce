package retrieval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
	"github.com/luthier-dev/luthier/retrieval/internal/ranking"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// Index is the index of one tree. It is safe for concurrent use; close it when done.
type Index struct {
	dir  string // absolute path, or the name of a lent tree
	home string // directory of the indexes
	cfg  Config
	root source
	lent *lent // root, if the tree is lent; else nil

	parser symbols.Parser // of cfg

	words, trigrams, symbols *layer
	embedding                *embedding // nil without an Embedder

	log      atomic.Pointer[ranking.Log]
	logReady chan struct{}
	logging  sync.Mutex // held while the log is read
	logState atomic.Pointer[gitlog.Status]

	tree   listing    // files for searches without an index and for Status
	behind sync.Mutex // held while a layer other than the words is synced
	writes sync.Mutex // held during a scan or update
	cache  tables

	graphing   chan bool // holds one token for whoever builds or takes the graph
	lastGraph  *graph
	background sync.WaitGroup
	life       context.Context // ends with Close
	cancel     context.CancelFunc
	closed     atomic.Bool
	watching   atomic.Pointer[string] // the reason why some part of the tree is not watched; nil if nothing is watched
	progress   sync.Mutex
	failed     atomic.Pointer[error] // error of the first indexing in the background
}

// ErrClosed is returned by a closed Index.
var ErrClosed = errors.New("retrieval: the index is closed")

// Open opens the index of the tree at dir, creates it if there is none, and brings it up to date.
// It returns when words can be searched and the git log is read (see [Config.Background]); symbols
// and trigrams follow in the background. Cancelling ctx ends Open; the next Open reuses the work
// done until then.
func Open(ctx context.Context, dir string, cfg Config) (*Index, error) {
	x, err := newIndex(ctx, dir, cfg)
	if err != nil {
		return nil, fmt.Errorf("retrieval: open %s: %w", dir, err)
	}
	return x.start(ctx)
}

// start brings a new index up to date.
func (x *Index) start(ctx context.Context) (*Index, error) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x.life, x.cancel = work, cancel
	stop := func() bool { return true }
	if !x.cfg.Background {
		stop = context.AfterFunc(ctx, cancel) // until Open returns
	}
	x.background.Go(func() { x.readLog(work) })
	x.background.Go(func() { x.first(work) })
	if x.embedding != nil {
		x.background.Go(func() { x.embedding.fill(work) })
	}
	if x.cfg.Background {
		return x, nil
	}
	err := x.words.wait(ctx)
	if err == nil {
		select {
		case <-x.logReady:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("retrieval: index %s: %w", x.dir, err), x.Close())
	}
	return x, nil
}

func newIndex(ctx context.Context, dir string, cfg Config) (*Index, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if fi, err := os.Stat(abs); err != nil {
		return nil, err
	} else if !fi.IsDir() {
		return nil, errors.New("not a directory; give the root of the tree to be searched")
	}
	x := emptyIndex(abs, cfg)
	if x.home, err = cfg.home(abs); err != nil {
		return nil, err
	}
	base := ""
	if cfg.Base != "" {
		if base, err = cfg.home(cfg.Base); err != nil {
			return nil, fmt.Errorf("base: %w", err)
		}
	}
	if x.root, err = newRoot(abs); err != nil {
		return nil, err
	}
	x.cfg.Ignore = cfg.ignored(abs, x.home)
	return x, x.openLayers(ctx, base, codestore.Options{MaxFileSize: cfg.MaxFileSize})
}

func emptyIndex(dir string, cfg Config) *Index {
	return &Index{dir: dir, cfg: cfg, parser: parserOf(cfg.Parser), logReady: make(chan struct{}), graphing: make(chan bool, 1)}
}

// openLayers opens all stored indexes. If base is not empty, new ones begin with those in base.
// After an error, the parts of the index are closed.
func (x *Index) openLayers(ctx context.Context, base string, opts codestore.Options) (err error) {
	kinds := []struct {
		to    **layer
		stage string
		f     codestore.Format
	}{{&x.words, "index", wordsFormat()}, {&x.trigrams, "trigrams", trigramFormat()}, {&x.symbols, "symbols", symbolFormat(x.parser)}}
	if x.cfg.WordsOnly {
		kinds = kinds[:1]
	}
	for _, l := range kinds {
		if *l.to, err = openLayer(ctx, x.home, base, l.stage, l.f, opts); err != nil {
			return errors.Join(err, x.closeParts())
		}
	}
	if x.cfg.Embedder != nil {
		if x.embedding, err = openEmbedding(ctx, x, base, opts); err != nil {
			return errors.Join(err, x.closeParts())
		}
	}
	return nil
}

// first builds all indexes, the most needed one first.
func (x *Index) first(ctx context.Context) {
	if x.cfg.Watch {
		x.watch(ctx) // before the scan, so that no change is missed in between
	}
	if err := x.sync(ctx); err != nil {
		err = fmt.Errorf("retrieval: index %s: %w", x.dir, err)
		x.failed.Store(&err)
		if x.cfg.Logger != nil && ctx.Err() == nil {
			x.cfg.Logger.Warn("the index of the workspace could not be made", "dir", x.dir, "error", err)
		}
	}
}

// scanOptions returns the options of every scan of the tree.
func (x *Index) scanOptions() worktree.Options {
	opts := worktree.Options{MaxFileSize: x.cfg.MaxFileSize, MaxFiles: x.cfg.MaxFiles, Ignore: x.cfg.Ignore, Previous: x.tree.scanned()}
	if opts.Previous == nil && x.lent != nil {
		opts.Previous = x.recorded()
	}
	return opts
}

// sync scans the tree and brings all layers up to date: words first, then the others. Single files
// can still be updated while the other layers are built.
func (x *Index) sync(ctx context.Context) error {
	since, err := x.since()
	if err != nil {
		return err
	}
	defer since.close()
	err = x.syncWords(ctx, since)
	if err != nil && !x.words.isReady() {
		return err
	}
	x.behind.Lock()
	defer x.behind.Unlock()
	for _, l := range x.layers() {
		if l != x.words {
			err = errors.Join(err, x.syncBehind(ctx, l, since[l]))
		}
	}
	if x.embedding != nil {
		x.embedding.kick()
	}
	if err == nil {
		x.failed.Store(nil)
	} else {
		x.lent.differs()
	}
	return err
}

// syncWords scans the tree and brings the layer of words up to date.
func (x *Index) syncWords(ctx context.Context, since since) error {
	x.writes.Lock()
	defer x.writes.Unlock()
	if x.closed.Load() {
		return ErrClosed
	}
	opts := x.scanOptions()
	if x.cfg.Progress != nil {
		opts.Progress = func(files int, bytes int64) { x.tell(Progress{Stage: "scan", Files: files, Bytes: bytes}) }
	}
	generation := x.lent.generation()
	err := x.root.refresh()
	var tree *worktree.Tree
	if err == nil {
		tree, err = x.root.scan(ctx, opts)
	}
	if err != nil {
		for _, l := range x.layers() {
			l.fail(err)
		}
		return err
	}
	x.tree.Store(tree)
	defer x.cache.forget()
	defer x.words.open()
	defer x.lent.hold()()
	if err := x.words.sync(ctx, tree, since[x.words], x.tell); err != nil {
		return fmt.Errorf("%s: %w", x.words.stage, err)
	}
	x.lent.compared(generation)
	return nil
}

// syncBehind brings another layer up to date with the tree, including updates made during the sync.
func (x *Index) syncBehind(ctx context.Context, l *layer, since *codestore.Since) error {
	tree := x.tree.Load()
	if tree == nil {
		return nil // the scan failed; syncWords has reported it
	}
	defer l.open() // once it includes all updates made meanwhile
	defer x.lent.hold()()
	l.syncing.Store(true)
	err := l.sync(ctx, tree, since, x.tell)
	x.writes.Lock()
	defer x.writes.Unlock()
	l.syncing.Store(false)
	if now := x.tree.Load(); err == nil && now != tree {
		err = l.sync(ctx, now, since, nil)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.stage, err)
	}
	return nil
}

// Wait returns when words can be searched: at once, unless [Config.Background] is set. If they
// cannot be searched, the error is the reason.
func (x *Index) Wait(ctx context.Context) error {
	if err := x.words.wait(ctx); err != nil {
		return fmt.Errorf("retrieval: index %s: %w", x.dir, err)
	}
	return nil
}

// layers returns the stored indexes, the most needed one first.
func (x *Index) layers() []*layer {
	all := []*layer{x.words, x.trigrams, x.symbols}
	if x.embedding != nil {
		all = append(all, x.embedding.layer)
	}
	return slices.DeleteFunc(all, func(l *layer) bool { return l == nil })
}

// tell reports progress, one caller at a time.
func (x *Index) tell(p Progress) {
	if x.cfg.Progress != nil {
		x.progress.Lock()
		defer x.progress.Unlock()
		x.cfg.Progress(p)
	}
}

// readLog reads the git log for the first time.
func (x *Index) readLog(ctx context.Context) {
	defer close(x.logReady)
	x.loadLog(ctx)
}

// loadLog reads the current git log. After the first successful read, an ended ctx keeps the
// previous log.
func (x *Index) loadLog(ctx context.Context) {
	if x.cfg.NoHistory || x.lent != nil && x.cfg.GitDir == "" {
		return
	}
	x.logging.Lock()
	defer x.logging.Unlock()
	dir, cache := x.dir, filepath.Join(x.home, "history")
	if x.lent != nil {
		dir, cache = x.cfg.GitDir, x.lent.history
	}
	opts := gitlog.Options{
		CacheDir: cache, GitDir: x.cfg.GitDir, Head: x.cfg.Head,
		Tokenizer: ranking.LogWords, TokenizerKey: ranking.TokenizerKey,
	}
	if x.cfg.Progress != nil {
		opts.Progress = func(n int) { x.tell(Progress{Stage: "history", Files: n}) }
	}
	log, err := gitlog.Open(ctx, dir, opts)
	before := x.logState.Load()
	if err != nil {
		if before == nil {
			x.logState.Store(&gitlog.Status{State: gitlog.Broken, Reason: err.Error()})
		}
		return
	}
	state := log.Status()
	x.logState.Store(&state)
	if before != nil && state.State == gitlog.Ready && before.State == state.State && before.Head == state.Head && before.GitDir == state.GitDir {
		return // the log has not changed
	}
	x.log.Store(ranking.NewLog(log))
	x.cache.forget()
}

// Close ends all work in the background and releases the Index's resources. Running searches may
// end with [ErrClosed].
func (x *Index) Close() error {
	if x.closed.Swap(true) {
		return nil
	}
	if x.cancel != nil {
		x.cancel()
	}
	x.background.Wait()
	for _, l := range x.layers() {
		l.fail(ErrClosed) // for callers that wait for a layer that will never be ready
	}
	x.writes.Lock() // wait for an Update in progress, whose context has ended
	defer x.writes.Unlock()
	return x.closeParts()
}

func (x *Index) closeParts() error {
	x.cache.forget()
	var errs []error
	for _, l := range x.layers() {
		errs = append(errs, l.store.Close())
	}
	if x.embedding != nil {
		errs = append(errs, x.embedding.store.Close())
	}
	errs = append(errs, x.root.Close())
	if x.cfg.Temporary {
		errs = append(errs, os.RemoveAll(x.home))
	}
	return errors.Join(errs...)
}
