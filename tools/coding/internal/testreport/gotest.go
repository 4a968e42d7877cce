package testreport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// goEvent is one line of "go test -json" (cmd/test2json and cmd/go's build events).
type goEvent struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string
	FailedBuild string
	Elapsed     float64
}

type goTestKey struct{ pkg, test string }

type goTestRun struct {
	out       clipBuf
	subFailed bool // a subtest failed, so this failure merely follows from it
}

// goTestParser processes the events of a run. Output of passing tests is dropped as soon as they
// pass.
type goTestParser struct {
	rep   *Report
	log   io.Writer
	paths Paths
	open  map[goTestKey]*goTestRun
	pkgs  map[string]*clipBuf // output of packages outside any test
	raw   clipBuf             // lines that are not events
	none  map[string]bool     // packages in which no test was selected
	last  Diagnostic          // build error to which continuation lines belong
	bad   map[string]bool     // packages with a failing test
}

// parseGoTestJSON reads the output of "go test -json". Lines that are not events, which older tool
// chains print for build failures, are parsed as compiler output.
func parseGoTestJSON(r io.Reader, paths Paths) (*Report, error) {
	return ParseGoTest(r, paths, io.Discard)
}

// ParseGoTest also writes to log the text that "go test -v" would print.
func ParseGoTest(r io.Reader, paths Paths, log io.Writer) (*Report, error) {
	p := &goTestParser{log: log, rep: &Report{}, paths: paths, open: map[goTestKey]*goTestRun{}, pkgs: map[string]*clipBuf{}, bad: map[string]bool{}, none: map[string]bool{}}
	err := eachLine(r, func(line []byte, whole bool) {
		var ev goEvent
		if whole && len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &ev) == nil && ev.Action != "" {
			_, _ = io.WriteString(p.log, ev.Output) // a write error is ignored: the log keeps what it can
			p.event(&ev)
			return
		}
		_, _ = p.log.Write(append(line, '\n'))
		p.rawLine(string(line))
	})
	p.flushBuild()
	p.unfinished()
	return p.rep, err
}

func (p *goTestParser) event(ev *goEvent) {
	switch ev.Action {
	case "build-output":
		for line := range strings.Lines(ev.Output) {
			p.buildLine(strings.TrimRight(line, "\r\n"))
		}
	case "build-fail":
		p.flushBuild()
	case "run":
		if len(p.open) < maxTestOpen {
			p.open[goTestKey{ev.Package, ev.Test}] = &goTestRun{}
		}
	case "output":
		p.output(ev)
	case "pass", "fail", "skip":
		if ev.Test == "" {
			p.endPackage(ev)
			return
		}
		p.endTest(ev)
	}
}

func (p *goTestParser) output(ev *goEvent) {
	p.noteOutput(ev)
	if ev.Test != "" {
		if run := p.open[goTestKey{ev.Package, ev.Test}]; run != nil && !isGoChatter(ev.Output) {
			run.out.add(ev.Output)
		}
		return
	}
	c := p.pkgs[ev.Package]
	if c == nil {
		if len(p.pkgs) >= maxTestOpen {
			return
		}
		c = &clipBuf{}
		p.pkgs[ev.Package] = c
	}
	c.add(ev.Output)
}

// noteOutput handles output that changes how the counts must be interpreted.
func (p *goTestParser) noteOutput(ev *goEvent) {
	out := strings.TrimSpace(ev.Output)
	switch {
	case out == "WARNING: DATA RACE":
		p.rep.Note("data race detected in " + strings.TrimSpace(ev.Package+" "+ev.Test))
	case strings.HasPrefix(out, "panic: test timed out after"):
		p.rep.Note(out[len("panic: "):] + " in " + ev.Package)
	case out == "testing: warning: no tests to run":
		p.none[ev.Package] = true
	}
}

