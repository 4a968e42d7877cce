package digest

import "strings"

// rule takes a ruled line: ===== FAILURES =====, _____ test_name _____, ---- name stdout ----.
func (p *parser) rule(l line) bool {
	t := l.text
	c := t[0]
	if p.section == sectionPytest && c == '_' && strings.HasSuffix(t, " _") && !strings.HasPrefix(t, "_ _") { // a long name
		p.muted = false
		p.fail(strings.Trim(t, "_ "), l.n)
		return true
	}
	if len(t) < 4 || strings.IndexByte("=_-*#", c) < 0 || t[1] != c || t[2] != c || t[3] != c {
		return false
	}
	heading := strings.Trim(t, "=_-*# ")
	if c == '-' && strings.HasSuffix(heading, "stdout") && strings.HasSuffix(t, "----") && p.section != sectionPytest { // Rust
		p.fail(strings.TrimSpace(strings.TrimSuffix(heading, "stdout")), l.n)
		return true
	}
	switch {
	case heading == "":
		p.ruled = c
		if c == '-' && p.section == sectionUnittest && p.open == nil {
			p.section = sectionNone
		}
	case c == '=':
		p.equalsRule(l, heading)
	case c == '_' && p.section == sectionPytest:
		p.muted = false
		for _, lead := range []string{"ERROR collecting ", "ERROR at setup of ", "ERROR at teardown of ", "[doctest] "} {
			heading = strings.TrimPrefix(heading, lead)
		}
		p.fail(heading, l.n)
	case c == '-' && strings.HasPrefix(heading, "Captured "):
		p.muted = true
	case c == '-' && strings.HasPrefix(heading, ">> "): // nose
		p.muted = strings.HasPrefix(heading, ">> begin")
	case c == '-' && p.section == sectionPytest && strings.HasPrefix(heading, "coverage"):
		p.close()
		p.section = sectionMuted
	default:
		return false
	}
	return true
}

// equalsRule takes pytest's headings.
func (p *parser) equalsRule(l line, heading string) {
	p.close()
	switch {
	case heading == "FAILURES" || heading == "ERRORS":
		p.section = sectionPytest
	case strings.HasPrefix(heading, "short test summary"):
		p.section = sectionShort
	case strings.HasPrefix(heading, "warnings summary") || strings.HasPrefix(heading, "slowest"):
		p.section = sectionMuted
	case counted(heading):
		p.section = sectionNone
		p.summarise(heading, l.n)
	default:
		p.section = sectionNone
	}
}

// header takes a line that names a test that failed.
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
		if b := strings.TrimSpace(plain(p.before)); !strings.Contains(name, "(") && strings.HasPrefix(b, "test") && strings.HasSuffix(b, ")") {
			name = b // unittest writes a test's docstring below its name
		}
	}
	f := p.fail(name, l.n)
	if rest != "" && len(f.traces) == 0 {
		f.suggest(note{rest, l.n})
	}
	return true
}

// begun takes lines that name a test before its verdict: Go's, Ant's, GoogleTest's. What is said in between is the test's.
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

// failedName returns the name of the test that a line says has failed, and the message if it has one.
func failedName(l line, in section) (name, message string) {
	t := l.text
	if in == sectionMuted {
		return "", ""
	}
	switch t[0] {
	case '-':
		if s, ok := strings.CutPrefix(t, "--- FAIL: "); ok {
			return beforeDuration(s), ""
		}
		if s, ok := strings.CutSuffix(t, " *** FAILED ***"); ok {
			return strings.TrimPrefix(s, "- "), ""
		}
	case '[':
		if s, ok := strings.CutPrefix(t, "[  FAILED  ] "); ok && !strings.Contains(s, " test") {
			s, _, _ = strings.Cut(s, ", where")
			return beforeDuration(s), ""
		}
		for _, lead := range []string{"[Fail] ", "[FAIL] "} {
			if s, ok := strings.CutPrefix(t, lead); ok {
				return s, ""
			}
		}
	case 'n':
		if s, ok := strings.CutPrefix(t, "not ok "); ok {
			s = strings.TrimLeft(s, "0123456789")
			s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "- "))
			if s, directive, _ := strings.Cut(s, " # "); !strings.HasPrefix(directive, "TODO") && !strings.HasPrefix(directive, "SKIP") {
				return s, ""
			}
		}
	case '{':
		return goJSON(t)
	case 'F', 'E', 'f', 'T', 'r', '#':
		if name, message := leadingVerdict(t, in); name != "" {
			return name, message
		}
	}
	if name := crossed(l); name != "" {
		return name, ""
	}
	return trailingVerdict(t)
}

