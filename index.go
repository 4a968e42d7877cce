package luthier

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/tools/coding"
)

// CodingIndex returns an index for the search, repo_map and symbols tools of a coding.Workspace,
// backed by a retrieval index over the workspace's directory. [New] sets one up by itself;
// CodingIndex is for hosts that open a coding.Workspace on their own.
//
// Searches favour the files that a session works on, leave out what it was shown already, and find
// what the tools have just written. The caller closes x.
func CodingIndex(x *retrieval.Index) coding.Index {
	return CodingIndexLater(func() (*retrieval.Index, error) { return x, nil })
}

// CodingIndexLater is [CodingIndex] for an index that is not open yet, so that a host can offer the
// tools before it has one. get is called at every use and must always return the same index; if it
// returns an error, the tools answer with that error.
func CodingIndexLater(get func() (*retrieval.Index, error)) coding.Index {
	return &retrieved{get: get}
}

// retrieved collects changes until somebody searches: an agent edits more often than it searches,
// and this way needs no goroutine that nobody could stop.
type retrieved struct {
	get func() (*retrieval.Index, error)

	mu    sync.Mutex
	paths map[string]bool
	all   bool // a program has run

	update sync.Mutex // held by the caller that applies the changes, while others wait
}

// Features returns every feature there is.
func (r *retrieved) Features() coding.IndexFeatures {
	return coding.IndexFeatures{
		LeavesOutHeld: true, Changed: r.changed, State: r.state, Map: r.outline, Declaring: r.declaring, Using: r.using,
	}
}

// maxPending limits the number of changed paths that are remembered; beyond it the whole tree is
// scanned.
const maxPending = 500

// Search implements [coding.Index].
func (r *retrieved) Search(ctx context.Context, q coding.IndexQuery) ([]coding.Hit, error) {
	x, err := r.refresh(ctx)
	if err != nil {
		return nil, err
	}
	rq := retrieval.Query{Text: q.Text, K: q.K, Near: q.Near}
	for _, h := range q.Held {
		rq.Held = append(rq.Held, retrieval.Range(h))
	}
	found, err := x.Search(ctx, rq)
	if err != nil {
		return nil, err
	}
	hits := make([]coding.Hit, len(found))
	for i, h := range found {
		hits[i] = coding.Hit{Path: h.Path, StartLine: h.StartLine, EndLine: h.EndLine, Symbol: h.Symbol, Score: h.Score, Snippet: h.Snippet}
	}
	return hits, nil
}

func (r *retrieved) changed(paths ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(paths) == 0 || len(r.paths)+len(paths) > maxPending {
		r.all = true
	}
	if len(r.paths)+len(paths) > maxPending {
		return
	}
	if r.paths == nil {
		r.paths = map[string]bool{}
	}
	for _, p := range paths {
		r.paths[p] = true
	}
}

// pendingWait limits the time for which a search waits for a new index to take in what the tools
// wrote. Small trees are indexed within that time.
const pendingWait = 500 * time.Millisecond

// refresh applies the collected changes to the index. If the index is still being built for the
// first time, or if the update fails, the changes wait for the next search, and this search is
// answered from the index as it is.
func (r *retrieved) refresh(ctx context.Context) (*retrieval.Index, error) {
	x, err := r.get()
	if err != nil {
		return nil, err
	}
	r.update.Lock()
	defer r.update.Unlock()
	if !r.pending() {
		return x, nil
	}
	st := x.Status()
	for start := time.Now(); !complete(&st); st = x.Status() {
		if ctx.Err() != nil || time.Since(start) > pendingWait {
			return x, context.Cause(ctx)
		}
		time.Sleep(5 * time.Millisecond)
	}
	r.mu.Lock()
	paths, all := r.paths, r.all
	r.paths, r.all = nil, false
	r.mu.Unlock()
	switch {
	case all && (st.Watch != "on" || len(paths) >= maxPending):
		err = x.Update(ctx)
	case len(paths) > 0:
		err = x.Update(ctx, slices.Sorted(maps.Keys(paths))...)
	}
	if err != nil {
		r.changed(slices.Collect(maps.Keys(paths))...)
		if all {
			r.changed()
		}
	}
	return x, context.Cause(ctx)
}

func (r *retrieved) pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.paths) > 0 || r.all
}

// firstWait limits the time for which an outline waits for definitions that are still being
// indexed.
const firstWait = 10 * time.Second

var errIndexing = errors.New("the definitions are still being indexed; try again later")

func (r *retrieved) outline(ctx context.Context, tokens int, near []string, text string) (string, error) {
	x, err := r.refresh(ctx)
	if err != nil {
		return "", err
	}
	if st := x.Status(); !complete(&st) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, firstWait, errIndexing)
		defer cancel()
	}
	return x.MapFor(ctx, retrieval.MapQuery{Tokens: tokens, Near: near, Text: text})
}

func (r *retrieved) declaring(ctx context.Context, name string) ([]string, error) {
	return filesOf(ctx, r, name, (*retrieval.Index).Definitions, func(s retrieval.Symbol) string { return s.Path })
}

func (r *retrieved) using(ctx context.Context, name string) ([]string, error) {
	return filesOf(ctx, r, name, (*retrieval.Index).References, func(u retrieval.Reference) string { return u.Path })
}

// filesOf asks the index for the places of a name and returns their files. It asks nothing if it
// would have to wait.
func filesOf[T any](ctx context.Context, r *retrieved, name string, ask func(*retrieval.Index, context.Context, string) ([]T, error), path func(T) string) ([]string, error) {
	x, err := r.refresh(ctx)
	if err != nil {
		return nil, err
	}
	if st := x.Status(); !complete(&st) {
		return nil, errIndexing
	}
	places, err := ask(x, ctx, name)
	var out []string
	for _, p := range places {
		if n := len(out); n == 0 || out[n-1] != path(p) {
			out = append(out, path(p))
		}
	}
	return out, err
}

// state returns a note that the index is still being built, or the reason why there is none.
func (r *retrieved) state() string {
	x, err := r.get()
	if err != nil {
		return ""
	}
	st := x.Status()
	if len(st.Layers) > 0 && !st.Layers[0].Ready && st.Layers[0].Err == nil {
		return "the index is still being made: found by plain search"
	}
	return ""
}

// complete reports whether nothing is being indexed for the first time. An update would wait for
// that.
func complete(st *retrieval.Status) bool {
	return !slices.ContainsFunc(st.Layers, func(l retrieval.LayerStatus) bool { return !l.Ready && l.Err == nil })
}
