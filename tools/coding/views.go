package coding

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/luthier-dev/luthier/agent"
)

// A view is the content that a model believes a file to have: the text it was shown, with its own
// edits applied.
type view struct {
	text  string // the whole text, including lines that were not shown
	known bool   // text is kept; false for files too large to keep
	whole bool   // every line was shown
	lines []lineRange
	fresh []lineRange // the lines shown since the session's history was last rewritten
	epoch int         // epoch of the session at that time
	found bool        // only a search has shown it
}

// lineRange is a range of lines from first to last, from 1, both ends included.
type lineRange struct{ first, last int }

// viewStore holds the views of each session. The views of a session are dropped with the session.
type viewStore struct {
	limit    int // bytes of text kept per session
	mu       sync.Mutex
	sessions map[weak.Pointer[agent.Session]]*sessionViews
}

type sessionViews struct {
	byPath map[string]view
	order  []string // least recently used first
	bytes  int
}

// get returns the view that ctx's session has of the file rel.
func (s *viewStore) get(ctx context.Context, rel string) (view, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.of(ctx).byPath[rel]
	return v, ok
}

// set replaces the view that ctx's session has of the file rel.
func (s *viewStore) set(ctx context.Context, rel string, v view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sv := s.of(ctx)
	sv.drop(rel)
	sv.byPath[rel] = v
	sv.order = append(sv.order, rel)
	sv.bytes += len(v.text)
	for sv.bytes > s.limit && len(sv.order) > 1 {
		sv.drop(sv.order[0])
	}
}

// forget drops the view that ctx's session has of rel, because the file is gone.
func (s *viewStore) forget(ctx context.Context, rel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(ctx).drop(rel)
}

// add extends the view of rel by one range. If the range belongs to a different text from before,
// the view is reset: what was shown earlier is no longer the content of the file.
func (s *viewStore) add(ctx context.Context, rel, text string, r lineRange, whole bool) {
	s.extend(ctx, rel, text, r, whole, false)
}

// addFound is add for a range that a search has shown: it does not mark the file as one that the
// session works on.
func (s *viewStore) addFound(ctx context.Context, rel, text string, r lineRange) {
	s.extend(ctx, rel, text, r, false, true)
}

func (s *viewStore) extend(ctx context.Context, rel, text string, r lineRange, whole, found bool) {
	v, ok := s.get(ctx, rel)
	v.found = found && (!ok || v.found)
	if !ok || !v.known || v.text != text {
		v = view{text: text, known: true, found: v.found}
	}
	if epoch := epochOf(ctx); v.epoch != epoch {
		v.fresh, v.epoch = nil, epoch // what was shown before may no longer be in the history
	}
	v.fresh = mergeRanges(append(slices.Clone(v.fresh), r))
	v.lines = mergeRanges(append(slices.Clone(v.lines), r))
	v.whole = v.whole || whole || len(v.lines) == 1 && v.lines[0].first == 1 && v.lines[0].last >= countLines(text)
	s.set(ctx, rel, v)
}

// epochOf returns how often the history of ctx's session was rewritten.
func epochOf(ctx context.Context) int {
	if session := agent.SessionFrom(ctx); session != nil {
		return session.Epoch()
	}
	return 0
}

// holds reports whether the lines first to last of text were shown and are still in the session's
// history.
func (v *view) holds(epoch int, text string, first, last int) bool {
	if !v.known || v.epoch != epoch {
		return false
	}
	i := slices.IndexFunc(v.fresh, func(r lineRange) bool { return r.first <= first && last <= r.last })
	return i >= 0 && (v.text == text || linesOf(v.text, first, last) == linesOf(text, first, last))
}

// worked returns at most n files that ctx's session read or changed, the latest first.
func (s *viewStore) worked(ctx context.Context, n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	sv := s.of(ctx)
	for _, rel := range slices.Backward(sv.order) {
		if len(out) < n && rel != resourceMemory && !sv.byPath[rel].found {
			out = append(out, rel)
		}
	}
	return out
}

// all returns the views of ctx's session by path, with the paths in the order of their last use.
func (s *viewStore) all(ctx context.Context) ([]string, map[string]view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sv := s.of(ctx)
	return slices.Clone(sv.order), maps.Clone(sv.byPath)
}

// of returns the views of ctx's session; calls outside any session share one. s.mu is held.
func (s *viewStore) of(ctx context.Context) *sessionViews {
	session := agent.SessionFrom(ctx)
	key := weak.Make(session)
	sv := s.sessions[key]
	if sv != nil {
		return sv
	}
	if s.sessions == nil {
		s.sessions = map[weak.Pointer[agent.Session]]*sessionViews{}
	}
	sv = &sessionViews{byPath: map[string]view{}}
	s.sessions[key] = sv
	if session != nil {
		runtime.AddCleanup(session, s.end, key)
	}
	return sv
}

func (s *viewStore) end(key weak.Pointer[agent.Session]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, key)
}

func (sv *sessionViews) drop(rel string) {
	v, ok := sv.byPath[rel]
	if !ok {
		return
	}
	delete(sv.byPath, rel)
	sv.bytes -= len(v.text)
	i := slices.Index(sv.order, rel)
	sv.order = slices.Delete(sv.order, i, i+1)
}

// mergeRanges sorts ranges and joins those that touch or overlap.
func mergeRanges(rs []lineRange) []lineRange {
	slices.SortFunc(rs, func(a, b lineRange) int { return a.first - b.first })
	out := rs[:0]
	for _, r := range rs {
		if n := len(out); n > 0 && r.first <= out[n-1].last+1 {
			out[n-1].last = max(out[n-1].last, r.last)
			continue
		}
		out = append(out, r)
	}
	return out
}
