package gitlog

import (
	"cmp"
	"math"
	"slices"
)

// fileTexts are the messages of the commits of each file, taken together as one text. A
// message counts for a file the less the more files its commit changed.
type fileTexts struct {
	length []float32 // in words
	mean   float32   // of the files that have any
	files  int
}

const (
	maxTextFiles    = 15  // commits of more files say nothing of each
	textBody        = 0.5 // what a word of a body counts beside one of a subject
	maxTextPostings = 200_000
)

// textShare is what a message counts for each of n files.
var textShare = func() (s [maxTextFiles + 1]float32) {
	for n := 1; n < len(s); n++ {
		s[n] = float32(1 / math.Sqrt(float64(n)))
	}
	return s
}()

func (l *Log) buildTexts() fileTexts {
	x := l.message()
	t := fileTexts{length: make([]float32, len(l.files))}
	for i := range l.commits {
		files := l.filesOf[l.fileAt[i]:l.fileAt[i+1]]
		if len(files) > maxTextFiles {
			continue
		}
		n := (float32(x.subjectLen[i]) + textBody*float32(x.bodyLen[i])) * textShare[len(files)]
		for _, f := range files {
			t.length[f] += n
		}
	}
	for _, n := range t.length {
		if n > 0 {
			t.mean += n
			t.files++
		}
	}
	t.mean /= float32(max(t.files, 1))
	return t
}

// ScoreTexts returns the score of each file by all messages of the commits that changed
// it, as if they were one text (BM25 with k1 1.2 and b 0.6); of one that is gone it is 0.
// [Log.ScoreFiles] asks which commits are like the words, this asks what a file's commits
// speak of. weights are those
// of the words, in their order; the most common words are left out where there are many.
func (l *Log) ScoreTexts(words []string, weights []float32) []float32 {
	const k1, b = 1.2, 0.6
	x, texts := l.message(), l.texts()
	scores := make([]float32, len(l.files))
	count := make([]float32, len(l.files)) // of one word
	var touched []FileID
	for _, w := range x.rarest(words, maxTextPostings) {
		touched = touched[:0]
		for _, post := range w.postings {
			c := post >> 8
			files := l.filesOf[l.fileAt[c]:l.fileAt[c+1]]
			if len(files) > maxTextFiles {
				continue
			}
			n := (float32(post&0xff>>bodyBits) + textBody*float32(post&maxBodyTF)) * textShare[len(files)]
			for _, f := range files {
				if count[f] == 0 {
					touched = append(touched, f)
				}
				count[f] += n
			}
		}
		df := float64(len(touched))
		weight := float32(math.Log1p((float64(texts.files)-df+0.5)/(df+0.5))) * (k1 + 1)
		if w.at < len(weights) {
			weight *= weights[w.at]
		}
		for _, f := range touched {
			if n := count[f]; !l.deleted[f] {
				scores[f] += weight * n / (n + k1*(1-b+b*texts.length[f]/texts.mean))
			}
			count[f] = 0
		}
	}
	return scores
}

// foundWord is a word of a query in the index of messages.
type foundWord struct {
	at       int // among the query's words
	postings []uint32
}

// rarest looks words up, each once, the rarest first, as many as have so many postings
// together.
func (x *messageIndex) rarest(words []string, most int) []foundWord {
	var out []foundWord
	seen := map[string]bool{}
	for i, w := range words {
		if t, ok := x.terms[w]; ok && !seen[w] {
			seen[w] = true
			out = append(out, foundWord{i, x.postings[x.at[t]:x.at[t+1]]})
		}
	}
	slices.SortStableFunc(out, func(a, b foundWord) int { return cmp.Compare(len(a.postings), len(b.postings)) })
	for i := range out {
		if most -= len(out[i].postings); most < 0 {
			return out[:i]
		}
	}
	return out
}
