package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/sandbox"
)

// listed is a package in the output of go list.
type listed struct {
	ImportPath, Dir, ForTest  string
	Standard                  bool
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string
	Deps                      []string
	Module                    *struct {
		Path string
		Main bool
	}
	Error      *struct{ Err string }
	DepsErrors []*struct{ Err string }
}

// rel returns the path of a file of the package relative to the workspace, with slashes.
func (p *listed) rel(workspace, name string) string {
	dir, err := filepath.Rel(workspace, p.Dir)
	if err != nil {
		dir = p.Dir
	}
	return filepath.ToSlash(filepath.Join(dir, name))
}

// packageRun is the result of the tests of a package.
type packageRun struct {
	path    string
	failed  []string // top-level tests
	failing []string // the tests in failed, and their failing subtests
	passed  []string
	skipped []string
	text    map[string]string // output of each test; the key "" is for output of the package itself
	status  string            // pass, fail or skip
	build   string            // output of the compiler, if any
}

// ok reports whether the package passed or was skipped.
func (p *packageRun) ok() bool { return p.status != "fail" }

// output returns the output of the failing tests, and the output that explains a premature end of
// the run.
func (p *packageRun) output() string {
	var b strings.Builder
	for _, t := range append(slices.Clone(p.failed), "") {
		b.WriteString(p.text[t])
	}
	return b.String()
}

var (
	timedOut = regexp.MustCompile(`(?m)^panic: test timed out after`)
	panicked = regexp.MustCompile(`(?m)^(?:panic: |fatal error: )`)
	notBuilt = regexp.MustCompile(`(?m)^FAIL\s.* \[(?:build|setup) failed\]$`)
	hanging  = regexp.MustCompile(`(?m)^\t+((?:Test|Example|Fuzz|Benchmark)\S*) \(`)
)

func (p *packageRun) timedOut() bool { return timedOut.MatchString(p.output()) }

