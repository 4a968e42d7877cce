package digest

import (
	"strings"

	"github.com/luthier-dev/luthier/internal/ansi"
)

// A parser reads the lines of an output that may matter and keeps what it finds.
type parser struct {
	findings  []*finding
	tests     map[string]*finding // by testKey
	errors    map[string]*finding // by shape of the message
	summaries []note
	summaryAt map[string]int

	open    *finding // what details now belong to
	idle    int      // lines since something was found for it
	pending []note   // frames that came before their error
	section section
	ruled   byte   // the mark of the ruled line just before, 0 if there was none
	file    string // the file that a linter's following lines are about
	fileAt  int
	test    string            // the last test that was begun but whose verdict is not known
	before  string            // the line before this one
	said    map[string][]note // what tests wrote before their verdict was known
	running bool              // Go's list of tests that ran when time was up
	list    int               // next number of a numbered list of failures, 0 outside of one
	title   []string
	titleAt int
	muted   bool // output that a test wrote while it ran
	wrong   int  // lines of Gradle's "What went wrong" still to come
	next    bool // the next line is the message of a panic
	expect  int  // lines still to come of an expectation that was announced
}

// section is a part of an output whose lines mean something of their own.
type section uint8

const (
	sectionNone     section = iota
	sectionPytest           // pytest's FAILURES and ERRORS
	sectionUnittest         // a report of unittest or nose
	sectionShort            // pytest's short test summary
	sectionResults          // Maven's list of failed tests
	sectionNumbered         // mocha, rspec, phpunit: a numbered list
	sectionMuted            // warnings summaries, coverage
)

func newParser() *parser {
	return &parser{tests: map[string]*finding{}, errors: map[string]*finding{}, summaryAt: map[string]int{}, said: map[string][]note{}}
}

// patience is after how many lines without news the open finding is closed.
const patience = 24

// attentive tells whether the parser needs to see lines without a cue.
func (p *parser) attentive() bool {
	return p.open != nil || p.running || len(p.pending) > 0 || p.ruled != 0 || p.list > 0 || p.wrong > 0 || p.section == sectionResults
}

// line takes one line of the output; raw has no line end, n is its number.
func (p *parser) line(n int, raw string, c cue) {
	if c&cueControl != 0 {
		raw = ansi.Line(raw)
	}
	if goOutput(raw) {
		if e := readEvent(raw); e.Action != "" {
			raw, p.test = strings.TrimRight(e.Output, "\n"), e.Test
		}
	}
	body, lev := untag(raw)
	text := strings.TrimSpace(body)
	l := line{n: n, text: text, indent: len(body) - len(strings.TrimLeft(body, " \t")), level: lev, cues: c}
	if text == "" {
		p.blank(l)
		return
	}
	ruled := p.ruled
	p.ruled = 0
	p.idle++
	if !p.take(l, ruled) && p.open != nil && p.idle > p.patience() {
		p.close()
	}
}

func (p *parser) patience() int {
	switch {
	case p.section == sectionPytest || p.section == sectionUnittest:
		return 2000
	case p.open.name != "" && !p.open.framed():
		return 3 * patience // the source around the fault may stand before the trace
	}
	return patience
}

// line is a line as the matchers see it.
type line struct {
	n      int
	text   string // without tags and white space around
	indent int
	level  level
	cues   cue
}

// take offers a line to the matchers, the surest first, and tells whether one took it.
func (p *parser) take(l line, ruled byte) bool {
	if l.cues&^cueControl == 0 && p.quiet() {
		return p.frame(l) || p.continued(l) || p.detail(l)
	}
	return p.rule(l) || p.header(l, ruled) || p.summary(l) || p.frame(l) || p.continued(l) || p.diagnostic(l) || p.detail(l)
}

// quiet tells that a line without a cue can only be more of the open finding.
func (p *parser) quiet() bool {
	return !p.running && p.list == 0 && len(p.title) == 0 && p.section != sectionResults && p.wrong == 0
}

func (p *parser) blank(l line) {
	if p.wrong > 0 {
		p.wrong--
	}
	p.finishTitle()
	if p.section == sectionNone && len(p.pending) > 0 && p.idle > 2 {
		p.pending = nil
	}
}

