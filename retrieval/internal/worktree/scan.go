package worktree

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/internal/ignore"
)

// Defaults of Options.
const (
	DefaultMaxFileSize = 1 << 20
	DefaultMaxFiles    = 200_000
	DefaultMaxDepth    = 64
)

// Options of a scan. The zero value is a sensible default.
type Options struct {
	MaxFileSize int64    // larger files are skipped; 0 means DefaultMaxFileSize
	MaxFiles    int      // beyond this number, files are skipped, the deepest first; 0 means DefaultMaxFiles
	MaxDepth    int      // directories nested deeper are skipped; 0 means DefaultMaxDepth
	Ignore      []string // additional patterns in the language of .gitignore, anchored at the root; they cannot re-include what git ignores
	KeepTools   bool     // do not skip the directories of tools, such as node_modules
	Workers     int      // goroutines that read directories; 0 means a number based on the number of processors
	// Previous is an earlier scan of this root: files that look unchanged since then are not opened
	// again to be classified.
	Previous *Tree
	// Progress, if set, is called from time to time, from one goroutine at a time, with the number
	// and size of the files found so far.
	Progress func(files int, bytes int64)
}

func (o *Options) withDefaults() Options {
	out := *o
	if out.MaxFileSize <= 0 {
		out.MaxFileSize = DefaultMaxFileSize
	}
	if out.MaxFiles <= 0 {
		out.MaxFiles = DefaultMaxFiles
	}
	if out.MaxDepth <= 0 {
		out.MaxDepth = DefaultMaxDepth
	}
	if out.Workers <= 0 {
		out.Workers = min(max(2, runtime.GOMAXPROCS(0)), 16)
	}
	return out
}

// Scan lists the files below root that are worth indexing, and the skipped files with the reason.
// It returns an error only if root is unreadable or ctx ends; anything else that cannot be read is
// skipped as SkipUnreadable.
func Scan(ctx context.Context, root string, opts Options) (*Tree, error) {
	r, err := OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Scan(ctx, opts)
}

// Scan lists the files below r as [Scan] does.
func (r *Root) Scan(ctx context.Context, opts Options) (*Tree, error) {
	o := opts.withDefaults()
	w := newWalk(r, newRules(r.git(), o.Ignore), o)
	started := time.Now()
	top, err := w.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("worktree: scan %s: %w", cmp.Or(r.path, "tree"), err)
	}
	t := &Tree{Root: r.path, Started: started}
	top.collect(t)
	t.limit(o.MaxFiles)
	for i := range t.Files {
		t.Bytes += t.Files[i].Size
	}
	if o.Progress != nil {
		o.Progress(len(t.Files), t.Bytes)
	}
	return t, nil
}

// limit moves the deepest files beyond max to the skipped ones. The choice depends only on the
// files, so that the next scan decides in the same way.
func (t *Tree) limit(max int) {
	if len(t.Files) <= max {
		return
	}
	depths := make([]int, len(t.Files))
	order := make([]int, len(t.Files))
	for i := range t.Files {
		depths[i], order[i] = strings.Count(t.Files[i].Path, "/"), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return depths[a] - depths[b] })
	for _, i := range order[max:] {
		t.Files[i].Skip = SkipMany
		t.Skipped = append(t.Skipped, t.Files[i])
	}
	t.Files = slices.DeleteFunc(t.Files, func(f File) bool { return f.Skip != NotSkipped })
	sortFiles(t.Skipped)
}

// rules combine git's rules with the host's. They are safe for concurrent use.
type rules struct {
	git, host *ignore.Matcher
}

func newRules(git *ignore.Matcher, patterns []string) rules {
	r := rules{git: git}
	if len(patterns) > 0 {
		r.host = ignore.NewFS(patternFS(strings.Join(patterns, "\n") + "\n"))
	}
	return r
}

func (r rules) ignores(path string, isDir bool) bool {
	return r.git.Match(path, isDir) || r.host != nil && r.host.Match(path, isDir)
}

// progress throttles calls of Options.Progress.
type progress struct {
	mu    sync.Mutex
	call  func(int, int64)
	next  time.Time
	files int
	bytes int64
}

const progressEvery = 50 * time.Millisecond

func (p *progress) add(files int, bytes int64) {
	if p.call == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files += files
	p.bytes += bytes
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(progressEvery)
		p.call(p.files, p.bytes)
	}
}
