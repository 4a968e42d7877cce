package digest

import "strings"

// errorSuffixes are the endings of error class names.
var errorSuffixes = []string{"Error", "Exception", "Failure", "Fault", "Interrupt", "Failed", "Errors", "Panic", "Timeout", "Denied", "NotFound", "DoesNotExist", "Mismatch", "Exit"}

// leads are texts that precede the class of an error.
var leads = newPrefixes("Caused by: ", "Uncaught ", "Unhandled ", "Suppressed: ", "uncaught exception: ", "(node:", "Exception: ", "! ", "** (")

// errorClass returns the certainty that a line begins with the class of an error; 0 if it does not.
func errorClass(t string) int {
	for i := leads.of(t); i >= 0; i = leads.of(t) {
		t = t[len(leads.list[i]):]
	}
	if strings.HasPrefix(t, "Exception in thread ") {
		return strengthNamed
	}
	i, last := 0, 0
	for i < len(t) && (nameByte(t[i]) || t[i] == ':' && (strings.HasPrefix(t[i:], "::") || i > 0 && t[i-1] == ':')) {
		if t[i] == '.' || t[i] == '$' || t[i] == ':' {
			last = i + 1
		}
		i++
		if i > 200 {
			return 0
		}
	}
	name := t[last:i]
	if name == "" || !upper(name[0]) || !classEnd(t[i:]) {
		return 0
	}
	for _, suffix := range errorSuffixes {
		if strings.HasSuffix(name, suffix) {
			if len(name) == len(suffix) && suffix != "Error" && suffix != "Exception" && last == 0 {
				return 0 // "Failed" and "Timeout" alone are ordinary words
			}
			if name == t[:i] && name == suffix && i == len(t) {
				return 0
			}
			return strengthNamed
		}
	}
	if strings.HasSuffix(name, "Warning") {
		return strengthWarning
	}
	return 0
}

// nameByte reports whether a byte can be part of a qualified name.
func nameByte(c byte) bool {
	return letter(c) || digit(c) || c == '_' || c == '.' || c == '$'
}

// classEnd reports whether the text after a name can follow the class of an error.
func classEnd(rest string) bool {
	return rest == "" || strings.HasPrefix(rest, ": ") || rest == ":" || strings.HasPrefix(rest, " at ") || strings.HasPrefix(rest, " [") || strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, ") ")
}

// frame handles a line that contains a frame of a trace.
func (p *parser) frame(l line) bool {
	t := l.text
	if p.test != "" && p.open == nil && l.cues&cueFrame != 0 && l.indent > 0 { // a Go test logged this before its verdict
		if at, ok := findPlace(t); ok && at.from == 0 && strings.HasPrefix(t[at.to:], ": ") {
			p.say(p.test, note{t, l.n})
			return true
		}
	}
	if strings.HasPrefix(t, "thread '") && p.panicked(l) {
		return true
	}
	if strings.HasPrefix(t, "File \"") { // in Python, the error comes after its frames
		if at, ok := findPlace(t); ok && at.from <= 7 {
			if len(p.pending) < 200 {
				p.pending = append(p.pending, note{t, l.n})
			}
			p.idle = min(p.idle, 3)
			return true
		}
	}
	if p.open == nil {
		return false
	}
	lead := frameLead(t)
	if !lead && l.cues&cueFrame == 0 && p.section != sectionPytest && !strings.Contains(t, "@") {
		return false
	}
	at, ok := findPlace(t)
	if !ok {
		return lead && (strings.HasSuffix(t, ")") || strings.HasSuffix(t, "]")) && strings.HasPrefix(t, "at ")
	}
	switch {
	case strings.HasPrefix(t, "--> "):
		p.open.place(note{t[at.from:at.to], l.n})
	case lead, strings.Contains(t, "@") && at.from > 0 && t[at.from-1] == '@', at.from == 0 && l.indent > 0 && (at.to == len(t) || strings.HasPrefix(t[at.to:], " +0x")), // Go
		at.from > 0 && t[at.from-1] == '(' && strings.HasSuffix(t, ")") && len(t)-at.to < 12 && !strings.Contains(t, ": "):
		p.open.frame(note{t, l.n})
	case p.section == sectionPytest && at.from == 0 && strings.HasPrefix(t[at.to:], ":") && !p.muted:
		p.open.frame(note{t[:at.to], l.n})
		p.open.current().inner = true
		if s := strings.TrimSpace(t[at.to+1:]); errorClass(s) > 0 {
			p.open.suggest(note{s, l.n})
		}
	default:
		return false
	}
	p.idle = min(p.idle, patience/2)
	return true
}

