package digest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/tokencount"
)

// Kind is what a fact is about.
type Kind string

// The kinds of facts.
const (
	KindTest     Kind = "failing test"
	KindError    Kind = "error"
	KindFrame    Kind = "frame"
	KindPlace    Kind = "location"
	KindExpected Kind = "expected/got"
	KindSummary  Kind = "summary"
	KindExit     Kind = "exit code"
	KindLine     Kind = "line" // kept for its rarity or for where it stands
)

// Fact is something that a digest kept.
type Fact struct {
	Kind Kind
	Text string
	Line int // in the raw output, from 1; 0 for the exit code
}

// Input is what a tool has written, and what is known of it.
type Input struct {
	Text     string
	ExitCode int
	Budget   int // tokens
}

// Output is a digest.
type Output struct {
	Text   string
	Tokens int
	Facts  []Fact
}

// Digest keeps what matters of an output within a budget.
func Digest(in Input) Output {
	p := parse(in.Text)
	s := &selection{budget: in.Budget - in.Budget/20}
	s.collect(p, in)
	s.choose()
	return s.render()
}

// An item is a line that may stand in a digest.
type item struct {
	kind  Kind
	text  string
	line  int
	rank  int // lower ones are taken first
	block int // lines of one block stand together, in the order of blocks
	seat  int // order within its block
	cost  int
	taken bool
}

type selection struct {
	budget int
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
	rankProject
	rankDetail
	rankMore
	rankError
	rankHint
	rankWarning
	rankTail
)

func (s *selection) add(kind Kind, text string, line, rank, block, seat int) {
	text = strings.ToValidUTF8(shorten(text, longest(kind)), "\uFFFD")
	if text == "" {
		return
	}
	s.items = append(s.items, item{kind: kind, text: text, line: line, rank: rank, block: block, seat: seat, cost: tokencount.Estimate(text) + 1})
}

// longest is how many bytes of a line are kept.
func longest(k Kind) int {
	switch k {
	case KindTest:
		return 300
	case KindError:
		return 240
	}
	return 160
}

// shorten cuts a long line at a rune, in its end if what follows does not matter.
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

// collect makes items of what was found.
func (s *selection) collect(p *parser, in Input) {
	if in.ExitCode != 0 {
		s.add(KindExit, "exit code "+strconv.Itoa(in.ExitCode), 0, rankExit, 0, 0)
	}
	for i, n := range p.summaries {
		rank := rankSummary
		if !failing(n.text) && !strings.HasPrefix(n.text, "BUILD") {
			rank = rankError
		}
		s.add(KindSummary, n.text, n.line, rank, 0, i+1)
	}
	s.blocks = 1
	tests := 0
	for _, f := range p.findings {
		if f.name != "" {
			tests++
		}
	}
	s.tests(p)
	s.loose(p, tests)
}

// tests adds the failing tests; those that failed with the same message stand together, and it is said once.
func (s *selection) tests(p *parser) {
	block := map[string]int{}
	for _, f := range p.findings {
		if f.name == "" {
			continue
		}
		key := fmt.Sprint("#", f.line)
		if len(f.messages) > 0 {
			key = shape(f.messages[0].text)
		}
		b, seen := block[key]
		if !seen {
			b = s.blocks
			s.blocks++
			block[key] = b
		}
		s.add(KindTest, "FAIL "+f.name, f.line, rankName, b, 0)
		s.body(f, b, seen)
	}
}

// body adds what is known of a finding below its name.
func (s *selection) body(f *finding, b int, seen bool) {
	if !seen {
		for i, m := range f.messages {
			rank := rankMessage
			if i > 0 {
				rank = rankMore
			}
			s.add(KindError, m.text, m.line, rank, b, 1)
		}
		for _, d := range f.details {
			s.add(KindExpected, d.text, d.line, rankDetail, b, 3)
		}
	}
	s.frames(f, b, seen)
}

// frames adds the innermost frame and the innermost one of the project.
func (s *selection) frames(f *finding, b int, seen bool) {
	if len(f.frames) == 0 {
		return
	}
	order := f.frames
	if f.inner {
		order = slices.Clone(order)
		slices.Reverse(order)
	}
	rank := rankFrame
	if seen {
		rank = rankProject
	}
	s.add(KindFrame, trim(order[0].text), order[0].line, rank, b, 2)
	for _, n := range order {
		if !strange(n.text) {
			if n != order[0] {
				s.add(KindFrame, trim(n.text), n.line, rankProject, b, 2)
			}
			break
		}
	}
}

// trim shortens a frame of a library to its place.
func trim(t string) string {
	if strings.HasPrefix(t, "at ") && strange(t) {
		if at, ok := findPlace(t); ok {
			return "at " + t[at.from:at.to]
		}
	}
	return t
}

// loose adds the errors that no test owns.
func (s *selection) loose(p *parser, tests int) {
	for _, f := range p.findings {
		if f.name != "" {
			continue
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
		text := f.messages[0].text
		if len(f.places) == 1 && f.places[0].line == f.messages[0].line && !strings.Contains(text, f.places[0].text) {
			text = f.places[0].text + ": " + text
		}
		s.add(KindError, text, f.line, rank, b, 0)
		if rank > rankError {
			continue
		}
		for i, m := range f.messages[1:] {
			s.add(KindError, m.text, m.line, max(rank, rankMore), b, i+1)
		}
		for i, at := range f.places {
			if len(f.places) > 1 || !strings.Contains(text, at.text) {
				s.add(KindPlace, at.text, at.line, max(rank, rankPlace), b, 10+i)
			}
		}
		s.frames(f, b, rank > rankFrame)
	}
}

// choose takes items by rank while the budget lasts.
func (s *selection) choose() {
	order := make([]int, len(s.items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.items[a].rank, s.items[b].rank) })
	left := s.budget
	for _, i := range order {
		if s.items[i].cost <= left {
			s.items[i].taken = true
			left -= s.items[i].cost
		}
	}
}

// render writes the items that were taken.
func (s *selection) render() Output {
	var b strings.Builder
	var facts []Fact
	slices.SortStableFunc(s.items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.seat, b.seat), cmp.Compare(a.line, b.line))
	})
	for _, it := range s.items {
		if !it.taken {
			continue
		}
		if it.seat > 0 && it.block > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(it.text)
		b.WriteByte('\n')
		facts = append(facts, Fact{it.kind, it.text, it.line})
	}
	text := b.String()
	return Output{text, tokencount.Estimate(text), facts}
}
