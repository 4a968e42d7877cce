package digest

import (
	"strings"

	"github.com/luthier-dev/luthier/internal/ansi"
)

// A parser reads the lines of an output that may matter and collects findings.
type parser struct {
	findings  []*finding
	tests     map[string]*finding // by testKey
	errors    map[string]*finding // by shape of the message
	summaries []note
	summaryAt map[string]int

	open    *finding // the finding to which details currently belong
	idle    int      // number of lines since the open finding last received a detail
	pending []note   // frames that came before their error
	section section
	ruled   byte   // the mark of the ruled line just before; 0 if there was none
	file    string // the file to which a linter's next lines refer
	fileAt  int
	test    string            // the last test that has begun and has no verdict yet
	before  string            // the line before this one
	said    map[string][]note // output of tests before their verdict was known
	running bool              // inside Go's list of tests that were running at the timeout
	list    int               // next number in a numbered list of failures; 0 outside such a list
	title   []string
	titleAt int
	muted   bool // inside output that a test wrote while it ran
	wrong   int  // remaining lines of Gradle's "What went wrong"
	next    bool // the next line is the message of a panic
	expect  int  // remaining lines of an announced expectation
}

// section is a part of an output in which lines have a special meaning.
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

// patience is the number of lines without a new detail after which the open finding is closed.
const patience = 24

// attentive reports whether the parser needs to see lines without a cue.
func (p *parser) attentive() bool {
	return p.open != nil || p.running || len(p.pending) > 0 || p.ruled != 0 || p.list > 0 || p.wrong > 0 || p.section == sectionResults
}

// line parses one line of the output: number n, without its line end.
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
		return 3 * patience // source code around the fault may come before the trace
	}
	return patience
}

// line is a line in the form in which the matchers see it.
type line struct {
	n      int
	text   string // without tags and surrounding white space
	indent int
	level  level
	cues   cue
}

// take offers a line to the matchers, the most certain first, and reports whether one took it.
func (p *parser) take(l line, ruled byte) bool {
	if l.cues&^cueControl == 0 && p.quiet() {
		return p.frame(l) || p.continued(l) || p.detail(l)
	}
	return p.rule(l) || p.header(l, ruled) || p.summary(l) || p.frame(l) || p.continued(l) || p.diagnostic(l) || p.detail(l)
}

// quiet reports whether a line without a cue can only continue the open finding.
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

// close closes the open finding, so that later details no longer belong to it.
func (p *parser) close() {
	p.open, p.pending, p.muted, p.expect, p.next = nil, nil, false, 0, false
}

// fail opens the finding of a failing test: either a new one, or the one that an earlier line
// began.
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

// say keeps the output of a test in case the test fails: the last lines of the most recent tests.
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

// namesakes reports whether two names are the same test name in different files.
func namesakes(a, b string) bool {
	return strings.Contains(a, ".py::") && strings.Contains(b, ".py::") && !strings.HasSuffix(a, b) && !strings.HasSuffix(b, a)
}

// better reports whether name a is more informative about a test than b, because it includes the
// file or the package.
func better(a, b string) bool {
	return len(a) > len(b) && len(a) < 300 && strings.Count(a, " ") <= strings.Count(b, " ")+1
}

// wrongly records an error outside of any test, and returns its finding.
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

// shapeBytes is the number of bytes of a message that its shape includes.
const shapeBytes = 160

// shape returns the part of a message that is the same in its repetitions: the beginning, with each
// number replaced by a mark.
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

// testKey returns a key that is the same for the different names of one test in an output.
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
