package verify

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// results is the output of a test binary with -test.v=test2json, sorted by top-level test.
type results struct {
	passed, failed, skipped []string
	failing                 []string                 // tests and subtests that fail
	unfinished              []string                 // tests running when the binary ended
	took                    map[string]time.Duration // durations as printed, only of finished tests
	text                    map[string]string        // output of each test, without the framing of passing parts
	rest                    string                   // output outside of any test
	panicked, timedOut      bool
}

// frame is the prefix that package testing writes before its own lines in this mode, so that a
// test's output cannot be mistaken for them.
const frame = "\x16"

var (
	finished = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) \((\d+\.\d+)s\)$`)
	running  = regexp.MustCompile(`^=== (RUN|NAME|CONT|PAUSE) *(\S*)$`)
	hanging  = regexp.MustCompile(`^\t((?:Test|Example|Fuzz)\S*) \(`)
)

// parseOutput parses the output of a test binary.
func parseOutput(out []byte) *results {
	r := &results{took: map[string]time.Duration{}, text: map[string]string{}}
	current := ""
	text := map[string]*strings.Builder{}
	var order []string
	put := func(line string) {
		b := text[current]
		if b == nil {
			b = new(strings.Builder)
			text[current] = b
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	started := func(name string) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	done := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\n"), "\n") {
		before, framed, ok := strings.Cut(line, frame)
		if !ok {
			if line == "warning: GOCOVERDIR not set, no coverage data emitted" ||
				strings.HasPrefix(line, "coverage: ") && strings.HasSuffix(line, "of statements") {
				continue // this line is printed because coverage is measured
			}
			r.note(line)
			put(line)
			continue
		}
		if before != "" {
			put(before)
		}
		if m := running.FindStringSubmatch(framed); m != nil {
			current = repair.TopTest(m[2])
			if current != "" && m[1] != "NAME" {
				started(current)
			}
			continue
		}
		m := finished.FindStringSubmatch(framed)
		if m == nil {
			put(framed)
			continue
		}
		current = repair.TopTest(m[2])
		if m[1] == "FAIL" {
			put(strings.TrimRight(framed, " "))
			r.failing = append(r.failing, m[2])
		}
		if m[2] != current { // the line belongs to a subtest
			continue
		}
		done[current] = true
		seconds, _ := strconv.ParseFloat(m[3], 64)
		r.took[current] = time.Duration(seconds * float64(time.Second))
		switch m[1] {
		case "PASS":
			r.passed = append(r.passed, current)
		case "FAIL":
			r.failed = append(r.failed, current)
		case "SKIP":
			r.skipped = append(r.skipped, current)
		}
	}
	for _, name := range order {
		if !done[name] {
			r.unfinished = append(r.unfinished, name)
		}
	}
	for name, b := range text {
		r.text[name] = b.String()
	}
	r.rest = r.text[""]
	return r
}

// note records signs that the binary ended prematurely.
func (r *results) note(line string) {
	switch {
	case strings.HasPrefix(line, "panic: test timed out after"):
		r.timedOut = true
	case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
		r.panicked = true
	}
}

// hung returns the tests that package testing listed as running when the time limit was reached.
func hung(out []byte) []string {
	_, after, ok := bytes.Cut(out, []byte("\nrunning tests:\n"))
	if !ok {
		if _, after, ok = bytes.Cut(out, []byte("\n\trunning tests:\n")); !ok {
			return nil
		}
	}
	var names []string
	for line := range bytes.SplitSeq(after, []byte("\n")) {
		m := hanging.FindSubmatch(bytes.TrimPrefix(line, []byte("\t")))
		if m == nil {
			break
		}
		if name := repair.TopTest(string(m[1])); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// report returns the output of the failing tests, in the order of failed, followed by the output
// that explains a premature end of the binary, if there is any.
func (r *results) report(failed []string) string {
	var b strings.Builder
	for _, name := range failed {
		b.WriteString(r.text[name])
	}
	for line := range strings.SplitSeq(r.rest, "\n") {
		switch {
		case line == "", line == "PASS", line == "FAIL", strings.HasPrefix(line, "exit status "):
		default:
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
