package gitlog

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Params tune a search. Zero means the default stated for each parameter.
type Params struct {
	// K1 and B are the parameters of BM25. The defaults are 3 and 0.9, since a message is short and
	// a word that occurs twice in it means more than in a file.
	K1, B float32
	// SubjectWeight is the number of times a word of the subject counts; default 2.
	SubjectWeight float32
	// HalfLife is the age, measured from the newest commit, at which a commit counts half; by
	// default age does not matter.
	HalfLife time.Duration
	// Commits is the number of best commits that vote for files; default 50.
	Commits int
	// FileExponent weakens the votes of a commit of n files: each is score / (1+n)^FileExponent;
	// default 1.
	FileExponent float32
	// RankDecay multiplies the votes of the commit of rank r, where the best has rank 0, by 1 / (1
	// + r*RankDecay); default 0.1.
	RankDecay float32
	// Deleted keeps files that are deleted at the head.
	Deleted bool
	// Weights holds the weight of each word, in the order of the words; default 1.
	Weights []float32
}

func (p Params) withDefaults() Params {
	p.K1 = orDefault(p.K1, 3)
	p.B = orDefault(p.B, 0.9)
	p.SubjectWeight = orDefault(p.SubjectWeight, 2)
	p.Commits = orDefault(p.Commits, 50)
	p.FileExponent = orDefault(p.FileExponent, 1)
	p.RankDecay = orDefault(p.RankDecay, 0.1)
	return p
}

// CommitScore is a commit that a query found.
type CommitScore struct {
	Commit int // number for [Log.Commit]
	Score  float32
}

// FileScore is a file that a query found.
type FileScore struct {
	File  FileID
	Score float32
}

// Search returns up to n commits whose messages contain the words, best first. The words must be
// made by the tokenizer of the options; repeated words count once. Commits without files are not
// found.
func (l *Log) Search(words []string, n int, p Params) []CommitScore {
	if len(l.commits) == 0 || n <= 0 {
		return nil
	}
	p = p.withDefaults()
	x := l.message()
	scores := l.getScores()
	defer l.scores.Put(scores)
	x.score(*scores, words, p)
	return topScores(*scores, n, l.ageWeight(p.HalfLife))
}

// getScores returns a slice with a zero for each commit.
func (l *Log) getScores() *[]float32 {
	s, _ := l.scores.Get().(*[]float32)
	if s == nil {
		s = new([]float32)
		*s = make([]float32, len(l.commits))
	}
	clear(*s)
	return s
}

// score adds the BM25 score of each word to the commits that contain it.
func (x *messageIndex) score(scores []float32, words []string, p Params) {
	if x.commits == 0 {
		return
	}
	meanLen := (p.SubjectWeight*float32(x.subjects) + float32(x.bodies)) / float32(x.commits)
	// A score is idf * tf*(k1+1) / (tf + k1*(1-b + b*len/mean)); tf has few values.
	var tfs [256]float32
	for i := range tfs {
		tfs[i] = p.SubjectWeight*float32(i>>bodyBits) + float32(i&maxBodyTF)
	}
	flat, slope := p.K1*(1-p.B), p.K1*p.B/max(meanLen, 1)
	seen := make(map[string]bool, len(words))
	for i, w := range words {
		t, ok := x.terms[w]
		if !ok || seen[w] {
			continue
		}
		seen[w] = true
		postings := x.postings[x.at[t]:x.at[t+1]]
		df := float64(len(postings))
		weight := float32(math.Log1p((float64(x.commits)-df+0.5)/(df+0.5))) * (p.K1 + 1)
		if i < len(p.Weights) {
			weight *= p.Weights[i]
		}
		for _, post := range postings {
			c, tf := post>>8, tfs[post&0xff]
			length := p.SubjectWeight*float32(x.subjectLen[c]) + float32(x.bodyLen[c])
			scores[c] += weight * tf / (tf + flat + slope*length)
		}
	}
}

// ageWeight returns a function that returns the weight of commit i for its age. It returns nil if
// age does not matter.
func (l *Log) ageWeight(halfLife time.Duration) func(i int) float32 {
	if halfLife <= 0 {
		return nil
	}
	newest, perSecond := l.newest(), -1/halfLife.Seconds()
	return func(i int) float32 {
		age := max(newest-l.store.commits[l.commits[i]].time, 0)
		return float32(math.Exp2(float64(age) * perSecond))
	}
}

// topScores returns the n best commits; of equal ones the newer comes first.
func topScores(scores []float32, n int, weigh func(int) float32) []CommitScore {
	best := make([]CommitScore, 0, min(2*n, len(scores)))
	least := float32(0)
	for i, s := range scores {
		if s <= least {
			continue // a weight can only lower the score
		}
		if weigh != nil {
			if s *= weigh(i); s <= least {
				continue
			}
		}
		if best = append(best, CommitScore{i, s}); len(best) == 2*n {
			sortScores(best)
			best, least = best[:n], best[n-1].Score
		}
	}
	sortScores(best)
	return best[:min(n, len(best))]
}

func sortScores(s []CommitScore) {
	slices.SortFunc(s, func(a, b CommitScore) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Commit, b.Commit))
	})
}

// ScoreFiles lets the best commits for the words vote for their files, and returns the files, best
// first.
func (l *Log) ScoreFiles(words []string, p Params) []FileScore {
	p = p.withDefaults()
	by := map[FileID]float32{}
	for rank, c := range l.Search(words, p.Commits, p) {
		files := l.filesOf[l.fileAt[c.Commit]:l.fileAt[c.Commit+1]]
		vote := c.Score / float32(math.Pow(float64(1+len(files)), float64(p.FileExponent))) / (1 + float32(rank)*p.RankDecay)
		for _, f := range files {
			if p.Deleted || !l.deleted[f] {
				by[f] += vote
			}
		}
	}
	out := make([]FileScore, 0, len(by))
	for f, s := range by {
		out = append(out, FileScore{f, s})
	}
	slices.SortFunc(out, func(a, b FileScore) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.File, b.File))
	})
	return out
}
