package digest

import "strings"

// boilerplate lists the beginnings of lines that tools print after every error.
var boilerplate = newPrefixes(
	"-> [Help", "[Help ", "To see the full stack trace", "Re-run Maven", "For more information about the errors", "After correcting the problems", "Please refer to ",
	"Try: ", "> Run with --", "Run with --", "* Try:", "* Get more help", "* Exception is:", "note: run with `RUST_BACKTRACE", "npm ERR! A complete log", "npm ERR!     /",
	"error Command failed with exit code", "info Visit", "For more information about this error", "There was an error while trying to write to",
	"COMPILATION ERROR", "Help 1]", "Tests in error", "npm ERR! Linux", "npm ERR! argv", "npm ERR! node v", "npm ERR! npm  v", "npm ERR! This is probably not", "npm error A complete log", "npm error To see a list", "npm error   npm run", "For more information about an error", "npm ERR! Additional logging",
)

// errorLead is the beginning of a line that reports an error.
type errorLead struct {
	text     string
	strength int // how certain the error is
}

// fits reports whether the text after the beginning can belong to an error.
func (l errorLead) fits(rest string) bool {
	switch l.text {
	case "error":
		return rest != "" && strings.IndexByte(":[ (", rest[0]) >= 0
	case "ERROR":
		return rest == "" || strings.IndexByte(":[!", rest[0]) >= 0
	case "thread '":
		return strings.Contains(rest, "panicked at")
	}
	return true
}

var errorBegins = newPrefixes(func() (list []string) {
	for _, l := range errorLeads {
		list = append(list, l.text)
	}
	return list
}()...)

var errorLeads = []errorLead{
	{"error: could not compile", strengthVerdict}, {"error: aborting due to", strengthVerdict}, {"error: test failed", strengthVerdict}, {"error", strengthError}, {"Error: ", strengthError},
	{"ERROR: ", strengthError}, {"ERROR ", strengthLog}, {"fatal: ", strengthError}, {"fatal error", strengthError}, {"FATAL", strengthError}, {"panic: ", strengthError},
	{"make: *** ", strengthVerdict}, {"CMake Error", strengthError}, {"npm ERR! ", strengthError}, {"npm error ", strengthError}, {"E: ", strengthError}, {"e: ", strengthError}, {"ERR! ", strengthError},
	{"Fatal error", strengthError}, {"PHP Fatal error", strengthError}, {"Segmentation fault", strengthError}, {"thread '", strengthError}, {"ninja: build stopped", strengthVerdict},
	{"collect2: error", strengthVerdict}, {"Error response from daemon", strengthError}, {"failed to solve", strengthVerdict}, {"==ERROR", strengthError}, {"SUMMARY: ", strengthVerdict},
	{"WARNING: DATA RACE", strengthError}, {"fatal error: all goroutines", strengthError}, {"Failed to execute goal", strengthVerdict}, {"Execution failed for task", strengthVerdict},
	{"A problem occurred", strengthVerdict}, {"Could not ", strengthError}, {"Cannot ", strengthLog}, {"Exception in ", strengthNamed}, {"│ Error: ", strengthError}, {"::error", strengthError}, {"Unhandled", strengthError},
	{"Error ", strengthLog}, {"[ERROR] ", strengthLog}, {"ERROR", strengthLog}, {"Killed", strengthError}, {"Aborted", strengthError}, {"FAILURE: ", strengthError}, {"failure: ", strengthError},
}

// verdictParts mark the final message of a step, anywhere in a line.
var verdictParts = []string{
	" exited with ", "Process completed with exit code ", " returned a non-zero code", "did not complete successfully: exit code", "Command failed: ", "ELIFECYCLE", "Failed to execute goal ",
	"Execution failed for task ", " exit status ", "failed with exit code ", "non-zero exit", "exit code 1", "process exited with code",
}

