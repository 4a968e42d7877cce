package digest

import "strings"

// failedName returns the name of the test that a line reports as failed, and its message if it has
// one.
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

// leadingVerdict handles a verdict before a name.
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

// crossed returns the name after a cross.
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

// trailingVerdict handles a verdict after a name.
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

// namedFailed returns the text before FAILED if it is a test name as written by Gradle, pytest,
// karma, Ant or Bazel.
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

// goJSON reads a go test -json event that reports a failed test.
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
