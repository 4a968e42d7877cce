package gitlog

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Open reads the log of the repository that contains dir. An error means that the options are
// invalid or that ctx has ended. All other problems are reported by [Log.Status]; the log then has
// the commits that could be read, possibly none.
func Open(ctx context.Context, dir string, opts Options) (*Log, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("gitlog: open %s: %w", dir, err)
	}
	start := time.Now()
	o := opening{ctx: ctx, opts: opts}
	l := newLog(opts)
	o.status = &l.status
	o.open(dir)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("gitlog: open %s: %w", dir, context.Cause(ctx))
	}
	if o.store != nil {
		l.build(o.store, o.live)
	}
	l.status.Took = time.Since(start)
	return l, nil
}

// opening is one call of Open.
type opening struct {
	ctx    context.Context
	opts   Options
	status *Status
	repo   *repository
	cache  cacheFile
	store  *store
	live   []int32
	src    source
	unread bool // some commits lack their changes, which the next Open may be able to read
}

func (o *opening) fail(s State, err error) {
	if o.status.State == Ready {
		o.status.State, o.status.Reason = s, err.Error()
	}
}

func (o *opening) open(dir string) {
	var err error
	o.repo, err = locate(dir, o.opts.GitDir)
	if errors.Is(err, errNoRepository) {
		o.fail(NoRepository, err)
		return
	}
	if err != nil {
		o.fail(Broken, err)
		return
	}
	o.describe(dir)
	defer o.closeSource()
	head, ok := o.head()
	if !ok {
		return
	}
	o.status.Head = head
	id, err := hex.DecodeString(head)
	if err != nil {
		o.fail(Broken, err)
		return
	}
	o.loadCache()
	from := o.store.marks()
	o.store.tokenizeRest(o.opts.Tokenizer)
	o.fill(string(id))
	if o.unread {
		o.status.Cache = "not written: of some commits the changes cannot be read"
		return
	}
	if err := o.cache.save(o.store, from); err != nil {
		o.status.Cache = "not written: " + err.Error()
	}
}

func (o *opening) describe(dir string) {
	s, r := o.status, o.repo
	s.GitDir, s.CommonDir = r.gitDir, r.commonDir
	s.Bare, s.Shallow = r.workTree == "" && o.opts.GitDir == "", len(r.shallow) > 0
	s.Worktree = r.gitDir != r.commonDir
	if r.workTree == "" {
		return
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	if rel, err := filepath.Rel(r.workTree, abs); err == nil && rel != "." && filepath.IsLocal(rel) {
		s.Prefix = filepath.ToSlash(rel) + "/"
	}
}

// head returns the hash of the commit whose ancestors count.
func (o *opening) head() (string, bool) {
	name := o.opts.Head
	var h string
	var err error
	switch {
	case name == "":
		if h, err = o.repo.resolveHead(); errors.Is(err, errUnborn) {
			o.fail(Empty, err)
			return "", false
		}
	case isHash(name):
		h, err = o.repo.follow(name, 0)
	default:
		h, err = o.resolve(name)
	}
	if err != nil {
		state := Broken
		if name != "" {
			state = NoHead
		}
		o.fail(state, err)
		return "", false
	}
	o.repo.hashLen = len(h) / 2
	return h, true
}

// resolve looks up a name among the references, then as an abbreviated hash.
func (o *opening) resolve(name string) (string, error) {
	h, err := o.repo.resolve(name)
	if err != nil {
		h = name
	}
	o.repo.hashLen = 20
	if head, err := o.repo.resolveHead(); err == nil {
		o.repo.hashLen = len(head) / 2
	}
	src, err := o.source()
	if err != nil {
		return h, err
	}
	return src.peel(o.ctx, h)
}

func (o *opening) loadCache() {
	if o.opts.CacheDir != "" {
		o.cache.path = cachePath(o.opts.CacheDir, o.repo)
	}
	s, err := o.cache.load(o.repo, o.opts.TokenizerKey)
	if err != nil {
		o.status.Cache = err.Error()
	}
	// A history that is rewritten often leaves more and more unused commits behind.
	if s != nil && len(s.commits) > 4*o.opts.MaxCommits+50_000 {
		s, o.cache.data = nil, nil
		o.status.Cache = "most of it is no longer in use: the log is read anew"
	}
	if s == nil {
		s = newStore(o.repo.hashLen, o.repo.shallowKey())
		s.words.key = o.opts.TokenizerKey
	}
	o.store = s
}

// source opens the repository on first use: often everything is in the cache.
func (o *opening) source() (source, error) {
	if o.src != nil {
		return o.src, nil
	}
	if !o.opts.NoGit {
		g, err := newGitSource(o.opts.Git, o.repo)
		if err == nil {
			o.src = g
			return g, nil
		}
	}
	return o.goGit()
}

func (o *opening) goGit() (source, error) {
	o.closeSource()
	g, err := newGoGitSource(o.repo)
	if err != nil {
		return nil, err
	}
	o.src, o.status.GoGit = g, true
	return g, nil
}

func (o *opening) closeSource() {
	if c, ok := o.src.(interface{ close() }); ok {
		c.close()
	}
	o.src = nil
}
