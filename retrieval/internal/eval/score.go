package eval

// Depths are the k of recall@k and hit@k.
var Depths = [...]int{1, 5, 10, 20}

// Result rates a ranking on one query. Figures are shares from 0 to 1.
type Result struct {
	ID, Repo, Kind, Leak string
	// Recall is the share of the correct files that are among the first k.
	Recall [len(Depths)]float64
	// RR is one over the rank of the first correct file.
	RR float64
	// Place is set by [Result.WithPlace]; Placed reports whether it is set.
	Place  PlaceResult
	Placed bool
	// Seconds is the duration of the search, if known.
	Seconds float64
}

// Score compares a ranking of paths, best first and with slashes, with the correct files. If a path
// occurs several times, the first one counts; paths outside the query's scope are skipped.
func Score(q Query, ranked []string) Result {
	r := Result{ID: q.ID, Repo: q.Repo, Kind: q.Kind, Leak: q.Leak}
	right := make(map[string]bool, len(q.Files))
	for _, f := range q.Files {
		right[f] = true
	}
	seen := map[string]bool{}
	found := 0
	for _, path := range ranked {
		if seen[path] || !q.InScope(path) {
			continue
		}
		seen[path] = true
		if !right[path] {
			continue
		}
		found++
		rank := len(seen)
		if found == 1 {
			r.RR = 1 / float64(rank)
		}
		for i, k := range Depths {
			if rank <= k {
				r.Recall[i] += 1 / float64(len(right))
			}
		}
	}
	return r
}

// Hit is a chunk of a file that a search found, with its first and last line.
type Hit struct {
	Path      string
	StartLine int
	EndLine   int
}

// PlaceResult rates the found chunks on one query.
type PlaceResult struct {
	// Hit is 1 if one of the first k chunks overlaps a changed range.
	Hit [len(Depths)]float64
	// RR is one over the rank of the first such chunk.
	RR float64
}

// Place compares chunks, best first, with the lines that changed. ok is false for queries
// without such lines.
func Place(q Query, hits []Hit) (r PlaceResult, ok bool) {
	changed := map[string][]Range{}
	for _, h := range q.Hunks {
		if len(h.Ranges) > 0 {
			changed[h.File] = append(changed[h.File], h.Ranges...)
		}
	}
	if len(changed) == 0 {
		return r, false
	}
	rank := 0
	for _, h := range hits {
		if !q.InScope(h.Path) {
			continue
		}
		rank++
		if !h.overlaps(changed[h.Path]) {
			continue
		}
		r.RR = 1 / float64(rank)
		for i, k := range Depths {
			if rank <= k {
				r.Hit[i] = 1
			}
		}
		break
	}
	return r, true
}

// overlaps treats an insertion after a line as a change of that line and the next: both show the
// place.
func (h Hit) overlaps(ranges []Range) bool {
	for _, r := range ranges {
		first, last := r.Start, r.Start+r.Count-1
		if r.Count == 0 {
			first, last = r.Start, r.Start+1
		}
		if h.StartLine <= last && first <= h.EndLine {
			return true
		}
	}
	return false
}

// WithPlace adds the rating of the chunks, if the query lists changed lines.
func (r Result) WithPlace(q Query, hits []Hit) Result {
	r.Place, r.Placed = Place(q, hits)
	return r
}
