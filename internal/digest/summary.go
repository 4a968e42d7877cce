package digest

import "strings"

// summary handles a line that counts tests or reports how a build ended.
func (p *parser) summary(l line) bool {
	if l.cues&(cueSummary|cueFail|cueError) == 0 {
		return false
	}
	t := l.text
	switch {
	case t == "Failures:" || strings.HasPrefix(t, "There was 1 ") || strings.HasPrefix(t, "There were ") && strings.HasSuffix(t, ":"):
		p.close()
		p.list = 1
		return true
	case strings.HasPrefix(t, "Tests run:"):
		if strings.Contains(t, "Time elapsed") && (l.level != levelNone || strings.Contains(t, " in ") || !failing(t)) {
			return true // summary of one class, whose failures are listed by name
		}
	case strings.HasPrefix(t, "Ran ") && strings.Contains(t, " test"), verdict(t, l.cues):
		p.close()
		p.section = sectionNone
	case counted(t):
		if strings.HasSuffix(t, " failing") {
			p.close()
			p.list = 1
		}
	default:
		return false
	}
	p.summarise(t, l.n)
	return true
}

// verdicts are the beginnings of lines that end a test run or a build.
var verdicts = newPrefixes(
	"BUILD FAIL", "BUILD SUCCESS", "FAILED (", "test result: ", "Test Suites: ", "Tests: ", "Test Files ", "Tests  ", "DONE ", "FAIL\t",
	"ERROR in ", "Found ", "[  FAILED  ] ", "[  PASSED  ] ", "FAILED SUMMARY", "** BUILD FAILED", "FAILURE: Build", "Failed!  - Failed:", "Result: FAIL", "Build FAILED",
	"Finished in ", "Test run failed", "Executed ", "Total tests: ", "** TEST FAILED",
)

func verdict(t string, c cue) bool {
	i := verdicts.of(t)
	if i < 0 {
		return c&cueSummary != 0 && (strings.HasSuffix(t, " tests failed") || strings.Contains(t, "% tests passed") || strings.Contains(t, " problems (") || strings.Contains(t, " examples, ") ||
			strings.Contains(t, " runs, ") && strings.Contains(t, " assertions, "))
	}
	v := verdicts.list[i]
	switch v {
	case "Found ":
		return strings.Contains(t, " error") && !strings.HasPrefix(t, "Found 0")
	case "[  FAILED  ] ", "[  PASSED  ] ":
		return strings.Contains(t, " test")
	case "Tests: ", "Tests  ", "Test Suites: ", "Test Files ", "DONE ", "Executed ", "Finished in ", "Total tests: ":
		rest := strings.TrimLeft(t[len(v):], " ")
		return rest != "" && digit(rest[0]) && len(t) < 200
	case "ERROR in ", "FAIL\t":
		return len(t) < 300
	}
	return true
}

// countWords are the words that follow the numbers in a summary.
var countWords = set("failed passed error errors failures failure skipped warnings warning failing passing pending tests test xfailed xpassed deselected examples " +
	"example runs specs spec scenarios scenario steps succeeded problems problem suites total")

// counted reports whether a line has counts such as "1 failed, 24 passed in 0.31s", "3 failing" or
// "47 tests completed, 7 failed".
func counted(t string) bool {
	for _, mark := range crosses {
		t = strings.TrimPrefix(t, mark)
	}
	for _, mark := range []string{"✔ ", "✓ ", "ℹ "} {
		t = strings.TrimPrefix(t, mark)
	}
	i := 0
	for i < len(t) && digit(t[i]) {
		i++
	}
	if i == 0 || i > 9 || i == len(t) || t[i] != ' ' || len(t) > 200 {
		return false
	}
	w := t[i+1:]
	j := 0
	for j < len(w) && letter(w[j]) {
		j++
	}
	if !countWords[w[:j]] {
		return false
	}
	rest := w[j:]
	return rest == "" || rest[0] == ',' || rest[0] == ';' || rest[0] == '.' || strings.HasPrefix(rest, " in ") || strings.HasPrefix(rest, " (") ||
		strings.HasPrefix(rest, " completed") || strings.HasPrefix(rest, " passed") || strings.HasPrefix(rest, " failed") || strings.HasPrefix(rest, " skipped") ||
		strings.HasPrefix(rest, " and ") && strings.Contains(rest, "generated") || rest == " generated." || strings.HasPrefix(rest, " of ")
}

// failing reports whether a summary counts a failure.
func failing(t string) bool {
	for _, lead := range []string{"Failures: ", "Errors: ", "failures=", "errors=", "FAIL"} {
		if i := strings.Index(t, lead); i >= 0 {
			if j := i + len(lead); lead == "FAIL" || j < len(t) && t[j] >= '1' && t[j] <= '9' {
				return true
			}
		}
	}
	for _, word := range []string{" failed", " failing", " failure", " error"} {
		if i := strings.Index(t, word); i > 0 && digit(t[i-1]) {
			j := i
			for j > 0 && digit(t[j-1]) {
				j--
			}
			if strings.Trim(t[j:i], "0") != "" {
				return true
			}
		}
	}
	return false
}

// summarise keeps the last summary of each form. The last summary with failures and the last one
// without failures are kept separately.
func (p *parser) summarise(t string, n int) {
	key := shape(t)
	if failing(t) {
		key = "-" + key
	}
	if i, ok := p.summaryAt[key]; ok {
		p.summaries[i] = note{t, n}
		return
	}
	if len(p.summaries) < 200 {
		p.summaryAt[key] = len(p.summaries)
		p.summaries = append(p.summaries, note{t, n})
	}
}
