package gitlog

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// fileCommits lists the commits of each file, newest first: those of file f are
// commits[at[f]:at[f+1]].
type fileCommits struct {
	at      []uint32
	commits []uint32
}

func (l *Log) buildByFile() fileCommits {
	fc := fileCommits{at: make([]uint32, len(l.files)+1), commits: make([]uint32, len(l.filesOf))}
	for _, f := range l.filesOf {
		fc.at[f+1]++
	}
	for f := range l.files {
		fc.at[f+1] += fc.at[f]
	}
	next := slices.Clone(fc.at)
	for i := range l.commits {
		for _, f := range l.filesOf[l.fileAt[i]:l.fileAt[i+1]] {
			fc.commits[next[f]] = uint32(i)
			next[f]++
		}
	}
	return fc
}

// CommitsOf returns the numbers of the commits that changed a file, newest first.
func (l *Log) CommitsOf(f FileID) []uint32 {
	fc := l.byFile()
	return fc.commits[fc.at[f]:fc.at[f+1]]
}

// Churn returns for each file the number of commits that changed it.
func (l *Log) Churn() []uint32 {
	out := make([]uint32, len(l.files))
	for _, f := range l.filesOf {
		out[f]++
	}
	return out
}

// LastChange returns for each file the time of its last change, in seconds since 1970. It is zero
// if only commits with too many files changed it.
func (l *Log) LastChange() []int64 {
	out := make([]int64, len(l.files))
	for i, c := range l.commits {
		t := l.store.commits[c].time
		for _, f := range l.filesOf[l.fileAt[i]:l.fileAt[i+1]] {
			out[f] = max(out[f], t)
		}
	}
	return out
}

// Recency returns for each file the sum of the weights of the commits that changed it. The weight
// halves with each halfLife of age, measured from the newest commit, not from now.
func (l *Log) Recency(halfLife time.Duration) []float32 {
	out := make([]float32, len(l.files))
	newest := l.newest()
	for i, c := range l.commits {
		w := float32(1)
		if halfLife > 0 {
			age := float64(newest - l.store.commits[c].time)
			w = float32(math.Exp2(-max(age, 0) / halfLife.Seconds()))
		}
		for _, f := range l.filesOf[l.fileAt[i]:l.fileAt[i+1]] {
			out[f] += w
		}
	}
	return out
}

func (l *Log) newest() int64 {
	t := int64(math.MinInt64)
	for _, c := range l.commits {
		t = max(t, l.store.commits[c].time)
	}
	return t
}

// Related is a file that tends to change together with another one.
type Related struct {
	File FileID
	// Commits is the number of commits that changed both.
	Commits int
	// Score is the share of the other file's commits that also changed this one. A commit of n
	// files counts 1/(n-1) on both sides, and the score is damped if there are few commits.
	Score float32
}

// Together returns up to n files that change together with f, best first.
func (l *Log) Together(f FileID, n int) []Related {
	by := map[FileID]*Related{}
	total := float32(0)
	for _, c := range l.CommitsOf(f) {
		files := l.filesOf[l.fileAt[c]:l.fileAt[c+1]]
		w := 1 / float32(max(len(files)-1, 1))
		total += w
		for _, g := range files {
			if g == f {
				continue
			}
			if by[g] == nil {
				by[g] = &Related{File: g}
			}
			by[g].Commits++
			by[g].Score += w
		}
	}
	out := make([]Related, 0, len(by))
	for _, r := range by {
		r.Score /= total + togetherPrior
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Related) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.File, b.File))
	})
	return out[:min(n, len(out))]
}

// togetherPrior damps the share of a file with few commits.
const togetherPrior = 1
