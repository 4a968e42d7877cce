package digest

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/ansi"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

// An item is a candidate line of a digest.
type item struct {
	kind  Kind
	text  string
	line  int
	lead  string // white space before text in the output; only if laid
	laid  bool   // the text begins as the line of the output does, without wrappers' tags
	rank  int    // items with lower ranks are taken first
	block int    // lines of a block are written together, in the order of blocks
	seat  int    // position within its block
	cost  int
	taken bool
}

type selection struct {
	budget int
	from   *numbered // the output
	items  []item
	blocks int
}

// Ranks, in the order in which items are taken.
const (
	rankExit = iota
	rankSummary
	rankVerdict
	rankName
	rankMessage
	rankPlace
	rankFrame
	rankDetail
	rankProject
	rankMore
	rankError
	rankHint
	rankWarning
	rankTail
	rankRare
	rankNever
)

func (s *selection) add(kind Kind, text string, line, rank, block, seat int) {
	text = strings.ToValidUTF8(shorten(ansi.Line(text), longest(kind)), "\uFFFD")
	if text == "" {
		return
	}
	lead, laid := s.from.lead(line, text)
	s.items = append(s.items, item{kind: kind, text: text, line: line, lead: lead, laid: laid, rank: rank, block: block, seat: seat,
		cost: tokencount.Estimate(lead+text) + 1})
}

// longest returns the maximum number of bytes that are kept of a line of kind k.
func longest(k Kind) int {
	switch k {
	case KindTest:
		return 300
	case KindError:
		return 240
	}
	return 160
}

// shorten cuts off the end of a long line, at a rune boundary.
func shorten(s string, most int) string {
	s = strings.TrimSpace(s)
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// collect makes items from the findings, and reports whether none of them is certain.
func (s *selection) collect(p *parser, in Input) (unknown bool) {
	if in.ExitCode != 0 {
		s.add(KindExit, "exit code "+strconv.Itoa(in.ExitCode), 0, rankExit, 0, 0)
	}
	room := 4 // limit of failing summaries at the top; the last ones are the most informative
	for i, n := range slices.Backward(p.summaries) {
		rank := rankError
		if failing(n.text) || strings.HasPrefix(n.text, "BUILD") {
			if room--; room >= 0 {
				rank = rankSummary
			}
		}
		s.add(KindSummary, n.text, n.line, rank, 0, i+1)
	}
	s.blocks = 2
	tests := 0
	for _, f := range p.findings {
		if f.name != "" {
			tests++
		}
	}
	s.tests(p)
	if s.loose(p, tests) {
		return false
	}
	s.unknown(in.Text)
	return len(p.summaries) == 0
}

// unknown adds lines of an output in which nothing certain was found.
func (s *selection) unknown(text string) {
	tail, seldom := rare(text)
	b := s.blocks
	for i, n := range slices.Backward(tail) {
		s.add(KindLine, n.text, n.line, rankTail, b, i)
	}
	for i, n := range slices.Backward(seldom) {
		s.add(KindLine, n.text, n.line, rankRare, b, -len(seldom)+i)
	}
	s.blocks++
}

// frames adds the innermost frame of a trace, and the innermost frames that belong to the project.
func (s *selection) frames(t *trace, b, seat, rank int) {
	if len(t.frames) == 0 {
		return
	}
	order := t.frames
	if t.inner {
		order = slices.Clone(order)
		slices.Reverse(order)
	}
	for len(order) > 1 && machinery(order[0].text) {
		order = order[1:]
	}
	s.add(KindFrame, trim(order[0].text), order[0].line, rank, b, seat)
	own := 0
	for i, n := range order {
		switch {
		case i == 0 || strange(n.text):
			continue
		case own == 0:
			rank = max(rank, rankProject)
		case own < 6:
			rank = rankMore
		default:
			return
		}
		own++
		s.add(KindFrame, trim(n.text), n.line, rank, b, seat)
	}
}

// machinery reports whether a frame is one with which Go reports a panic of a test. These frames
// are the same in every trace.
func machinery(frame string) bool {
	return strings.Contains(frame, "/src/testing/testing.go") || strings.Contains(frame, "/src/runtime/") || strings.Contains(frame, "_testmain.go")
}

// trim shortens a library frame to the place in it.
func trim(t string) string {
	if strings.HasPrefix(t, "at ") && strange(t) {
		if at, ok := findPlace(t); ok {
			return "at " + t[at.from:at.to]
		}
	}
	return t
}

// mostHints limits the warnings and uncertain errors kept if certain ones exist; the last ones are
// kept.
const mostHints = 12

// loose adds the errors that belong to no test, and reports whether anything certain was found at
// all.
func (s *selection) loose(p *parser, tests int) bool {
	sure, hints := tests, 0
	for _, f := range p.findings {
		if f.name == "" && f.strength >= strengthNamed {
			sure++
		} else if f.name == "" {
			hints++
		}
	}
	for _, f := range p.findings {
		if f.name != "" {
			continue
		}
		if f.strength < strengthNamed && sure > 0 {
			if hints--; hints >= mostHints {
				continue
			}
		}
		rank := rankError
		switch {
		case f.strength >= strengthVerdict:
			rank = rankVerdict
		case f.strength == strengthError && tests == 0:
			rank = rankMessage
		case f.strength == strengthNamed && tests == 0:
			rank = rankMessage
		case f.strength == strengthWarning:
			rank = rankWarning
		case f.strength <= strengthLog:
			rank = rankHint
		}
		b := s.blocks
		s.blocks++
		text := f.head().text
		if len(f.places) == 1 && f.places[0].line == f.head().line && !strings.Contains(text, f.places[0].text) {
			text = f.places[0].text + ": " + text
		}
		s.add(KindError, text, f.line, rank, b, 0)
		if rank > rankError {
			continue
		}
		for i, at := range f.places {
			if len(f.places) > 1 || !strings.Contains(text, at.text) {
				s.add(KindPlace, at.text, at.line, max(rank, rankPlace), b, 100+i)
			}
		}
		for i, d := range f.details {
			s.add(KindExpected, d.text, d.line, max(rank, rankDetail), b, 50+i)
		}
		for i, t := range f.traces {
			if i > 0 {
				s.add(KindError, t.message.text, t.message.line, max(rank, rankMore), b, 2*i+1)
			}
			s.frames(t, b, 2*i+2, max(rank, rankFrame))
		}
	}
	return sure > 0
}