// diagnostic handles an error that belongs to no test.
func (p *parser) diagnostic(l line) bool {
	t := l.text
	if l.cues&(cueError|cueFail|cueSummary|cueFrame) == 0 && l.level != levelError {
		return false
	}
	if p.section == sectionMuted || p.section == sectionPytest && p.open != nil || p.muted {
		if errorClass(t) >= strengthNamed { // an error that a test logged may be the reason why the test failed
			p.wrongly(t, l.n, strengthLog)
		}
		return false
	}
	if passing(t) {
		return false
	}
	if boilerplate.has(t) {
		return true
	}
	if t == "* What went wrong:" {
		p.wrong = 4
		return true
	}
	if strong := errorClass(t); strong > 0 {
		p.attach(p.wrongly(t, l.n, strong))
		return true
	}
	if p.linted(l) || p.placed(l) {
		return true
	}
	if p.open != nil && p.idle < 8 && l.level == levelError && l.indent >= 2 { // continuation of a compiler's diagnostic
		p.open.detail(note{t, l.n})
		return true
	}
	if p.open != nil && p.open.name != "" && p.idle < 3 && l.level != levelError {
		return false
	}
	strength := p.led(l)
	if strength == 0 {
		return false
	}
	f := p.wrongly(t, l.n, strength)
	if strength >= strengthNamed {
		p.attach(f)
	}
	return true
}

// attach makes f the finding that the following lines belong to.
func (p *parser) attach(f *finding) {
	p.close()
	p.open, p.idle = f, 0
}

// led returns the certainty that a line without a place is an error, judged by its beginning and
// its words.
func (p *parser) led(l line) int {
	t := l.text
	if l.cues&cueVerdict != 0 {
		for _, v := range verdictParts {
			if i := strings.Index(t, v); i >= 0 && !strings.HasPrefix(t[i+len(v):], "0") {
				return strengthVerdict
			}
		}
	}
	for _, i := range errorBegins.by[t[0]] {
		lead := errorLeads[i]
		if rest, ok := strings.CutPrefix(t, lead.text); ok && lead.fits(rest) {
			if zero(t) {
				return 0
			}
			return lead.strength
		}
	}
	switch {
	case l.level == levelError:
		return strengthError
	case l.cues&cueError != 0 && (strings.Contains(t, ": error: ") || strings.Contains(t, ": fatal error: ") || strings.Contains(t, "undefined reference to")), strings.HasPrefix(t, "make[") && strings.Contains(t, "]: *** "):
		return strengthError
	case l.level == levelWarning, strings.HasPrefix(t, "warning"), strings.HasPrefix(t, "WARN"), strings.HasPrefix(t, "Warning"):
		return strengthWarning
	case l.cues&(cueError|cueFail) != 0 && hinted(t) && !zero(t):
		return strengthHint
	}
	return 0
}

// zero reports whether a line denies errors: "0 errors", "no errors", "errors: 0", "without error".
func zero(t string) bool {
	low := strings.ToLower(t[:min(len(t), 300)])
	for _, s := range []string{"0 error", "no error", "errors: 0", "error: 0", "without error", "0 fail", "failed: 0", "failures: 0", "errors=0", "error-free", "if error", "on error", "ignore error", "no problem", "0 warnings"} {
		if i := strings.Index(low, s); i >= 0 && (s[0] != '0' || i == 0 || !digit(low[i-1])) {
			return true
		}
	}
	return false
}

// hints are words that suggest an error anywhere in a line.
var hints = build(map[cue][]string{cueError: {
	"error", "failed", "failure", "exception", "cannot ", "could not", "unable to", "not found", "no such", "denied", "undefined", "fatal", "timed out", "aborted", "refused", "unresolved", "mismatch",
	"core dumped", "out of memory", "killed", "invalid ", "unexpected", "missing ", "panic", "crash", "violation",
}})

func hinted(t string) bool { return hints.word(t[:min(len(t), 400)]) }

