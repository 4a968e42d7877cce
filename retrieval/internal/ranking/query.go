package ranking

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/retrieval/internal/words"
)

// A View is one way to weight the words of a query.
type View uint8

// The views of a query.
const (
	Title  View = iota // words of the first line
	Words              // all words of prose, with common ones dampened
	Names              // identifiers and words quoted as code
	Quoted             // words of code blocks, stack traces and logs
	Joined             // neighbours in prose as one identifier: "mock settings" as MockSettings
	numViews
)

// A Term is a word of a query with its weight in each view.
type Term struct {
	Text string
	W    [numViews]float32
}

// quotedShare is the factor by which the weight of a quoted word counts among all words.
const quotedShare = 0.35

// weight returns the weight of the word among all words.
func (t *Term) weight() float32 { return max(t.W[Words], t.W[Names], quotedShare*t.W[Quoted]) }

// said reports whether a word occurs in the text itself, rather than only as a joined pair of
// neighbours.
func (t *Term) said() bool { return t.W[Title]+t.W[Words]+t.W[Names]+t.W[Quoted] > 0 }

// A Query is a parsed query text.
type Query struct {
	Terms    []Term
	Mentions []Mention
	TitleLen int // number of distinct terms in the first line
	Len      int // number of distinct terms
	index    map[string]int
	split    words.Splitter
	spans    []span
}

// A Mention is a part of a query that looks like a file's name or a module's.
type Mention struct {
	Parts []string // path components or module names in lower case, the last without its extension
	Ext   string   // such as ".py"; "" if none was written
	Line  int      // from 1; 0 if none was given
	Trace bool     // in a stack trace
}

type span struct {
	text  string
	title bool
	code  bool // inside a fence, a trace or a log
	tick  bool // between backticks
}

var (
	fenceLine = regexp.MustCompile("^\\s*(```|~~~)")
	traceLine = regexp.MustCompile(`^\s*(File "[^"]+", line \d+|at [\w$.<>\[\] ]+\([^)]*\)|at .*:\d+:\d+|\d+: +0x|#\d+ +0x|goroutine \d+|Traceback \(|[\w./-]+\.\w+:\d+(:\d+)?:? |>>> |\$ |In \[\d+\]|Out\[\d+\])`)
	ticks     = regexp.MustCompile("`([^`\n]+)`")
	urlText   = regexp.MustCompile(`https?://[^\s)>\]]+`)
	comment   = regexp.MustCompile(`(?s)<!--.*?-->`)
	pathText  = regexp.MustCompile(`[A-Za-z0-9_$~@+-]*(?:[./\\]+[A-Za-z0-9_$@+-]+)+`)
	lineAfter = regexp.MustCompile(`^(?::|", line |#L|\(|:\()(\d+)`)
	blobURL   = regexp.MustCompile(`/(?:blob|tree|raw)/[^/]+/([^\s?#)>\]]+)`)
)

// Parse parses a query: a question, an issue's text, or a commit message.
func Parse(text string) *Query {
	q := &Query{index: map[string]int{}}
	if len(text) > 1<<16 {
		text = text[:1<<16]
	}
	text = plainSigns(comment.ReplaceAllString(text, " "))
	q.cut(text)
	var s words.Splitter
	for _, sp := range q.spans {
		q.words(&s, sp)
		q.mentions(sp)
	}
	q.finish()
	return q
}

// plainSigns replaces every non-ASCII sign with a space: a dash or a curly quote is not part of a
// word, but the single bytes of its encoding could be mistaken for letters.
func plainSigns(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) {
			return ' '
		}
		return r
	}, text)
}

// cut splits a text into spans of prose and code.
func (q *Query) cut(text string) {
	fence, first := false, true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if fenceLine.MatchString(line) {
			fence = !fence
			continue
		}
		sp := span{text: line, title: first}
		first = false
		switch {
		case fence, !sp.title && (traceLine.MatchString(line) || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")):
			sp.code = true
			q.spans = append(q.spans, sp)
			continue
		}
		rest := line
		for {
			m := ticks.FindStringSubmatchIndex(rest)
			if m == nil {
				break
			}
			q.spans = append(q.spans, span{text: rest[:m[0]], title: sp.title}, span{text: rest[m[2]:m[3]], title: sp.title, tick: true})
			rest = rest[m[1]:]
		}
		sp.text = rest
		q.spans = append(q.spans, sp)
	}
}

