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
	room := 6 // failing summaries at the top; the last ones say most
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
	if !s.loose(p, tests) {
		s.unknown(in.Text)
	}
}

// unknown adds lines of an output in which nothing sure was found.
func (s *selection) unknown(text string) {
	tail, seldom := rare(text)
	b := s.blocks
	for i, n := range slices.Backward(tail) {
		s.add(KindLine, plain(n.text), n.line, rankTail, b, i)
	}
	for i, n := range slices.Backward(seldom) {
		s.add(KindLine, plain(n.text), n.line, rankRare, b, -len(seldom)+i)
	}
	s.blocks++
}

// tests adds the failing tests; those that failed with the same message stand together, and it is said once.
func (s *selection) tests(p *parser) {
	block := map[string]int{}
	p.findings = whole(p.findings)
	for _, f := range p.findings {
		if f.name == "" {
			continue
		}
		key := shape(f.head().text)
		if key == "" {
			key = "#" + strconv.Itoa(f.line)
		}
		b, seen := block[key]
		if !seen {
			b = s.blocks
			s.blocks++
			block[key] = b
		}
		s.add(KindTest, f.name, f.line, rankName, b, 0)
		s.body(f, b, seen)
	}
}

// whole leaves out the tests that were named in short while they ran and in full in the report.
func whole(findings []*finding) []*finding {
	ends := map[string]bool{}
	for _, f := range findings {
		for _, sep := range []string{" › ", " > ", " "} {
			if i := strings.LastIndex(f.name, sep); i > 0 && len(f.traces) > 0 {
				ends[strings.TrimSuffix(f.name[i+len(sep):], ":")] = true
				if sep == " " { // mocha's titles: any end of the words
					for i := 0; i < len(f.name) && len(f.name) < 300; i++ {
						if f.name[i] == ' ' {
							ends[strings.TrimSuffix(f.name[i+1:], ":")] = true
						}
					}
				}
			}
		}
	}
	kept := findings[:0:0]
	for _, f := range findings {
		if f.name == "" || !ends[f.name] {
			kept = append(kept, f)
		}
	}
	return kept
}

// body adds what is known of a finding below its name; of those of one message, the first says it.
func (s *selection) body(f *finding, b int, seen bool) {
	for i, t := range f.traces {
		rank, place := rankMessage, rankFrame
		if i > 0 || seen {
			rank, place = rankMore, rankMore
		}
		if i == 0 && seen {
			place = rankProject
		}
		s.add(KindError, t.message.text, t.message.line, rank, b, 2*i+1)
		s.frames(t, b, 2*i+2, place)
	}
	for _, at := range f.places {
		s.add(KindPlace, at.text, at.line, rankPlace, b, 1)
	}
	if !seen {
		for i, d := range f.details {
			rank := rankDetail
			if i >= 4 {
				rank = rankMore
			}
			s.add(KindExpected, d.text, d.line, rank, b, 2*mostTraces+2)
		}
	}
}

// frames adds the innermost frame of a trace and the innermost ones of the project.
func (s *selection) frames(t *trace, b, seat, rank int) {
	if len(t.frames) == 0 {
		return
	}
	order := t.frames
	if t.inner {
		order = slices.Clone(order)
		slices.Reverse(order)
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

// trim shortens a frame of a library to its place.
func trim(t string) string {
	if strings.HasPrefix(t, "at ") && strange(t) {
		if at, ok := findPlace(t); ok {
			return "at " + t[at.from:at.to]
		}
	}
	return t
}

// mostHints is how many warnings and unsure errors are kept beside what is sure; the last ones.
const mostHints = 12

// loose adds the errors that no test owns, and tells whether anything sure was found at all.
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

// choose takes items by rank while the budget lasts.
func (s *selection) choose() {
	s.shortNames()
	order := make([]int, len(s.items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.items[a].rank, s.items[b].rank) })
	left := s.budget - 6 // for headings
	written := map[string]bool{}
	for _, i := range order {
		it := &s.items[i]
		if it.rank < rankNever && it.cost <= left && !written[it.text] {
			written[it.text] = true
			if it.kind == KindError { // its place need not stand below it again
				if at, ok := findPlace(it.text); ok && at.from == 0 {
					written[it.text[:at.to]] = true
				}
			}
			it.taken = true
			left -= it.cost
		}
	}
}

// Shares of the budget where there are more failing tests than it holds: what their names may take at all (the rest is
// for the message that most of them share), and what the full names may take of that.
const (
	nameShare = 0.92
	fullShare = 0.85
)

// shortNames makes room where there are more failing tests than the budget holds: the last of them are named without file and
// class, and those that do not fit even so are counted.
func (s *selection) shortNames() {
	room := int(nameShare * float64(s.budget))
	full := 0
	var names []int
	for i, it := range s.items {
		switch {
		case it.kind == KindTest:
			names = append(names, i)
			full += it.cost
		case it.rank < rankName:
			room -= it.cost
		}
	}
	if full <= room {
		return
	}
	used, counted := 0, 0
	for _, i := range names {
		it := &s.items[i]
		if used+it.cost > int(fullShare*float64(room)) {
			it.text = tail(it.text)
			it.cost = tokencount.Estimate(it.text) + 1
			it.block, it.seat = s.blocks, 0
		}
		if used += it.cost; used > room-10 {
			it.rank = rankNever
			counted++
		}
	}
	if counted > 0 {
		s.add(KindLine, fmt.Sprintf("… and %d more failing tests", counted), 0, rankName, s.blocks+1, 0)
	}
}

// tail is the last part of a test's name.
func tail(name string) string {
	if i := strings.Index(name, " ("); i > 0 {
		return name[:i]
	}
	end := len(name)
	if i := strings.IndexByte(name, '['); i > 0 {
		end = i
	}
	if i := strings.LastIndex(name[:end], "::"); i > 0 {
		return name[i+2:]
	}
	for _, sep := range []string{" › ", " > "} {
		if i := strings.LastIndex(name, sep); i > 0 {
			return name[i+len(sep):]
		}
	}
	if i := strings.LastIndexAny(name[:end], "./#"); i > 0 && !strings.Contains(name, " ") {
		return name[i+1:]
	}
	return name
}

// render writes the items that were taken.
func (s *selection) render() Output {
	var b strings.Builder
	var facts []Fact
	heading := false
	slices.SortStableFunc(s.items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.seat, b.seat), cmp.Compare(a.line, b.line))
	})
	for _, it := range s.items {
		if !it.taken {
			continue
		}
		if it.kind == KindTest && !heading {
			b.WriteString("failed:\n")
			heading = true
		}
		if it.seat > 0 && it.block > 1 {
			b.WriteByte(' ')
		}
		b.WriteString(it.text)
		b.WriteByte('\n')
		facts = append(facts, Fact{it.kind, it.text, it.line})
	}
	text := b.String()
	return Output{text, tokencount.Estimate(text), facts}
}