// close ends what details belong to.
func (p *parser) close() {
	p.open, p.pending, p.muted, p.expect, p.next = nil, nil, false, 0, false
}

// fail opens the finding of a failing test, a new one or that of an earlier line.
func (p *parser) fail(name string, n int) *finding {
	name = strings.TrimSpace(name)
	p.close()
	p.idle = 0
	key := testKey(name)
	f := p.tests[key]
	if f != nil && namesakes(f.name, name) {
		key = name
		f = p.tests[key]
	}
	if f == nil {
		f = &finding{name: name, line: n, strength: strengthVerdict}
		if len(p.tests) < mostFindings {
			p.tests[key] = f
			p.findings = append(p.findings, f)
		}
	} else if better(name, f.name) {
		f.name = name
	}
	f.count++
	f.fresh = f.reported()
	p.open = f
	for _, s := range p.said[name] {
		f.message(s)
	}
	delete(p.said, name)
	return f
}

// say keeps what a test wrote, for the case that it fails; the last lines of the last tests.
func (p *parser) say(test string, n note) {
	const mostTests, mostLines = 256, 4
	s, ok := p.said[test]
	if !ok && len(p.said) >= mostTests {
		clear(p.said)
	}
	if len(s) == mostLines {
		s = append(s[:0], s[1:]...)
	}
	p.said[test] = append(s, n)
}

// namesakes tells two tests of one name in different files.
func namesakes(a, b string) bool {
	return strings.Contains(a, ".py::") && strings.Contains(b, ".py::") && !strings.HasSuffix(a, b) && !strings.HasSuffix(b, a)
}

// better tells whether a says more of a test than b: the name with its file or its package.
func better(a, b string) bool {
	return len(a) > len(b) && len(a) < 300 && strings.Count(a, " ") <= strings.Count(b, " ")+1
}

// wrongly reports an error outside of a test, and returns its finding.
func (p *parser) wrongly(text string, n, strength int) *finding {
	var buf [shapeBytes]byte
	key := appendShape(buf[:0], text)
	f := p.errors[string(key)] // does not allocate
	if f == nil {
		f = &finding{line: n, strength: strength}
		f.message(note{text, n})
		if len(p.errors) < mostFindings {
			p.errors[string(key)] = f
			p.findings = append(p.findings, f)
		}
	} else {
		f.strength = max(f.strength, strength)
	}
	f.count++
	return f
}

// shapeBytes is how much of a message counts to its shape.
const shapeBytes = 160

// shape is a message without what differs between its repetitions: numbers are one mark each, and
// only the beginning counts.
func shape(s string) string {
	var buf [shapeBytes]byte
	return string(appendShape(buf[:0], s))
}

func appendShape(b []byte, s string) []byte {
	for i := 0; i < len(s) && len(b) < shapeBytes; i++ {
		c := s[i]
		if digit(c) {
			if len(b) > 0 && b[len(b)-1] == '0' {
				continue
			}
			c = '0'
		}
		b = append(b, c)
	}
	return b
}

// testKey is the same for the names that one test has in the several reports of one output.
func testKey(name string) string {
	s := name
	if i := strings.LastIndexByte(s, ')'); i == len(s)-1 && i > 0 { // method (pkg.Class), method(pkg.Class)
		if j := strings.IndexByte(s, '('); j > 0 && !strings.ContainsAny(s[j:], " '\"<") && !strings.Contains(s[:j], "::") {
			s = s[j+1:i] + "." + strings.TrimSpace(s[:j])
		}
	}
	if i := strings.Index(s, ".py::"); i >= 0 {
		s = s[i+5:]
	}
	param := ""
	if i := strings.IndexByte(s, '['); i > 0 {
		s, param = s[:i], s[i:]
	}
	if !strings.Contains(s, " ") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "::", "."), "#", ".")
		if i := strings.LastIndexByte(s, '.'); i > 0 {
			if j := strings.LastIndexAny(s[:i], ".$/"); j >= 0 {
				s = s[j+1:]
			}
		}
	}
	return s + param
}