// hung returns the tests that were running when the time limit was reached.
func (p *packageRun) hung() []string {
	var names []string
	for _, m := range hanging.FindAllStringSubmatch(p.output(), -1) {
		names = append(names, repair.TopTest(m[1]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// goCommand runs the go command in the sandbox, in a directory below the workspace.
func (m *Module) goCommand(ctx context.Context, limit time.Duration, args ...string) (*sandbox.Exit, error) {
	exit, err := m.sb.Exec(ctx, sandbox.Cmd{Args: append([]string{"go"}, args...), Env: m.env, Timeout: limit, Limit: 64 << 20})
	if err != nil {
		return nil, fmt.Errorf("run go %s: %w", args[0], err)
	}
	return exit, nil
}

// runTests runs go test on packages and returns the results by import path.
func (m *Module) runTests(ctx context.Context, args ...string) (map[string]*packageRun, error) {
	all := append([]string{"test", "-json", "-vet=off", "-timeout=" + m.limit.String()}, args...)
	exit, err := m.goCommand(ctx, 5*time.Minute+10*m.limit, all...)
	if err != nil {
		return nil, err
	}
	if exit.TimedOut {
		return nil, problem("the tests did not end; give those that hang a shorter -timeout than %s", m.limit)
	}
	runs := readEvents(exit.Stdout.Bytes())
	if len(runs) == 0 && exit.Code != 0 {
		return nil, m.explain(exit.Stderr.String() + exit.Stdout.String())
	}
	return runs, nil
}

type testEvent struct{ Action, Package, Test, Output, ImportPath, FailedBuild string }

// readEvents parses the events of go test -json.
func readEvents(out []byte) map[string]*packageRun {
	runs := map[string]*packageRun{}
	texts := map[*packageRun]map[string]*strings.Builder{}
	builds := map[string]string{}
	started := map[*packageRun][]string{}
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, len(out)+1)
	for sc.Scan() {
		var e testEvent
		if json.Unmarshal(sc.Bytes(), &e) != nil {
			continue
		}
		if e.Action == "build-output" {
			builds[e.ImportPath] += e.Output
			continue
		}
		if e.Package == "" {
			continue
		}
		r := runs[e.Package]
		if r == nil {
			r = &packageRun{path: e.Package}
			runs[e.Package], texts[r] = r, map[string]*strings.Builder{}
		}
		top := repair.TopTest(e.Test)
		switch e.Action {
		case "output":
			if strings.HasPrefix(strings.TrimSpace(e.Output), "=== ") {
				break
			}
			if texts[r][top] == nil {
				texts[r][top] = &strings.Builder{}
			}
			texts[r][top].WriteString(e.Output)
		case "run":
			if e.Test == top {
				started[r] = append(started[r], top)
			}
		case "pass", "fail", "skip":
			if e.Action == "fail" && e.Test != "" {
				r.failing = append(r.failing, e.Test)
			}
			switch {
			case e.Test == "":
				r.status, r.build = e.Action, builds[e.FailedBuild]
			case e.Test != top:
			case e.Action == "fail":
				r.failed = append(r.failed, top)
			case e.Action == "pass":
				r.passed = append(r.passed, top)
			default:
				r.skipped = append(r.skipped, top)
			}
		}
	}
	for r, parts := range texts {
		r.text = map[string]string{}
		for name, b := range parts {
			r.text[name] = b.String()
		}
		r.unfinished(started[r])
	}
	return runs
}

// unfinished marks as failed the test that was running when the tests ended early.
func (r *packageRun) unfinished(started []string) {
	if r.status != "fail" || r.build != "" {
		return
	}
	rest := slices.DeleteFunc(started, func(t string) bool { return slices.Contains(slices.Concat(r.failed, r.passed, r.skipped), t) })
	if len(r.failed) == 0 && len(rest) > 0 {
		r.failed = append(r.failed, rest[len(rest)-1])
	}
}

var (
	missingModule = regexp.MustCompile(`([\w.~/-]+\.[\w.~/-]+@v[\w.+-]+)(?:: | \()[^\n]*(?:GOPROXY=off|module lookup disabled|no such file)`)
	missingPath   = regexp.MustCompile(`(?:no required module provides package|cannot find module providing package|module lookup disabled by GOPROXY=off.*?|finding module for package) ([\w.~/-]+\.[\w.~/-]+)`)
	unwritable    = regexp.MustCompile(`cache/download/(\S+?): (?:read-only file system|permission denied)`)
	missingSum    = regexp.MustCompile(`missing go\.sum entry`)
	needsGo       = regexp.MustCompile(`requires go >= ([\w.]+)`)
)

// explain returns an error with a sentence that explains why the go command could not begin.
func (m *Module) explain(out string) error {
	download := fmt.Sprintf("run \"go mod download\" in %s first", m.Root)
	if x := missingModule.FindStringSubmatch(out); x != nil {
		return problem("the module needs %s, which is not in the module cache, and here the tests run without a network: %s", x[1], download)
	}
	if x := needsGo.FindStringSubmatch(out); x != nil {
		return problem("the module needs Go %s or later; install it, or run this with GOTOOLCHAIN=go%s", x[1], x[1])
	}
	if x := missingPath.FindStringSubmatch(out); x != nil {
		return problem("the module needs the package %s, which no module in the module cache has, and here the tests run without a network: run \"go mod tidy\" in %s first", x[1], m.Root)
	}
	if x := unwritable.FindStringSubmatch(out); x != nil {
		at, _, _ := strings.Cut(x[1], "/@v")
		for _, r := range m.needs { // the path may be that of a parent directory that could not be created
			if r.Mod.Path == at || strings.HasPrefix(r.Mod.Path, at+"/") {
				return problem("the module needs %s, which is not in the module cache, and here the tests run without a network: %s", r.Mod, download)
			}
		}
		return problem("the module needs a package of %s, which is not in the module cache, and here the tests run without a network: %s", at, download)
	}
	if missingSum.MatchString(out) {
		return problem("go.sum lacks entries: %s", download)
	}
	return problem("the go command cannot run the tests: %s", firstLines(out, 3))
}

// firstLines returns the first meaningful lines of an output.
func firstLines(out string, n int) string {
	var lines []string
	for l := range strings.Lines(out) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "FAIL") && len(lines) < n {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "; ")
}
