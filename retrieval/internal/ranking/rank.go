package ranking

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A File is a file that a search found.
type File struct {
	Segment int
	ID      uint32
	Score   float64
	x       [numFeatures]float32
}

// A Ranking is the answer to a query.
type Ranking struct {
	Files []File // best first
	r     *scored
}

// perList is the number of best files of each list that are ranked with all features.
const perList = 100

var candidateLists = [...]list{allWords, allTitle, allNames, pathWords, defWords, bestChunk, bestTitle, commentWords}

// Rank orders the files of segments for a query. log may be nil. A file is a candidate if it or a
// commit that changed it contains a query word, if it is among the most frequently changed files,
// or if the map also contains it; the value in the map is added to its score.
func Rank(q *Query, segs []Segment, log *Log, m *Model, also map[string]float64) *Ranking {
	r := score(q, segs)
	h := votesFor(q, log)
	out := &Ranking{r: r}
	least := r.busy()
	for at := range segs {
		r.admit(at, h, also, least)
	}
	for _, c := range r.candidates(h, also, least) {
		f := File{Segment: c.seg, ID: r.sums[c.seg].files[c.row]}
		r.features(c.seg, c.row, h, &f.x)
		f.Score = m.file(&f.x) + also[r.path(c)]
		out.Files = append(out.Files, f)
	}
	slices.SortStableFunc(out.Files, func(a, b File) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// busyFiles is the number of most frequently changed files that are considered for every query: a
// query may contain no word of the place that it is about.
const busyFiles = 50

// busy returns the minimum change frequency of the busy files. If the query matches nothing, it
// returns a number that no file reaches.
func (r *scored) busy() float32 {
	const none = 2 // more than any file has
	if r.max[allWords] == 0 {
		return none // the query matches nothing, so the answer stays empty
	}
	top := make([]float32, 0, busyFiles+1)
	for at := range r.segs {
		s := &r.segs[at]
		for i := range s.Info {
			c := s.Info[i].Churn
			if c == 0 || len(top) == busyFiles && c <= top[len(top)-1] || s.Info[i].Class.Has(worktree.Test) || s.Live != nil && !s.Live(uint32(i)) {
				continue
			}
			j, _ := slices.BinarySearchFunc(top, c, func(a, b float32) int { return cmp.Compare(b, a) })
			if top = slices.Insert(top, j, c); len(top) > busyFiles {
				top = top[:busyFiles]
			}
		}
	}
	if len(top) == 0 {
		return none
	}
	return top[len(top)-1]
}

// admit adds rows for files that only the log or the map also contains.
func (r *scored) admit(at int, h *votes, also map[string]float64, busy float32) {
	d := &r.sums[at]
	for i := range r.segs[at].Info {
		f := &r.segs[at].Info[i]
		voted := h != nil && f.Logged && h.of[f.Log].rank > 0
		if d.slot[i] != 0 || !voted && f.Churn < busy && (len(also) == 0 || also[f.Path] == 0) || r.segs[at].Live != nil && !r.segs[at].Live(uint32(i)) {
			continue
		}
		d.files = append(d.files, uint32(i))
		d.rows = append(d.rows, [numLists]float32{})
		d.slot[i] = int32(len(d.rows))
	}
}

type rowRef struct{ seg, row int }

// candidates returns the rows that rank high in any list, in a fixed order.
func (r *scored) candidates(h *votes, also map[string]float64, busy float32) []rowRef {
	seen := map[rowRef]bool{}
	for _, l := range candidateLists {
		top := topRows{r: r}
		for s := range r.sums {
			for i := range r.sums[s].rows {
				top.add(scoredRow{rowRef{s, i}, r.sums[s].rows[i][l]})
			}
		}
		for _, c := range top.rows {
			seen[c.rowRef] = true
		}
	}
	for s := range r.sums {
		for i, f := range r.sums[s].files {
			info := &r.segs[s].Info[f]
			if info.Churn >= busy || h != nil && info.Logged && h.of[info.Log].rank > 1/(1+perList/3.) || len(also) > 0 && also[info.Path] != 0 {
				seen[rowRef{s, i}] = true
			}
		}
	}
	out := make([]rowRef, 0, len(seen))
	for c := range seen {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b rowRef) int { return cmp.Compare(r.path(a), r.path(b)) })
	return out
}

func (r *scored) path(c rowRef) string { return r.segs[c.seg].Info[r.sums[c.seg].files[c.row]].Path }

// topRows is a heap of the best rows of one list, the lowest first. Of files with equal scores,
// those whose paths sort first are kept, so that the answer does not depend on how the tree is
// split into segments.
type topRows struct {
	r    *scored
	rows []scoredRow
}

type scoredRow struct {
	rowRef
	score float32
}

func (t *topRows) Len() int           { return len(t.rows) }
func (t *topRows) Less(i, j int) bool { return t.below(t.rows[i], t.rows[j]) }
func (t *topRows) Swap(i, j int)      { t.rows[i], t.rows[j] = t.rows[j], t.rows[i] }
func (t *topRows) Push(any)           { panic("not used") }
func (t *topRows) Pop() any           { panic("not used") }

func (t *topRows) below(a, b scoredRow) bool {
	return a.score < b.score || a.score == b.score && t.r.path(a.rowRef) > t.r.path(b.rowRef)
}

func (t *topRows) add(c scoredRow) {
	switch {
	case c.score <= 0 || len(t.rows) == perList && !t.below(t.rows[0], c):
	case len(t.rows) < perList:
		t.rows = append(t.rows, c)
		if len(t.rows) == perList {
			heap.Init(t)
		}
	default:
		t.rows[0] = c
		heap.Fix(t, 0)
	}
}

// Boost adds fn's result for the path of each file to its score, and orders the files again.
func (k *Ranking) Boost(fn func(path string) float64) {
	for i := range k.Files {
		k.Files[i].Score += fn(k.Path(&k.Files[i]))
	}
	slices.SortStableFunc(k.Files, func(a, b File) int { return cmp.Compare(b.Score, a.Score) })
}

// Keep drops the files for which fn returns false.
func (k *Ranking) Keep(fn func(path string) bool) {
	k.Files = slices.DeleteFunc(k.Files, func(f File) bool { return !fn(k.Path(&f)) })
}
