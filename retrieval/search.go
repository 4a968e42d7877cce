package retrieval

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/retrieval/internal/ranking"
)

// Query describes a search. Only Text is required.
type Query struct {
	Text string // a question, an issue, the title of a commit, a stack trace
	K    int    // maximum number of places; 0 means 10

	// PerFile limits the number of places per file, so that the answer covers several files; 0
	// means 3, and a negative number means no limit.
	PerFile int
	// Under limits the search to files at or below these paths.
	Under []string
	// Near lists files that the task is already about. Files that are closely related to them get
	// higher scores.
	Near []string
	// Held lists places whose text the caller already has: they are left out.
	Held []Range
}

// Range is a range of lines of a file, from 1 and inclusive.
type Range struct {
	Path               string
	StartLine, EndLine int
}

// Hit is one place that a search found.
type Hit struct {
	Path               string  // slash-separated, relative to the tree
	StartLine, EndLine int     // from 1, inclusive
	Symbol             string  // the definition that begins or continues there; "" if unknown
	Score              float64 // comparable within one answer: higher is better
	Snippet            string  // the lines
	Why                []string
}

const (
	defaultK       = 10
	defaultPerFile = 3
)

// Search finds the places that are most relevant to a text, best first. An empty answer is not an
// error. Until the first index is ready, Search reads the files directly.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	if x.closed.Load() {
		return nil, ErrClosed
	}
	if strings.TrimSpace(q.Text) == "" {
		return nil, fmt.Errorf("retrieval: search: the text is empty; say in words what is looked for")
	}
	defer x.lent.hold()()
	if x.cfg.Background && !x.words.isReady() {
		return x.plain(ctx, q)
	}
	if err := x.words.wait(ctx); err != nil {
		return nil, fmt.Errorf("retrieval: search: %w", err)
	}
	if err := x.current(ctx); err != nil {
		return nil, fmt.Errorf("retrieval: search: %w", err)
	}
	hits, stale, err := x.searchOnce(ctx, q)
	if err == nil && len(stale) > 0 {
		if x.Update(ctx, stale...) == nil {
			hits, _, err = x.searchOnce(ctx, q)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("retrieval: search: %w", err)
	}
	return hits, nil
}

// searchOnce searches one state of the index. It also returns the files that have changed since
// that state was indexed.
func (x *Index) searchOnce(ctx context.Context, q Query) (hits []Hit, stale []string, err error) {
	err = x.rebuilding(ctx, func() error {
		s, err := x.snapshot()
		if err != nil {
			return err
		}
		defer s.close()
		near, err := x.nearest(ctx, q.Text)
		if err != nil {
			return err
		}
		r := ranking.Rank(ranking.Parse(q.Text), s.segs, x.log.Load(), ranking.Learned(), near.files)
		x.personalise(&q, r)
		places := r.Places(ranking.Learned(), near.places)
		if hits, stale, err = x.hits(ctx, &q, s, r, places); err != nil {
			return err
		}
		return ctx.Err()
	})
	return hits, stale, err
}

// hits builds the answer. It also returns the files in it that have changed since they were
// indexed.
func (x *Index) hits(ctx context.Context, q *Query, s *snapshot, r *ranking.Ranking, places []ranking.Place) (hits []Hit, stale []string, err error) {
	texts := texts{x: x, ctx: ctx}
	hits = q.pick(r, places, func(f *ranking.File) (*text, string) {
		t := texts.of(s.doc(f.Segment, f.ID))
		if t.stale {
			stale = append(stale, r.Path(f))
		}
		return t, ""
	})
	slices.Sort(stale)
	return hits, slices.Compact(stale), texts.err
}

// pick takes the best places that the query allows. The function textOf reads a file, and may
// return a reason why the places in it were found; a file that cannot be read is left out.
func (q *Query) pick(r *ranking.Ranking, places []ranking.Place, textOf func(*ranking.File) (*text, string)) []Hit {
	k, per := q.K, q.PerFile
	if k <= 0 {
		k = defaultK
	}
	if per == 0 {
		per = defaultPerFile
	}
	var hits []Hit
	count := map[int]int{}
	why := map[int][]string{}
	for i := range places {
		if len(hits) == k {
			break
		}
		p := &places[i]
		f := &r.Files[p.File]
		name := r.Path(f)
		if per > 0 && count[p.File] >= per || !q.allows(name) || q.holds(name, p.Start, p.End) {
			continue
		}
		t, reason := textOf(f)
		if t == nil || t.stale || t.err != nil {
			continue
		}
		if why[p.File] == nil {
			why[p.File] = reasons(f)
			if reason != "" {
				why[p.File] = append([]string{reason}, why[p.File]...)
			}
		}
		count[p.File]++
		hits = append(hits, Hit{
			Path: name, StartLine: p.Start, EndLine: p.End, Symbol: r.Title(p), Score: p.Score,
			Snippet: t.lines(p.Start, p.End), Why: why[p.File],
		})
	}
	return hits
}

func (q *Query) allows(name string) bool {
	if len(q.Under) == 0 {
		return true
	}
	for _, u := range q.Under {
		u = path.Clean(u)
		if u == "." || name == u || strings.HasPrefix(name, u+"/") {
			return true
		}
	}
	return false
}

func (q *Query) holds(name string, start, end int) bool {
	for _, h := range q.Held {
		if h.Path == name && h.StartLine <= start && h.EndLine >= end {
			return true
		}
	}
	return false
}

// reasons describes in words the main contributions to a file's score.
func reasons(f *ranking.File) []string {
	var out []string
	for _, r := range ranking.Learned().Why(f, 4) {
		sign := "+"
		if r.Weight < 0 {
			sign = "−"
		}
		out = append(out, fmt.Sprintf("%s%.1f %s", sign, max(r.Weight, -r.Weight), r.Feature))
	}
	return out
}

// personalise raises the scores of files that are closely related to the files that the task is
// about.
func (x *Index) personalise(q *Query, r *ranking.Ranking) {
	if len(q.Near) == 0 {
		return
	}
	const sameDir, together = 0.4, 1.0
	dirs := map[string]bool{}
	related := map[string]float64{}
	log := x.log.Load()
	for _, n := range q.Near {
		dirs[path.Dir(n)] = true
		if log == nil {
			continue
		}
		if id, ok := log.File(n); ok {
			for _, o := range log.Together(id, 20) {
				name := log.Files()[o.File]
				related[name] = max(related[name], float64(o.Score))
			}
		}
	}
	r.Boost(func(name string) float64 {
		b := together * min(related[name], 1)
		if dirs[path.Dir(name)] {
			b += sameDir
		}
		return b
	})
}
