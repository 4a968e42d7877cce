package digest

import (
	"strings"

	"github.com/luthier-dev/luthier/internal/ansi"
)

// header handles a line that names a failed test.
func (p *parser) header(l line, ruled byte) bool {
	t := l.text
	if p.numbered(l) || p.results(l) {
		return true
	}
	if p.begun(l) {
		return true
	}
	if l.cues&(cueFail|cueError|cueSummary) == 0 {
		return false
	}
	if ruled == '=' && (strings.HasPrefix(t, "FAIL: ") || strings.HasPrefix(t, "ERROR: ")) {
		p.fail(t[strings.IndexByte(t, ' ')+1:], l.n)
		p.section = sectionUnittest
		return true
	}
	name, rest := failedName(l, p.section)
	if name == "" {
		return false
	}
	if strings.HasSuffix(t, " ... ERROR") || strings.HasSuffix(t, " ... FAIL") {
		if b := strings.TrimSpace(ansi.Line(p.before)); !strings.Contains(name, "(") && strings.HasPrefix(b, "test") && strings.HasSuffix(b, ")") {
			name = b // unittest writes the first line of a test's docstring below its name
		}
	}
	f := p.fail(name, l.n)
	if rest != "" && len(f.traces) == 0 {
		f.suggest(note{rest, l.n})
	}
	return true
}

// begun handles lines in which Go, Ant or GoogleTest name a test before its verdict. Output before
// the verdict belongs to that test.
func (p *parser) begun(l line) bool {
	t := l.text
	switch t[0] {
	case '=':
		for _, lead := range []string{"=== RUN ", "=== CONT ", "=== NAME "} {
			if name, ok := strings.CutPrefix(t, lead); ok {
				p.close()
				p.test = strings.TrimSpace(name)
				return true
			}
		}
	case 'T':
		if name, ok := strings.CutPrefix(t, "Testcase: "); ok && !strings.HasSuffix(t, "FAILED") && !strings.HasSuffix(t, "ERROR") {
			p.test, _, _ = strings.Cut(name, " took ")
			return true
		}
	case '[':
		if name, ok := strings.CutPrefix(t, "[ RUN "); ok {
			p.close()
			_, p.test, _ = strings.Cut(name, "] ")
			return true
		}
	case 'F', 'C':
		if p.test != "" && (t == "FAILED" || t == "Caused an ERROR") { // Ant
			p.fail(p.test, l.n)
			p.test = ""
			return true
		}
	case 'r':
		if t == "running tests:" {
			p.running = true
			return true
		}
	}
	if p.running {
		if p.running = strings.HasPrefix(t, "Test") && strings.HasSuffix(t, "s)"); p.running {
			p.fail(beforeDuration(t), l.n)
		}
		return p.running
	}
	if p.test != "" && (strings.HasSuffix(t, ": Failure") || strings.HasSuffix(t, ": error: Failure")) { // GoogleTest
		f := p.fail(p.test, l.n)
		if at, ok := findPlace(t); ok {
			f.frame(note{t[at.from:at.to], l.n})
		}
		return true
	}
	return false
}