// panicked handles the first line of a Rust panic. The next line is the panic's message.
func (p *parser) panicked(l line) bool {
	_, rest, ok := strings.Cut(l.text, " panicked at ")
	if !ok || !strings.HasSuffix(rest, ":") {
		return false
	}
	if p.open == nil || p.open.name == "" {
		p.attach(p.wrongly(l.text, l.n, strengthError))
	}
	p.open.frame(note{strings.TrimSuffix(rest, ":"), l.n})
	p.idle = 0
	p.next = true
	return true
}

var frameLeads = newPrefixes("at ", "from ", "# ./", "❯ ", "--> ", "in ", "./")

func frameLead(t string) bool {
	return frameLeads.has(t) || len(t) > 2 && t[0] == '#' && digit(t[1])
}

// continued handles a line as the message of the open finding.
func (p *parser) continued(l line) bool {
	t := l.text
	if strings.HasPrefix(t, "panic: test timed out") { // the test before this line is not at fault
		p.attach(p.wrongly(t, l.n, strengthVerdict))
		return true
	}
	if p.next && p.open != nil {
		p.next = false
		p.open.message(note{t, l.n})
		return true
	}
	if t == "Failed example:" && len(p.pending) > 0 { // doctest names the test in the frame above
		if _, name, ok := strings.Cut(p.pending[len(p.pending)-1].text, ", in "); ok {
			at := p.pending[len(p.pending)-1]
			p.fail(name, at.line).frame(at)
			p.expect = 1
			return true
		}
	}
	if p.wrong > 0 {
		if strings.HasPrefix(t, "* ") {
			p.wrong = 0
			return false
		}
		p.wrongly(strings.TrimPrefix(t, "> "), l.n, strengthVerdict)
		p.wrong--
		return true
	}
	if strings.HasPrefix(t, "Traceback (most recent call last)") {
		p.pending = nil
		p.idle = 0
		return true
	}
	if p.section == sectionPytest && p.open != nil && !p.muted && t[0] == 'E' && (len(t) == 1 || strings.HasPrefix(t, "E  ")) {
		if s := strings.TrimSpace(t[1:]); s != "" {
			p.pytestError(s, l.n)
		}
		return true
	}
	if p.section == sectionNone && strings.HasPrefix(t, "E   ") && errorClass(strings.TrimSpace(t[1:])) > 0 { // pytest, with its heading cut off
		p.attach(p.wrongly(strings.TrimSpace(t[1:]), l.n, strengthNamed))
		p.section = sectionPytest
		return true
	}
	if len(p.pending) > 0 && l.indent == 0 {
		if errorClass(t) > 0 || classLike(t) {
			p.raised(t, l.n)
			return true
		}
	}
	if p.open == nil || p.muted {
		return false
	}
	if s, ok := strings.CutPrefix(t, "error: "); ok && p.open.name != "" && p.open.unsure() { // TAP's YAML
		if s == "|-" {
			p.next = true
		} else {
			p.open.message(note{strings.Trim(s, "'\""), l.n})
		}
		return true
	}
	if strong := errorClass(t); strong > strengthWarning {
		if p.open.unsure() || strings.HasPrefix(t, "Caused by: ") || p.open.name != "" && p.idle < 6 {
			p.open.message(note{t, l.n})
			p.idle = 0
			if strings.HasSuffix(t, ":") {
				p.expect = 2
			}
			return true
		}
		return false
	}
	if p.open.name != "" && (len(p.open.traces) == 0 || p.open.fresh) && p.idle <= 4 && p.section == sectionNone && !progress(t) {
		if at, ok := findPlace(t); ok && at.from == 0 && at.to == len(t) {
			p.open.place(note{t, l.n})
			return true
		}
		p.open.suggest(note{t, l.n})
		if at, ok := findPlace(t); ok && at.from == 0 {
			p.open.frame(note{t[:at.to], l.n})
		}
		return true
	}
	return false
}

