package gitlog

import (
	"cmp"
	"math"
	"slices"
)

// fileTexts treats the messages of all commits of a file as one text. A message counts less for a
// file the more files its commit changed.
type fileTexts struct {
	length []float32 // of each file's text, in words
	mean   float32   // mean length of the files that have a text
	files  int
}

const (
	maxTextFiles    = 15  // commits with more files are ignored here
	textBody        = 0.5 // weight of a word in the body relative to one in the subject
	maxTextPostings = 200_000
)

// textShare is the weight of a message for each of n files.
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

// ScoreTexts returns for each file the score of all messages of the commits that changed it, as if
// they were one text (BM25 with k1 1.2 and b 0.6). A deleted file scores 0. [Log.ScoreFiles] finds
// commits that match the words; ScoreTexts finds files whose commits, taken together, match them.
// The parameter weights has the weight of each word; if there are many words, the most common ones
// are left out.
func (l *Log) ScoreTexts(words []string, weights []float32) []float32 {
	const k1, b = 1.2, 0.6
	x, texts := l.message(), l.texts()
	scores := make([]float32, len(l.files))
	count := make([]float32, len(l.files)) // occurrences of one word
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

// foundWord is a query word that the index of messages contains.
type foundWord struct {
	at       int // index among the query's words
	postings []uint32
}

// rarest looks up words, each once, the rarest first. It stops before their postings together
// exceed the parameter most.
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
