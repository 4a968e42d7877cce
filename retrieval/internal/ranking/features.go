package ranking

import (
	"math"
	"path"
	"strings"

	"github.com/luthier-dev/luthier/retrieval/internal/words"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A feature is a number that rates how well a file answers the query. Most features are between 0
// and 1.
type feature int

const (
	fAll feature = iota // this and the following are scores of the lists, each as a share of the best score
	fNames
	fQuoted
	fJoined
	fTitle
	fPath
	fPathTitle
	fPathJoined
	fDef
	fDefNames
	fDefJoined
	fComment
	fBody
	fCover // share of the total rarity of the query's words that occur in the file
	fCoverTitle
	fChunk
	fTop3
	fChunkTitle
	fTitleLong // the same for long queries, whose first line is the most informative
	fChunkLong
	fMentionFile // the query names the path
	fMentionBase // the query names the file, without its path
	fMentionModule
	fMentionTrace // mentioned in a stack trace
	fStem         // the query contains all words of the file's name
	fDirs         // share of the words in its directories' names that the query contains
	fTest
	fExample
	fBench
	fDoc
	fGenerated
	fVendored
	fConfig
	fScript
	fNotCode
	fDeclares
	fGathers
	fSize
	fMain
	fHistory      // commits with matching messages changed it
	fHistoryShort // the same for short queries
	fHistoryNear  // the same, with newer commits weighted more
	fHistoryRank
	fHistoryText // the messages of all commits of the file, taken together, match
	fChurn
	fRecent
	numFeatures
)

// featureNames are the names under which weights are stored.
var featureNames = [numFeatures]string{
	"all words", "names", "quoted code", "joined words", "title", "path", "title in path", "joined in path",
	"definitions", "names defined", "joined defined", "comments", "body", "coverage", "title's coverage",
	"best chunk", "best three chunks", "title in a chunk", "title (long query)", "best chunk (long query)",
	"path mentioned", "file mentioned", "module mentioned", "in the stack trace", "file's name", "directory's name",
	"test", "example", "benchmark", "documentation", "generated", "vendored", "configuration", "script", "not code",
	"declarations only", "gathers its directory", "size", "main language",
	"commits like it", "commits like it (short query)", "new commits like it", "rank by commits", "its commits' messages", "changes often", "changed lately",
}

// features fills x for the file of a row.
func (r *scored) features(at, row int, h *votes, x *[numFeatures]float32) {
	l := &r.sums[at].rows[row]
	f := &r.segs[at].Info[r.sums[at].files[row]]
	share := func(l *[numLists]float32, k list) float32 { return div(l[k], r.max[k]) }
	for i, k := range [...]list{allWords, allNames, allQuoted, allJoined, allTitle, pathWords, pathTitle, pathJoined, defWords, defNames, defJoined, commentWords, bodyWords} {
		x[int(fAll)+i] = share(l, k)
	}
	x[fCover], x[fCoverTitle] = div(l[coverWords], r.all), div(l[coverTitle], r.head)
	x[fChunk], x[fTop3], x[fChunkTitle] = share(l, bestChunk), share(l, topChunks), share(l, bestTitle)
	long := long(r.q)
	x[fTitleLong], x[fChunkLong] = x[fTitle]*long, x[fChunk]*long
	r.q.mentioned(f, x)
	r.q.named(f, x)
	for i, c := range [...]worktree.Class{worktree.Test, worktree.Example, worktree.Bench, worktree.Doc, worktree.Generated, worktree.Vendored, worktree.Config | worktree.Data, worktree.Script | worktree.Build} {
		x[int(fTest)+i] = truth(f.Class.Any(c))
	}
	x[fNotCode], x[fDeclares], x[fGathers] = truth(f.notCode()), truth(f.declares()), truth(f.gathers())
	x[fSize] = float32(math.Log(float64(f.Lines+1))) / 8
	x[fMain] = f.Main
	if h != nil && f.Logged {
		v := h.of[f.Log]
		x[fHistory], x[fHistoryShort], x[fHistoryNear], x[fHistoryRank] = v.score, v.score*(1-long), v.near, v.rank
		x[fHistoryText] = v.text
	}
	x[fChurn], x[fRecent] = f.Churn, f.Recent
}

// long returns a number between 0, for a short question, and 1, for an issue with its logs.
func long(q *Query) float32 { return float32(1 / (1 + math.Exp(-(float64(q.Len)-40)/15))) }

func div(a, b float32) float32 {
	if b == 0 {
		return 0
	}
	return a / b
}

func truth(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// mentioned rates how well the query's mentions match a path.
func (q *Query) mentioned(f *Info, x *[numFeatures]float32) {
	if len(q.Mentions) == 0 {
		return
	}
	lower := strings.ToLower(f.Path)
	ext := path.Ext(lower)
	parts := strings.Split(strings.TrimSuffix(lower, ext), "/")
	for i := range q.Mentions {
		m := &q.Mentions[i]
		if m.Ext == "" {
			x[fMentionModule] = max(x[fMentionModule], m.module(parts, f.gathers()))
			continue
		}
		k := tail(parts, m.Parts)
		if k == 0 || m.Ext != ext {
			continue
		}
		v := float32(1)
		if k < len(m.Parts) && k < len(parts) { // perhaps a file of the same name in another directory
			v = 0.3 + 0.1*float32(min(k, 5))
		}
		to := fMentionBase
		switch {
		case m.Trace:
			to = fMentionTrace
		case k > 1:
			to = fMentionFile
		}
		x[to] = max(x[to], v)
	}
}

// module rates how well a dotted name matches a path: a.b.c may be the file a/b/c, or a definition
// named c in the file a/b. A file that stands for its directory matches the directory's name.
func (m *Mention) module(parts []string, gathers bool) float32 {
	if gathers && len(parts) > 1 {
		parts = parts[:len(parts)-1]
	}
	for drop := 0; drop <= 2 && drop < len(m.Parts); drop++ {
		p := m.Parts[:len(m.Parts)-drop]
		k := tail(parts, p)
		if k == 0 {
			continue
		}
		v := float32(k) / 3
		if k == len(p) && k > 1 {
			v += 0.4
		}
		if drop > 0 && k == 1 {
			v *= 0.6
		}
		if m.Trace {
			v *= 0.6
		}
		return min(v, 1)
	}
	return 0
}

// tail returns the number of matching names at the end of two paths.
func tail(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// named rates how many words of a file's name and directories the query contains.
func (q *Query) named(f *Info, x *[numFeatures]float32) {
	if all, in := q.count(stemOf(f.Path), path.Base(f.Path)); all > 0 && in == all {
		x[fStem] = 1
	}
	if all, in := q.count(path.Dir(f.Path), path.Dir(f.Path)); all > 0 {
		x[fDirs] = float32(in) / float32(all)
	}
}

// count returns the number of words in a name, and how many of them the query contains. The
// parameter low is the name in lower case; name has the original capitals, which separate its
// words, cut to the length of low.
func (q *Query) count(low, name string) (all, in int) {
	EachTerm(name[:min(len(low), len(name))], &q.split, func(t []byte) {
		if t[0] == words.Whole {
			return
		}
		all++
		if i, ok := q.index[string(t)]; ok && q.Terms[i].said() {
			in++
		}
	})
	return all, in
}

// EachTerm calls fn for each term of a text.
func EachTerm(text string, s *words.Splitter, fn func([]byte)) {
	for i := 0; i < len(text); {
		if !words.InWord(text[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(text) && words.InWord(text[j]) {
			j++
		}
		s.Split([]byte(text[i:j]), fn)
		i = j
	}
}
