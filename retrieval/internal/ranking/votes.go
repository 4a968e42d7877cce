package ranking

import (
	"time"

	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
	"github.com/luthier-dev/luthier/retrieval/internal/words"
)

// TokenizerKey identifies the behaviour of LogWords; change it whenever LogWords changes.
const TokenizerKey = "ranking-2"

// LogWords returns the terms of a commit's message. It is used as gitlog.Options.Tokenizer.
func LogWords(text string) []string {
	var s words.Splitter
	var out []string
	EachTerm(text, &s, func(t []byte) { out = append(out, string(t)) })
	return out
}

// votes holds the files that were changed by commits whose messages resemble the query.
type votes struct {
	of []vote // by file number of the log
}

type vote struct {
	score float32 // score as a share of the best score
	rank  float32 // 1 for the first file, decreasing with the number of files above
	near  float32 // the score computed with nearKnobs
	text  float32 // score of all messages of the file's commits, as a share of the best
}

// nearKnobs are the parameters of a second search of the messages, besides the one with the log's
// defaults: newer commits count more, and commits of many files count more than with the defaults.
var nearKnobs = gitlog.Params{K1: 1.2, B: 0.5, HalfLife: 6 * 365 * 24 * time.Hour, FileExponent: 0.5}

// maxVotes limits the files that are taken from the log.
const maxVotes = 200

func votesFor(q *Query, log *Log) *votes {
	if log == nil {
		return nil
	}
	terms := make([]string, 0, len(q.Terms))
	p := gitlog.Params{}
	for i := range q.Terms {
		t := &q.Terms[i]
		if w := t.weight() + t.W[Title]; w > 0 {
			terms = append(terms, t.Text)
			p.Weights = append(p.Weights, w)
		}
	}
	found := log.ScoreFiles(terms, p)
	v := &votes{of: make([]vote, len(log.Files()))}
	for i, f := range found[:min(len(found), maxVotes)] {
		if found[0].Score <= 0 {
			break
		}
		v.of[f.File] = vote{score: f.Score / found[0].Score, rank: 1 / (1 + float32(i)/3)}
	}
	near := nearKnobs
	near.Weights = p.Weights
	found = log.ScoreFiles(terms, near)
	for _, f := range found[:min(len(found), maxVotes)] {
		v.of[f.File].near = f.Score / max(found[0].Score, 1e-6)
	}
	texts := log.ScoreTexts(terms, p.Weights)
	if most := largest(texts); most > 0 {
		for f, s := range texts {
			v.of[f].text = s / most
		}
	}
	return v
}
