package coding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// The budget for an answer of the search tool, in tokens. Each place gets a minimum. Of the
// remainder the first place takes half, the next a third of what is then left, and so on; the last
// takes all that is left.
const (
	answerTokens = 2300
	hitTokens    = 90
	wholeHits    = 3 // number of places that are widened to the whole definition
)

// tokens estimates the number of tokens of a text. Code with line numbers has 2.6 to 3 bytes per
// token in the vocabularies of Qwen 2, StarCoder, GPT-2 and DeepSeek Coder.
func tokens(text string) int { return (4*len(text) + 10) / 11 }

// show writes the places and records their lines as shown.
func (l *lookup) show(hits []Hit) string {
	var b strings.Builder
	room := min(max(answerTokens, len(hits)*hitTokens*3/2), l.w.cfg.Limits.ReadBytes/3)
	shown := map[string][]lineRange{}
	for i, h := range hits {
		free := max(0, room-hitTokens*(len(hits)-i))
		switch i {
		case len(hits) - 1:
		case 0:
			free /= 2
		default:
			free /= 3
		}
		s := l.snippet(h, i < wholeHits, hitTokens+free)
		if s.covered(shown[h.Path]) {
			continue // an earlier place was widened and contains this one
		}
		shown[h.Path] = mergeRanges(append(shown[h.Path], lineRange{s.first, s.last}))
		text := s.String()
		room -= tokens(text)
		b.WriteString(text)
		if s.file != nil && s.last >= s.first {
			l.w.views.addFound(l.ctx, s.file.rel, s.file.text, lineRange{s.first, s.last})
		}
	}
	return b.String()
}

// A snippet is the part of a place that is shown: as many whole lines as fit.
type snippet struct {
	hit         Hit
	file        *foundFile // nil if the lines are only known from the index
	first, last int        // lines shown
	end         int        // last line of the place
	lines       []string
}

func (s *snippet) covered(shown []lineRange) bool {
	return slices.ContainsFunc(shown, func(r lineRange) bool { return r.first <= s.first && s.last <= r.last })
}

func (s *snippet) String() string {
	var b strings.Builder
	b.WriteString(s.head())
	for i, line := range s.lines {
		fmt.Fprintf(&b, "  %d\t%s\n", s.first+i, line)
	}
	if s.last < s.end && len(s.lines) > 0 {
		fmt.Fprintf(&b, "  (lines %d-%d are left out)\n", s.last+1, s.end)
	}
	return b.String()
}

func (s *snippet) head() string {
	head := fmt.Sprintf("%s:%d-%d", show.Path(s.hit.Path), s.first, s.end)
	if s.hit.Symbol != "" {
		head += " " + s.hit.Symbol
	}
	return head + "\n"
}

// snippet chooses the lines of a hit to show within a number of tokens.
func (l *lookup) snippet(h Hit, widen bool, room int) *snippet {
	s := &snippet{hit: h, first: h.StartLine, end: max(h.EndLine, h.StartLine)}
	all := strings.Split(strings.TrimRight(h.Snippet, "\r\n"), "\n")
	if h.Snippet == "" {
		all = nil
	} else if f := l.file(h.Path); f.ok && f.has(h) {
		s.file = f
		s.end = min(s.end, f.count())
		if first, end := f.definition(h); widen && f.cost(first, end, l.w.cfg.Limits.LineBytes)+tokens(s.head()) <= room {
			s.first, s.end = first, end
		}
		all = strings.Split(strings.TrimRight(linesOf(f.text, s.first, s.end), "\r\n"), "\n")
	}
	room -= tokens(s.head()) + tokens("  (lines 12345-12345 are left out)\n")
	for i, line := range all {
		line = show.Line(strings.TrimSuffix(line, "\r"), l.w.cfg.Limits.LineBytes)
		if room -= lineCost(s.first+i, line); room < 0 && i > 0 {
			break
		}
		s.lines = append(s.lines, line)
	}
	s.last = s.first + len(s.lines) - 1
	if len(s.lines) == len(all) && len(all) > 0 {
		s.end = max(s.last, s.first) // blank lines at the end do not count
	}
	return s
}

func lineCost(n int, line string) int { return tokens(fmt.Sprintf("  %d\t%s\n", n, line)) }

// foundFile is a file of an answer, as it is now on disk.
type foundFile struct {
	rel  string
	text string
	ok   bool // it is a readable text
	defs []symbols.Def
	read bool // defs are set
}

func (l *lookup) file(p string) *foundFile {
	if f := l.files[p]; f != nil {
		return f
	}
	f := &foundFile{rel: p}
	l.files[p] = f
	if cur, err := l.w.now(p); err == nil {
		f.rel, f.text, f.ok = cur.at.rel, cur.text, true
	}
	return f
}

func (f *foundFile) count() int { return countLines(f.text) }

// lastText returns the last non-blank line from first to last.
func (f *foundFile) lastText(first, last int) int {
	text := strings.TrimRight(linesOf(f.text, first, last), " \t\r\n")
	return first + strings.Count(text, "\n")
}

// nextText returns the next non-blank line after n, or the one after the last. An index may count
// blank lines, and the empty line after the last newline, as part of what precedes them.
func (f *foundFile) nextText(n int) int {
	for line := range strings.Lines(linesOf(f.text, n+1, f.count())) {
		if n++; strings.TrimSpace(line) != "" {
			return n
		}
	}
	return n + 2
}

// has reports whether a hit's text is still where the index found it.
func (f *foundFile) has(h Hit) bool {
	norm := func(s string) string {
		return strings.TrimRight(withLineEnding(strings.TrimPrefix(s, bomUTF8), "\n"), "\n")
	}
	return norm(h.Snippet) == norm(linesOf(f.text, h.StartLine, h.EndLine))
}

func (f *foundFile) cost(first, last, lineBytes int) int {
	n := 0
	for line := range strings.Lines(linesOf(f.text, first, last)) {
		n += lineCost(first, show.Line(strings.TrimRight(line, "\r\n"), lineBytes))
		first++
	}
	return n
}

// definition widens a hit to the whole definition that contains it: the one it is named after, or
// else the innermost one around its first line.
func (f *foundFile) definition(h Hit) (first, last int) {
	if !f.read {
		f.read = true
		if found, err := symbols.Of(f.rel, []byte(f.text)); err == nil {
			f.defs = found.Defs
		}
	}
	first, last = h.StartLine, min(h.EndLine, f.count())
	var best *symbols.Def
	for i := range f.defs {
		d := &f.defs[i]
		switch {
		case d.StartLine > last || d.EndLine < first:
		case d.StartLine >= first && h.Symbol != "" && isCalled(*d, h.Symbol, lastName(h.Symbol)):
			return first, max(last, d.EndLine)
		case d.StartLine <= first && (best == nil || d.StartLine >= best.StartLine):
			best = d
		}
	}
	if best == nil {
		return first, last
	}
	return min(first, best.StartLine), max(last, best.EndLine)
}

// lastName returns a name without its qualifiers.
func lastName(name string) string { return name[strings.LastIndexAny(name, ".:#/")+1:] }

// linesOf returns the lines first to last of a text, from 1, both ends included.
func linesOf(text string, first, last int) string {
	from, n := -1, 1
	if first <= 1 {
		from = 0
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\n' {
			continue
		}
		if n == last {
			if from < 0 {
				return ""
			}
			return text[from : i+1]
		}
		if n++; n == first {
			from = i + 1
		}
	}
	if from < 0 {
		return ""
	}
	return text[from:]
}