// isGoChatter reports whether s is one of the lines with which package testing announces state.
func isGoChatter(s string) bool {
	s = strings.TrimLeft(s, " ")
	if strings.HasPrefix(s, "testing.go:") && strings.HasSuffix(s, ": race detected during execution of test\n") {
		return true
	}
	for _, prefix := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ", "=== ATTR ", "--- FAIL: ", "--- PASS: ", "--- SKIP: "} {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}

func (p *goTestParser) endTest(ev *goEvent) {
	key := goTestKey{ev.Package, ev.Test}
	run := p.open[key]
	delete(p.open, key)
	switch ev.Action {
	case "pass":
		p.rep.Passed++
	case "skip":
		p.rep.Skipped++
	case "fail":
		p.failTest(key, run, "")
	}
}

// failTest counts one failing test. A parent test that failed only because a subtest did is
// counted, as in "go test", but not listed: its subtest has the reason.
func (p *goTestParser) failTest(key goTestKey, run *goTestRun, otherwise string) {
	p.rep.Failed++
	p.bad[key.pkg] = true
	if i := strings.LastIndexByte(key.test, '/'); i > 0 {
		if parent := p.open[goTestKey{key.pkg, key.test[:i]}]; parent != nil {
			parent.subFailed = true
		}
	}
	var text string
	if run != nil {
		text = run.out.String()
	}
	msg := dedent(goMessage(text))
	if msg == "" {
		if run != nil && run.subFailed {
			return
		}
		msg = otherwise
	}
	p.rep.fail(Failure{Suite: key.pkg, Name: key.test, Message: msg, Frames: p.paths.frames(text, p.pkgDir(key.pkg))})
}

// goMessage cuts the goroutine dump off a panic; its frames are reported separately.
func goMessage(text string) string {
	if i := strings.Index(text, "panic: "); i >= 0 {
		if j := strings.Index(text[i:], "\ngoroutine "); j >= 0 {
			return text[:i+j]
		}
	}
	return text
}

// pkgDir returns the workspace directory of a package of the module under test, or "".
func (p *goTestParser) pkgDir(pkg string) string {
	if p.paths.Module == "" {
		return ""
	}
	rest, ok := strings.CutPrefix(pkg, p.paths.Module)
	if !ok || rest != "" && rest[0] != '/' {
		return ""
	}
	return path.Join(p.paths.Dir, "./"+rest)
}

func (p *goTestParser) endPackage(ev *goEvent) {
	p.rep.Complete = true
	p.rep.Elapsed = max(p.rep.Elapsed, time.Duration(ev.Elapsed*float64(time.Second)))
	out := p.pkgs[ev.Package]
	delete(p.pkgs, ev.Package)
	switch ev.Action {
	case "skip":
		p.rep.Note("no test files in " + ev.Package)
	case "pass":
		if p.none[ev.Package] {
			p.rep.Note("no tests to run in " + ev.Package)
		}
	case "fail":
		p.failPackage(ev, out)
	}
}

// failPackage reports a package that failed for another reason than a failing test: its build,
// TestMain, or a test that ended the process.
func (p *goTestParser) failPackage(ev *goEvent, out *clipBuf) {
	if ev.FailedBuild != "" {
		p.rep.Errors++
		p.rep.fail(Failure{Suite: ev.Package, Message: buildFailed})
		return
	}
	ended := p.endOpen(ev.Package, "did not finish: the test process ended while it ran (os.Exit, a crash or the time limit)")
	if ended || p.bad[ev.Package] || out == nil {
		return
	}
	text := out.String()
	p.rep.Errors++
	p.rep.fail(Failure{Suite: ev.Package, Message: goMessage(text), Frames: p.paths.frames(text, p.pkgDir(ev.Package))})
}

// endOpen fails the tests of pkg that never ended, innermost first. If pkg is "", it fails those of
// all packages.
func (p *goTestParser) endOpen(pkg, why string) (any bool) {
	var keys []goTestKey
	for k := range p.open {
		if pkg == "" || k.pkg == pkg {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b goTestKey) int {
		deep := strings.Count(b.test, "/") - strings.Count(a.test, "/")
		return cmp.Or(deep, strings.Compare(a.pkg, b.pkg), strings.Compare(a.test, b.test))
	})
	for _, k := range keys {
		run := p.open[k]
		p.failTest(k, run, why)
		delete(p.open, k)
		any = true
	}
	return any
}

// unfinished closes a stream that ended early, as after a killed run.
func (p *goTestParser) unfinished() {
	if p.endOpen("", "did not finish: the run ended while it ran") {
		p.rep.Complete = false
	}
	if raw := strings.TrimSpace(p.raw.String()); raw != "" && p.rep.ran() == 0 && len(p.rep.Build) == 0 {
		p.rep.Note(raw)
	}
}

// rawLine parses a line that is not an event.
func (p *goTestParser) rawLine(line string) {
	line = string(bytes.ToValidUTF8([]byte(line), []byte("\uFFFD")))
	if !p.buildLine(line) {
		p.raw.add(line + "\n")
	}
}

// buildLine parses one line of compiler output: a header, an error, or the continuation of one.
func (p *goTestParser) buildLine(line string) bool {
	if strings.HasPrefix(line, "# ") {
		p.flushBuild()
		return true
	}
	if strings.HasPrefix(line, "\t") && p.last.Message != "" {
		if len(p.last.Message) < maxTestMessage {
			p.last.Message += "\n" + line
		}
		return true
	}
	p.flushBuild()
	d, ok := parsePositioned(strings.TrimPrefix(line, "vet: "), "go", p.paths)
	if ok && strings.HasSuffix(d.Path, ".go") {
		d.Severity = "error"
		p.last = d
		return true
	}
	return false
}

func (p *goTestParser) flushBuild() {
	if p.last.Message != "" {
		p.rep.build(p.last)
		p.last = Diagnostic{}
	}
}