// leadingVerdict takes a verdict in front of a name.
func leadingVerdict(t string, in section) (name, message string) {
	for _, lead := range []string{"FAILED ", "ERROR ", "FAIL ", "FAILED: ", "FAIL: ", "Failed "} {
		s, ok := strings.CutPrefix(t, lead)
		if !ok {
			continue
		}
		switch {
		case strings.Contains(s, ".py::") && !strings.HasPrefix(s, "  "): // pytest
			name, message, _ = strings.Cut(s, " - ")
			return strings.TrimSpace(name), message
		case in == sectionShort && lead == "ERROR " && strings.Contains(s, ".py"):
			name, message, _ = strings.Cut(s, " - ")
			return name, message
		case lead == "FAIL " && strings.Contains(s, " > "): // vitest
			return strings.TrimSpace(s), ""
		case lead == "FAIL " && strings.HasPrefix(strings.TrimSpace(s), "["): // nextest: FAIL [   0.005s] crate test
			if _, after, ok := strings.Cut(s, "]"); ok {
				return strings.TrimSpace(after), ""
			}
		case lead == "FAIL: " && !strings.Contains(s, ": "), lead == "FAILED: " && !strings.ContainsAny(s, " /"):
			return s, ""
		case lead == "Failed " && strings.HasSuffix(s, "]") && strings.Contains(s, " ["): // dotnet test
			return s[:strings.LastIndex(s, " [")], ""
		}
	}
	if s, ok := strings.CutPrefix(t, "rspec "); ok {
		if _, name, ok := strings.Cut(s, " # "); ok {
			return name, s[:len(s)-len(name)-3]
		}
	}
	if s, ok := strings.CutPrefix(t, "Test Case '"); ok && strings.Contains(s, "' failed (") {
		name, _, _ = strings.Cut(s, "'")
		return name, ""
	}
	if _, s, ok := strings.Cut(t, "Failed test '"); ok && t[0] == '#' {
		return strings.TrimRight(s, "'."), ""
	}
	return "", ""
}

// crosses are marks that test runners put before a test that failed.
var crosses = []string{"✖ ", "✗ ", "✕ ", "✘ ", "× ", "❌ ", "● "}

// crossed returns the name behind a cross.
func crossed(l line) string {
	for _, mark := range crosses {
		s, ok := strings.CutPrefix(l.text, mark)
		if !ok {
			continue
		}
		s = strings.TrimSpace(s)
		if mark == "● " && (!strings.Contains(s, " › ") && s != "Test suite failed to run" && l.indent > 2 || strings.HasPrefix(s, "Console") || strings.HasPrefix(s, "Deprecat") || strings.HasPrefix(s, "Validation")) {
			return ""
		}
		if s == "" || strings.HasPrefix(s, "Build failed") || counted(s) || strings.Contains(s, " problem") || placedError(s) {
			return ""
		}
		return beforeDuration(s)
	}
	return ""
}

