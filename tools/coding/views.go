package coding

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/luthier-dev/luthier/agent"
)

// A view is what a model believes a file to hold: the text it was shown, with its own edits applied.
type view struct {
	text  string // the whole text, also of the lines that were not shown
	known bool   // text is kept; it is not for files too large to remember
	whole bool   // every line was shown
	lines []lineRange
}

// lineRange is the lines first to last, from 1, both included.
type lineRange struct{ first, last int }

// viewStore remembers the views of each session. A session that is gone takes its views along.
type viewStore struct {
	limit    int // bytes of text kept for one session
	mu       sync.Mutex
	sessions map[weak.Pointer[agent.Session]]*sessionViews
}

type sessionViews struct {
	byPath map[string]view
	order  []string // least recently used first
	bytes  int
}

// get returns what the session of ctx was shown of the file rel.
func (s *viewStore) get(ctx context.Context, rel string) (view, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.of(ctx).byPath[rel]
	return v, ok
}

// set replaces what the session of ctx was shown of the file rel.
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

// forget drops what the session of ctx was shown of rel, because the file is gone.
func (s *viewStore) forget(ctx context.Context, rel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(ctx).drop(rel)
}

// add extends what was shown of rel by one range. A range of a text that differs from the one seen before starts anew:
// what was shown earlier is no longer what the file holds.
func (s *viewStore) add(ctx context.Context, rel, text string, r lineRange, whole bool) {
	v, ok := s.get(ctx, rel)
	if !ok || !v.known || v.text != text {
		v = view{text: text, known: true}
	}
	v.lines = mergeRanges(append(slices.Clone(v.lines), r))
	v.whole = v.whole || whole || len(v.lines) == 1 && v.lines[0].first == 1 && v.lines[0].last >= countLines(text)
	s.set(ctx, rel, v)
}

// of returns the views of the session of ctx; calls outside any session share one. s.mu is held.
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

// mergeRanges sorts ranges and joins those that touch.
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