// words adds the terms of a span.
func (q *Query) words(s *words.Splitter, sp span) {
	text := []byte(sp.text)
	var before []byte // the previous word, in lower case
	if !sp.code {
		text = urlText.ReplaceAll(text, []byte(" "))
	}
	for i := 0; i < len(text); {
		if !words.InWord(text[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(text) && words.InWord(text[j]) {
			j++
		}
		w := text[i:j]
		if !sp.code && j-i < 24 {
			low := bytes.ToLower(w)
			if before != nil && i > 0 && (text[i-1] == ' ' || text[i-1] == '-') {
				for _, s := range [...][]byte{low, bytes.TrimSuffix(low, []byte("s"))} {
					t := append(append([]byte{words.Whole}, before...), s...)
					tm := q.term(t)
					tm.W[Joined]++
					if sp.title {
						tm.W[Joined]++
					}
					if len(s) == len(low) && !bytes.HasSuffix(low, []byte("s")) {
						break
					}
				}
			}
			before = low
		} else {
			before = nil
		}
		name := sp.tick || j < len(text) && text[j] == '(' || words.Compound(w) ||
			j+1 < len(text) && (text[j] == '.' || text[j] == ':' && text[j+1] == ':') && words.InWord(text[min(j+1+btoi(text[j] == ':'), len(text)-1)])
		s.Split(w, func(t []byte) {
			whole := t[0] == words.Whole
			tm := q.term(t)
			switch {
			case sp.code:
				tm.W[Quoted]++
				if whole {
					tm.W[Names] += 0.5
				}
				return
			case whole:
				tm.W[Names]++
				if sp.title {
					tm.W[Names]++
				}
				return
			}
			if sp.title {
				tm.W[Title]++
			}
			tm.W[Words]++
			if name {
				tm.W[Names] += 0.5
			}
		})
		i = j
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (q *Query) term(t []byte) *Term {
	if i, ok := q.index[string(t)]; ok {
		return &q.Terms[i]
	}
	q.index[string(t)] = len(q.Terms)
	q.Terms = append(q.Terms, Term{Text: string(t)})
	return &q.Terms[len(q.Terms)-1]
}

// mentions finds text that looks like a path or a dotted module.
func (q *Query) mentions(sp span) {
	text := sp.text
	for _, m := range blobURL.FindAllStringSubmatchIndex(text, -1) {
		q.mention(text[m[2]:m[3]], text[m[3]:], sp.code)
	}
	text = urlText.ReplaceAllString(text, " ")
	for _, m := range pathText.FindAllStringIndex(text, -1) {
		q.mention(text[m[0]:m[1]], text[m[1]:], sp.code)
	}
}

func (q *Query) mention(s, after string, trace bool) {
	if len(q.Mentions) >= 64 {
		return
	}
	m := Mention{Trace: trace}
	if g := lineAfter.FindStringSubmatch(after); g != nil {
		for _, c := range g[1] {
			m.Line = min(m.Line*10+int(c-'0'), 1<<24)
		}
	}
	s = strings.ToLower(strings.ReplaceAll(s, "\\", "/"))
	if i := strings.LastIndexByte(s, '.'); i > strings.LastIndexByte(s, '/') && words.LangOf("x"+s[i:]) != words.Plain {
		m.Ext = s[i:]
		s = s[:i]
	}
	split := "/"
	if !strings.Contains(s, "/") && m.Ext == "" {
		split = "."
	}
	for _, p := range strings.Split(s, split) {
		if p = strings.Trim(p, "."); p != "" {
			m.Parts = append(m.Parts, p)
		}
	}
	if len(m.Parts) > 0 && (len(m.Parts) > 1 || m.Ext != "") {
		q.Mentions = append(q.Mentions, m)
	}
}

// finish dampens repeated words and counts the terms.
func (q *Query) finish() {
	for i := range q.Terms {
		t := &q.Terms[i]
		if t.W[Title] > 0 {
			q.TitleLen++
		}
		for v := range t.W {
			if t.W[v] > 0 {
				t.W[v] = float32(1 + math.Log(float64(max(t.W[v], 0.4))))
				t.W[v] = max(t.W[v], 0.3)
			}
		}
	}
	for i := range q.Terms {
		if q.Terms[i].said() {
			q.Len++
		}
	}
}

// Count sums the weights of the distinct query words that a file has in its path or text. It serves
// searches without an index, for which word frequencies are unknown.
func (q *Query) Count(l *words.Lexer, s *words.Splitter, path string, content []byte) float32 {
	seen := make([]bool, len(q.Terms))
	var sum float32
	add := func(t []byte) {
		if i, ok := q.index[string(t)]; ok && !seen[i] {
			seen[i] = true
			sum += max(q.Terms[i].weight(), q.Terms[i].W[Joined]) * float32(1+len(t)/4)
		}
	}
	EachTerm(path, s, add)
	for _, k := range l.Read(words.LangOf(path), content).Tokens {
		s.Split(k.Of(content), add)
	}
	return sum
}