// trailingVerdict takes a verdict behind a name.
func trailingVerdict(t string) (name, message string) {
	if !strings.ContainsAny(t[len(t)-1:], "DLR]d)!c") {
		return "", ""
	}
	if i := strings.Index(t, " <<< "); i > 0 { // surefire
		if s := t[i+5:]; (strings.HasPrefix(s, "FAILURE!") || strings.HasPrefix(s, "ERROR!")) && !strings.HasPrefix(t, "Tests run:") {
			name, _, _ = strings.Cut(t, "Time elapsed")
			return strings.TrimRight(name, " -\t"), ""
		}
		return "", ""
	}
	for _, tail := range []string{" FAILED", " ... FAIL", " ... ERROR", " [FAIL]", " ... failed"} {
		s, ok := strings.CutSuffix(t, tail)
		if !ok {
			if tail == " FAILED" && strings.Contains(t, ".py::") { // … FAILED [ 66%]
				if s, after, ok := strings.Cut(t, " FAILED "); ok && strings.HasSuffix(after, "%]") {
					return strings.TrimSpace(s), ""
				}
			}
			continue
		}
		switch {
		case tail == " FAILED":
			if s, ok := strings.CutPrefix(s, "test "); ok && strings.HasSuffix(s, " ...") { // Rust
				return strings.TrimSuffix(strings.TrimSuffix(s, " ..."), " - should panic"), ""
			}
			return namedFailed(s), ""
		default:
			return strings.TrimPrefix(s, "test "), ""
		}
	}
	if i := strings.Index(t, "***"); i > 0 && !strings.HasPrefix(t[i:], "****") { // ctest: ***Failed, ***Not Run, ***Timeout
		if _, s, ok := strings.Cut(t[:i], ": "); ok && strings.Contains(t[:i], "Test ") {
			return strings.TrimRight(s, " ."), ""
		}
	}
	for _, tail := range []string{"(Failed)", "(Not Run)", "(Timeout)", "(SEGFAULT)"} {
		if s, ok := strings.CutSuffix(t, tail); ok {
			if n, s, ok := strings.Cut(s, " - "); ok && strings.Trim(n, "0123456789 ") == "" {
				return strings.TrimSpace(s), ""
			}
		}
	}
	return "", ""
}

// namedFailed returns what stands before FAILED if it is a test's name: Gradle's, a node of pytest, a browser's, Ant's, Bazel's.
func namedFailed(s string) string {
	if name, ok := strings.CutPrefix(s, "Testcase: "); ok {
		return strings.TrimRight(name, ":\t ")
	}
	if class, method, ok := strings.Cut(s, " > "); ok && !strings.HasPrefix(s, "> ") && !strings.HasPrefix(s, ":") {
		if !strings.ContainsAny(class, " /") && !strings.Contains(method, " > ") {
			return class + "." + strings.TrimSuffix(method, "()")
		}
		return s
	}
	switch {
	case strings.HasPrefix(s, "> Task ") || strings.HasPrefix(s, ":"), s == "BUILD":
		return ""
	case strings.Contains(s, "::"), strings.HasPrefix(s, "//"):
		return strings.TrimSpace(s)
	case strings.HasPrefix(s, "Test "):
		return strings.TrimPrefix(s, "Test ")
	}
	if i := strings.Index(s, ") "); i > 0 { // karma: Chrome 60.0.3112 (Linux 0.0.0) Suite test
		for _, b := range []string{"Chrome", "Headless", "Firefox", "PhantomJS", "Safari", "Edge", "IE ", "Opera"} {
			if strings.HasPrefix(s, b) {
				return s[i+2:]
			}
		}
	}
	return ""
}

// beforeDuration cuts a duration in brackets from the end of a name.
func beforeDuration(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndex(s, " ("); i > 0 && strings.HasSuffix(s, ")") && i+2 < len(s) && digit(s[i+2]) && strings.HasSuffix(strings.TrimSuffix(s, ")"), "s") {
		return strings.TrimSpace(s[:i])
	}
	for _, unit := range []string{"ms", "s"} {
		if t, ok := strings.CutSuffix(s, unit); ok {
			u := strings.TrimRight(t, "0123456789.")
			if len(u) < len(t) && strings.HasSuffix(u, " ") {
				return strings.TrimSpace(u)
			}
		}
	}
	return s
}