// pytestError handles a line that pytest marked with E.
func (p *parser) pytestError(s string, n int) {
	p.idle = 0
	if p.open.unsure() || errorClass(s) > 0 {
		p.open.message(note{s, n})
		return
	}
	p.open.detail(note{s, n})
}

// raised handles the error of a Python trace whose frames are pending.
func (p *parser) raised(t string, n int) {
	f := p.open
	if f == nil || f.name == "" {
		f = p.wrongly(t, n, strengthNamed)
		p.open = f
	} else if p.muted && !f.unsure() {
		f = p.wrongly(t, n, strengthLog)
	} else {
		f.message(note{t, n})
	}
	f.current().inner = true
	for _, frame := range p.pending {
		f.frame(frame)
	}
	p.pending, p.idle = nil, 0
}

// classLike reports whether a line below a trace may be an error, even if its class name does not
// look like one.
func classLike(t string) bool {
	i := 0
	for i < len(t) && (letter(t[i]) || digit(t[i]) || t[i] == '_' || t[i] == '.') {
		i++
	}
	return i > 3 && strings.HasPrefix(t[i:], ": ") && (upper(t[0]) || strings.Contains(t[:i], ".")) || i == len(t) && i > 5 && upper(t[0])
}

// progress reports whether a line shows a runner's progress, and is therefore not a message of the
// previous test.
func progress(t string) bool {
	for _, lead := range []string{"✔", "✓", "√", "✖", "PASS", "ok ", "Running ", "[INFO]", "Tests run", "WARN", "Chrome", "Firefox", "Headless", "PhantomJS", "===", "---", "test ", "<", "at ", "[", "{", "ℹ", "duration_ms", "type: ", "location: ", "failures:", "Start ", "⎯", "Expected ", "..."} {
		if strings.HasPrefix(t, lead) {
			return true
		}
	}
	return strings.HasSuffix(t, "PASSED") || strings.HasSuffix(t, "... ok") || strings.HasSuffix(t, "%]")
}

// expectations are the words that begin a line with details of an expectation.
var expectations = newPrefixes(
	"expected", "actual", "received", "got", "want", "left:", "right:", "but was", "but got", "failed example", "value of", "to equal", "+++ ", "--- ", "+ ", "- ", "-expected", "+received",
	"assertion", "diff", "result:", "difference:", "exp:", "act:", "found:", "instead", "failure/error:", "error trace", "error:", "failed asserting", "code:  ", "messages:", "#   ",
)

// detail handles a line with the expected or the actual value of a test.
func (p *parser) detail(l line) bool {
	if p.open == nil || p.muted || p.section == sectionMuted {
		return false
	}
	t := l.text
	if strings.HasPrefix(t, "--- PASS") || strings.HasPrefix(t, "--- SKIP") || strings.HasPrefix(t, "--- FAIL") || frameLead(t) && p.expect == 0 {
		return false
	}
	if p.expect > 0 {
		p.expect--
		p.open.detail(note{t, l.n})
		return true
	}
	if p.section == sectionPytest && strings.HasPrefix(t, "> ") {
		return true
	}
	if expectations.has(lowerPrefix(t, 20)) {
		p.open.detail(note{t, l.n})
		if strings.HasSuffix(t, ":") {
			p.expect = 1
		}
		return true
	}
	return false
}

func lowerPrefix(s string, n int) string {
	return strings.ToLower(s[:min(n, len(s))])
}