// placed handles a compiler's diagnostic: path:12:3: error: message.
func (p *parser) placed(l line) bool {
	t := l.text
	at, ok := findPlace(t)
	if !ok || at.from > 60 {
		return false
	}
	lead, rest := t[:at.from], t[at.to:]
	column := strings.HasPrefix(rest, ":") && len(rest) > 1 && digit(rest[1]) || strings.HasPrefix(rest, ",")
	rest = strings.TrimLeft(rest, "0123456789,:)] -")
	low := lowerPrefix(rest, 40)
	strength := 0
	switch {
	case strings.HasPrefix(low, "error"), strings.HasPrefix(low, "fatal"), strings.Contains(low, " error:"), strings.HasPrefix(rest, "undefined reference"):
		strength = strengthError
	case l.level == levelError && rest != "":
		strength = strengthError
	case strings.HasPrefix(low, "warning"), strings.HasPrefix(low, "note"), strings.HasPrefix(low, "info"), l.level != levelNone:
		if strings.HasPrefix(low, "note") || strings.HasPrefix(low, "info") || l.level == levelInfo {
			return false
		}
		strength = strengthWarning
	case column && lead == "" && rest != "" && (strings.HasSuffix(at.path, ".go") || hinted(rest)):
		strength = strengthError
	case lead == "vet: ":
		strength = strengthError
	case errorClass(rest) > strengthWarning && lead == "":
		strength = strengthError
	case strings.HasSuffix(at.path, ".go") && lead == "" && rest != "":
		strength = strengthHint // a test's log
	default:
		return false
	}
	if lead != "" && !strings.HasSuffix(lead, " ") && lead[0] != ':' {
		return false
	}
	message := rest
	if len(lead) > 5 {
		message = t
	}
	f := p.wrongly(message, l.n, strength)
	from, to := at.from, at.to
	if lead != "" && lead[0] == ':' && !strings.Contains(lead, " ") { // Gradle writes ":task" without a line ending
		from = 0
	}
	if i := strings.IndexAny(t[to:min(len(t), to+8)], ")]"); i > 0 && t[to] == ',' { // (12,5), [12,5]
		to += i + 1
	}
	f.place(note{t[from:to], l.n})
	p.attach(f)
	return true
}

// placedError reports whether a text begins with a place, so that it is not the name of a test.
func placedError(s string) bool {
	at, ok := findPlace(s)
	return ok && at.from == 0
}

// quoted reports whether a line shows source code in a report: "  12 | code", "> 12 | code".
func quoted(t string) bool {
	t = strings.TrimLeft(t, "> ")
	i := 0
	for i < len(t) && digit(t[i]) {
		i++
	}
	return i > 0 && strings.HasPrefix(t[i:], " |") || strings.HasPrefix(t, "| ")
}

// linted handles ESLint's lines below the name of a file: 12:5  error  message  rule.
func (p *parser) linted(l line) bool {
	t := l.text
	if !digit(t[0]) {
		return false
	}
	i := strings.IndexAny(t, " \t")
	if i < 3 || i > 12 || l.indent == 0 {
		return false
	}
	for j := range i {
		if !digit(t[j]) && t[j] != ':' {
			return false
		}
	}
	rest := strings.TrimSpace(t[i:])
	strength := 0
	switch {
	case strings.HasPrefix(rest, "error "):
		strength = strengthError
	case strings.HasPrefix(rest, "warning "):
		strength = strengthWarning
	default:
		return false
	}
	f := p.wrongly(strings.Join(strings.Fields(rest), " "), l.n, strength)
	f.place(note{p.file + ":" + t[:i], l.n})
	return true
}

var passed = newPrefixes("panic({", "panic(0x", "goroutine ", "✓ ", "✔ ", "√ ", "ok ", "PASS", "--- PASS", "=== RUN", "=== PAUSE", "=== CONT", "--- SKIP", "Downloading", "Downloaded", "Progress")

// passing reports whether a line reports a success, whatever words its name contains.
func passing(t string) bool {
	if quoted(t) {
		return true
	}
	if passed.has(t) {
		return true
	}
	if strings.IndexByte("DkSdK]", t[len(t)-1]) < 0 {
		return false
	}
	for _, tail := range []string{" PASSED", " ... ok", " PASS", " ... skipped", " SKIPPED", " OK", " ... ignored", " SUCCESS"} {
		if strings.HasSuffix(t, tail) {
			return true
		}
	}
	return strings.Contains(t, " PASSED [") || strings.Contains(t, " PASSED  ")
}