// numbered takes the entries of a numbered list of failures; a title may take several lines.
func (p *parser) numbered(l line) bool {
	t := l.text
	if n, rest, ok := entry(t); ok && (p.list > 0 && n == p.list || n == 1 && selfEvident(rest)) {
		p.finishTitle()
		p.list = n + 1
		p.section = sectionNone
		p.title, p.titleAt = []string{rest}, l.n
		if strings.HasSuffix(rest, ":") && rest != "Failure:" && rest != "Error:" || strings.Contains(rest, "::") || selfEvident(rest) && strings.HasSuffix(rest, ")") {
			p.finishTitle()
		}
		return true
	}
	if len(p.title) == 0 {
		return false
	}
	if t == "Message:" { // jasmine
		p.finishTitle()
		p.next = true
		return true
	}
	last := p.title[len(p.title)-1]
	if last == "Failure:" || last == "Error:" { // minitest: the name is on the next line
		p.title = []string{strings.TrimSuffix(t, ":")}
		if i := strings.Index(t, " ["); i > 0 {
			p.title[0] = t[:i]
		}
		p.finishTitle()
		if at, ok := findPlace(t); ok {
			p.open.frame(note{t[at.from:at.to], l.n})
		}
		return true
	}
	if len(p.title) > 8 || strings.HasPrefix(t, "Failure/Error") || errorClass(t) > 0 || strings.HasPrefix(t, "at ") {
		p.finishTitle()
		return false
	}
	p.title = append(p.title, t)
	if strings.HasSuffix(t, ":") {
		p.finishTitle()
	}
	return true
}

// finishTitle opens the finding whose title is complete.
func (p *parser) finishTitle() {
	if len(p.title) > 0 {
		name := strings.Join(p.title, " ")
		p.title = nil
		p.fail(name, p.titleAt)
	}
}

// selfEvident tells that an entry begins a list of failures although nothing announced one.
func selfEvident(s string) bool {
	return s == "Failure:" || s == "Error:" || strings.HasPrefix(s, "test ") && strings.HasSuffix(s, ")")
}

// entry reads "12) text".
func entry(t string) (n int, rest string, ok bool) {
	i := 0
	for i < len(t) && i < 5 && digit(t[i]) {
		n = n*10 + int(t[i]-'0')
		i++
	}
	if i == 0 || i+2 >= len(t) || t[i] != ')' || t[i+1] != ' ' {
		return 0, "", false
	}
	return n, strings.TrimSpace(t[i+2:]), true
}

// results takes Maven's list of failed tests: Class.method:40->helper:20 » Message.
func (p *parser) results(l line) bool {
	t := l.text
	switch {
	case strings.HasPrefix(t, "Failed tests:"), strings.HasPrefix(t, "Tests in error:"), (t == "Failures:" || t == "Errors:") && l.level == levelError:
		p.close()
		p.section = sectionResults
		if _, rest, _ := strings.Cut(t, ":"); strings.TrimSpace(rest) != "" {
			p.result(strings.TrimSpace(rest), l.n)
		}
		return true
	case p.section != sectionResults:
		return false
	case strings.HasPrefix(t, "Tests run:"), l.indent < 2 && !strings.ContainsAny(t, ".(:"), strings.HasPrefix(t, "["):
		p.section = sectionNone
		return false
	}
	return p.result(t, l.n)
}

func (p *parser) result(t string, n int) bool {
	for _, lead := range []string{"Run ", "PASS"} {
		if strings.HasPrefix(t, lead) {
			return true
		}
	}
	name, message := t, ""
	if i := strings.IndexAny(t, " "); i > 0 {
		name, message = t[:i], strings.TrimLeft(t[i:], " »Â\u00bb")
	}
	if i := strings.IndexAny(name, ":"); i > 0 {
		name = name[:i]
	}
	if i := strings.Index(name, "->"); i > 0 {
		name = name[:i]
	}
	if !strings.ContainsAny(name, ".(") || strings.HasPrefix(name, "(") {
		return false
	}
	f := p.fail(strings.TrimSuffix(name, ":"), n)
	p.open = nil
	if message != "" && len(f.traces) == 0 {
		f.suggest(note{message, n})
	}
	return true
}

// goJSON reads an event of go test -json that says that a test has failed.
func goJSON(t string) (name, message string) {
	if !strings.Contains(t, `"Action":"fail"`) {
		return "", ""
	}
	_, s, ok := strings.Cut(t, `"Test":"`)
	if !ok {
		return "", ""
	}
	name, _, _ = strings.Cut(s, `"`)
	return name, ""
}
