// Package testreport parses the output of test runners and linters, and writes a test run's outcome
// for a model. It runs nothing: each parser reads a stream in one program's format, and keeps
// limited parts of it and exact counts.
package testreport

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The limits of a test report. They keep a runner that prints endlessly, or that fails a million
// tests, from filling memory; counts stay exact.
const (
	maxTestFailures = 200     // failures kept with their messages
	maxTestMessage  = 4 << 10 // bytes of one failure's message
	maxTestFrames   = 5       // project frames of one failure
	maxTestNotes    = 20
	maxTestBuild    = 100     // build diagnostics
	maxTestLine     = 1 << 20 // bytes of one line; the rest of a longer line is dropped
	maxTestOpen     = 50_000  // tests running at the same time
)

// Report is the outcome of a run of a project's tests.
type Report struct {
	Passed, Failed, Skipped int
	Errors                  int           // suites that could not run: setup errors, import errors, crashed packages
	Failures                []Failure     // the first maxTestFailures of Failed and Errors
	Build                   []Diagnostic  // compile errors
	Notes                   []string      // what a reader must know besides the counts, such as a data race
	Elapsed                 time.Duration // as reported by the runner; 0 if it does not report it
	Complete                bool          // the runner's own closing summary was seen
}

// Failure is one failing test, or one suite that could not run (Name is empty then).
type Failure struct {
	Suite   string // Go package, test file or crate target
	Name    string
	Message string
	Frames  []Frame // in the project's own files, the failing one first
}

// Frame is a position in a stack trace.
type Frame struct {
	Path string
	Line int
}

func (f Frame) String() string { return f.Path + ":" + strconv.Itoa(f.Line) }

// ran returns the number of tests with a verdict.
func (r *Report) ran() int { return r.Passed + r.Failed }

func (r *Report) fail(f Failure) {
	if len(r.Failures) < maxTestFailures {
		f.Message = strings.TrimRight(f.Message, "\n ")
		r.Failures = append(r.Failures, f)
	}
}

// Note adds something that a reader must know besides the counts. Duplicates and notes beyond the
// limit are dropped.
func (r *Report) Note(s string) {
	if s = strings.TrimSpace(s); s != "" && len(r.Notes) < maxTestNotes && !slices.Contains(r.Notes, s) {
		r.Notes = append(r.Notes, s)
	}
}

func (r *Report) build(d Diagnostic) {
	if len(r.Build) < maxTestBuild && !slices.Contains(r.Build, d) {
		r.Build = append(r.Build, d)
	}
}

// Paths describes where the tests ran, so that the positions a runner prints can be converted to
// workspace paths.
type Paths struct {
	Root   string // absolute path of the workspace as the runner saw it
	Dir    string // working directory of the runner, relative to Root; "." for Root
	Module string // the Go module path, if there is one
}

// rel converts a path that a runner printed to one relative to the workspace, and reports whether
// it is inside the workspace.
func (p Paths) rel(name string) (string, bool) {
	name = strings.ReplaceAll(strings.TrimPrefix(name, "file://"), `\`, "/")
	if !path.IsAbs(name) && !(len(name) > 2 && name[1] == ':') {
		name = path.Join(cmp.Or(p.Dir, "."), name)
		return name, name != ".." && !strings.HasPrefix(name, "../")
	}
	root := strings.TrimSuffix(strings.ReplaceAll(p.Root, `\`, "/"), "/")
	if root == "" {
		return name, false
	}
	rest, ok := strings.CutPrefix(path.Clean(name), root+"/")
	return rest, ok
}

// thirdParty matches path elements below which files do not belong to the project.
var thirdParty = regexp.MustCompile(`(^|/)(node_modules|site-packages|dist-packages|vendor|\.venv|venv|\.tox|\.nox|pkg/mod|\.cargo|target|node:internal)/`)

// frameAt matches a position in any of the languages whose runners are parsed. Group 3 or 4 is the
// line.
var frameAt = regexp.MustCompile(`((?:[A-Za-z]:)?[^\s"'():<>\[\]]+\.(go|py|rs|js|jsx|ts|tsx|mjs|cjs|mts|cts|vue|svelte))(?::(\d+)|", line (\d+))`)

// frames returns the project's own positions in text, in order and without repetition. A bare file
// name is assumed to be in dir.
func (p Paths) frames(text, dir string) []Frame {
	var out []Frame
	for _, m := range frameAt.FindAllStringSubmatch(text, 64) {
		name := m[1]
		if strings.HasPrefix(name, "/rustc/") || strings.HasSuffix(name, "_testmain.go") {
			continue
		}
		if dir != "" && !strings.ContainsAny(name, `/\`) {
			name = path.Join(dir, name)
		} else if rel, ok := p.rel(name); ok {
			name = rel
		} else {
			continue
		}
		line, err := strconv.Atoi(cmp.Or(m[3], m[4]))
		if f := (Frame{name, line}); err == nil && !thirdParty.MatchString(name) && !slices.Contains(out, f) {
			if out = append(out, f); len(out) == maxTestFrames {
				break
			}
		}
	}
	return out
}

// eachLine calls fn for every line of r without its line ending. For a line longer than maxTestLine
// only the beginning is passed; whole reports whether that is the complete line. The slice is valid
// only during the call.
func eachLine(r io.Reader, fn func(line []byte, whole bool)) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for {
		part, err := br.ReadSlice('\n')
		if err == bufio.ErrBufferFull || len(long) > 0 {
			long = append(long, part[:min(len(part), maxTestLine+1-min(len(long), maxTestLine+1))]...)
			part = long
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if len(part) > 0 {
			whole := len(part) <= maxTestLine
			fn(trimEOL(part[:min(len(part), maxTestLine)]), whole)
			long = long[:0]
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func trimEOL(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	return b
}

// clipBuf keeps the beginning and the end of a text in limited memory.
type clipBuf struct {
	head, tail []byte
	dropped    int
}

const clipHead, clipTail = maxTestMessage / 2, maxTestMessage / 2

func (c *clipBuf) add(s string) {
	if room := clipHead - len(c.head); room > 0 && len(c.tail) == 0 {
		n := min(room, len(s))
		c.head, s = append(c.head, s[:n]...), s[n:]
	}
	if s == "" {
		return
	}
	c.tail = append(c.tail, s...)
	// Compacting only at twice the size keeps the total copying linear.
	if len(c.tail) > 2*clipTail {
		c.cut()
	}
}

func (c *clipBuf) cut() {
	if over := len(c.tail) - clipTail; over > 0 {
		c.dropped += over
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
}

func (c *clipBuf) String() string {
	c.cut()
	if c.dropped == 0 {
		return string(c.head) + string(c.tail)
	}
	return string(c.head) + "\n[... " + strconv.Itoa(c.dropped) + " bytes omitted ...]\n" + string(c.tail)
}

// dedent removes the indentation that all non-blank lines of s share, and blank lines around it.
func dedent(s string) string {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	indent := -1
	for _, l := range lines {
		if t := strings.TrimLeft(l, " \t"); t != "" && (indent < 0 || len(l)-len(t) < indent) {
			indent = len(l) - len(t)
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimRight(l[min(max(indent, 0), len(l)):], " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
