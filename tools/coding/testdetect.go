package coding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"mvdan.cc/sh/v3/syntax"

	"github.com/luthier-dev/luthier/tools/coding/internal/testreport"
)

// testTarget is the target of a test call: a directory, or a file in it, or a part of that file.
type testTarget struct {
	dir    string // relative to the workspace
	file   string // base name, "" for the whole directory
	nodeID string // "::TestA::test_b", pytest's syntax for a test in a file
}

// rel returns the target relative to the directory base above it, starting with "./" so that no
// name is mistaken for an option.
func (t testTarget) rel(base string) string {
	p := path.Join(t.dir, t.file)
	if base != "." {
		p = strings.TrimPrefix(strings.TrimPrefix(p, base), "/")
	}
	if p == "" || p == "." {
		return "."
	}
	return "./" + p
}

// planTests finds the project's tests and decides how to run them.
func (w opened) planTests(_ context.Context, in testIn) (*testPlan, error) {
	if strings.HasPrefix(in.Filter, "-") {
		return nil, errors.New("filter starts with \"-\", which would be read as an option; use args for options")
	}
	target, err := w.testTarget(in.Path)
	if err != nil {
		return nil, err
	}
	dir, found := w.findTests(target, in.Framework)
	if len(found) == 0 && target.dir == "." && target.file == "" {
		if dir, found, err = w.findTestsBelow(in.Framework); err != nil {
			return nil, err
		}
		target.dir = dir
	}
	if len(found) == 0 {
		return nil, w.noTests(target, in.Framework)
	}
	plan := w.testPlan(found[0], dir, target, in)
	if in.Framework == "" {
		plan.Others = found[1:]
	}
	return plan, nil
}

func (w opened) testTarget(p string) (testTarget, error) {
	p = strings.TrimSuffix(strings.TrimSuffix(p, "..."), "/")
	file, id, _ := strings.Cut(p, "::")
	if file == "" {
		return testTarget{dir: "."}, nil
	}
	t, err := w.resolve(file)
	if err != nil {
		return testTarget{}, err
	}
	if t.info == nil {
		return testTarget{}, w.missing(t.rel)
	}
	if t.info.IsDir() {
		return testTarget{dir: t.rel}, nil
	}
	target := testTarget{dir: path.Dir(t.rel), file: path.Base(t.rel)}
	if id != "" {
		target.nodeID = "::" + id
	}
	return target, nil
}

// testExtensions lists the files of each framework, in order of preference.
var testExtensions = []struct {
	framework  string
	extensions []string
}{
	{"go", []string{".go"}},
	{"cargo", []string{".rs"}},
	{"vitest", []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"}},
	{"jest", []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"}},
	{"pytest", []string{".py"}},
}

// findTests looks for a project at the target and in the directories above it, up to the workspace.
// The nearest one wins; frameworks holds all that are equally near.
func (w opened) findTests(t testTarget, only string) (dir string, frameworks []string) {
	nearest := -1
	for _, f := range testExtensions {
		if only != "" && f.framework != only || t.file != "" && !slices.Contains(f.extensions, path.Ext(t.file)) {
			continue
		}
		root, depth := w.testRoot(f.framework, t.dir)
		switch {
		case depth < 0 || depth < nearest:
		case depth > nearest:
			nearest, dir, frameworks = depth, root, []string{f.framework}
		case root == dir:
			frameworks = append(frameworks, f.framework)
		}
	}
	return dir, frameworks
}

// testRoot returns the directory in which a framework must run to test dir, and the depth at which
// its marker was found, or -1.
func (w opened) testRoot(framework, dir string) (root string, depth int) {
	depth = -1
	for at := dir; ; at = path.Dir(at) {
		n := 0
		if at != "." {
			n = 1 + strings.Count(at, "/")
		}
		switch {
		case framework == "pytest" && !w.has(at, pytestRoots...):
			// Test files alone do not make a root: pytest runs in the directory of its
			// configuration, or at the top.
			if depth < 0 && w.usesPytest(at) {
				root, depth = ".", n
			}
		case w.hasTests(framework, at):
			return at, max(depth, n)
		}
		if at == "." {
			return root, depth
		}
	}
}

// pytestRoots lists the files that make a directory the root of a Python project.
var pytestRoots = []string{"pytest.ini", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini"}

// skippedDirs are not searched for projects.
var skippedDirs = []string{"node_modules", "vendor", "target", "testdata", "dist", "build", "venv"}

// findTestsBelow looks for projects one and two directories below the workspace. If there are
// several, it returns an error that lists them.
func (w opened) findTestsBelow(only string) (string, []string, error) {
	type project struct {
		dir        string
		frameworks []string
	}
	var found []project
	level := []string{"."}
	for depth := 0; depth < 2 && len(found) == 0; depth++ {
		var next []string
		for _, dir := range level {
			entries, err := w.readDir(dir)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || slices.Contains(skippedDirs, e.Name()) || len(next) > 500 {
					continue
				}
				sub := path.Join(dir, e.Name())
				next = append(next, sub)
				var fs []string
				for _, f := range testExtensions {
					if (only == "" || f.framework == only) && w.hasTests(f.framework, sub) {
						fs = append(fs, f.framework)
					}
				}
				if fs != nil {
					found = append(found, project{sub, fs})
				}
			}
		}
		level = next
	}
	switch len(found) {
	case 0:
		return ".", nil, nil
	case 1:
		return found[0].dir, found[0].frameworks, nil
	}
	var names []string
	for _, p := range found[:min(len(found), 20)] {
		names = append(names, fmt.Sprintf("%s (%s)", p.dir, strings.Join(p.frameworks, ", ")))
	}
	return "", nil, fmt.Errorf("the workspace holds %d projects; give the path of one: %s", len(found), strings.Join(names, "; "))
}

// hasTests reports whether dir is the root of a project that the framework can test.
func (w opened) hasTests(framework, dir string) bool {
	switch framework {
	case "go":
		return w.has(dir, "go.mod", "go.work")
	case "cargo":
		return w.has(dir, "Cargo.toml")
	case "jest", "vitest":
		return w.usesJS(dir, framework)
	case "pytest":
		return w.usesPytest(dir)
	}
	return false
}

func (w opened) has(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		info, err := w.root.Lstat(path.Join(dir, n))
		return err == nil && !info.IsDir()
	})
}

// small reads a configuration file. It returns "" if the file cannot be read.
func (w opened) small(p string) string {
	t, err := w.resolve(p)
	if err != nil || t.info == nil || !t.info.Mode().IsRegular() {
		return ""
	}
	data, _, err := w.readAll(t, 1<<20)
	if err != nil {
		return ""
	}
	return string(data)
}

type packageJSON struct {
	Scripts         map[string]string
	Dependencies    map[string]any
	DevDependencies map[string]any
	Jest            any
}

func (w opened) packageJSON(dir string) (p packageJSON, ok bool) {
	text := w.small(path.Join(dir, "package.json"))
	return p, text != "" && json.Unmarshal([]byte(text), &p) == nil
}

func (w opened) usesJS(dir, framework string) bool {
	p, ok := w.packageJSON(dir)
	if !ok {
		return false
	}
	if _, dev := p.DevDependencies[framework]; dev {
		return true
	}
	if _, dep := p.Dependencies[framework]; dep {
		return true
	}
	if framework == "jest" && p.Jest != nil || strings.Contains(p.Scripts["test"], framework) {
		return true
	}
	for _, ext := range []string{".js", ".ts", ".mjs", ".cjs", ".mts", ".json"} {
		if w.has(dir, framework+".config"+ext) {
			return true
		}
	}
	return false
}

func (w opened) usesPytest(dir string) bool {
	if w.has(dir, "conftest.py") || w.has(dir, pytestRoots...) {
		return true
	}
	for _, sub := range []string{".", "tests", "test"} {
		entries, err := w.readDir(path.Join(dir, sub))
		if err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return isPytestFile(e.Name()) }) {
			return true
		}
	}
	return false
}

func isPytestFile(name string) bool {
	return strings.HasSuffix(name, ".py") && (strings.HasPrefix(name, "test_") || strings.HasSuffix(name, "_test.py"))
}

// noTests returns an error saying that nothing was found, and what the project offers instead.
func (w opened) noTests(t testTarget, framework string) error {
	what := "go test, cargo test, jest, vitest or pytest"
	if framework != "" {
		what = framework
	}
	hint := "run the project's own command with shell"
	if p, ok := w.packageJSON("."); ok && p.Scripts["test"] != "" {
		hint = fmt.Sprintf("package.json runs its tests with %q: use shell with npm test", p.Scripts["test"])
	} else if w.has(".", "Makefile") {
		hint = "there is a Makefile: look in it for a test target and use shell"
	}
	return fmt.Errorf("no project for %s at %s or above it; %s", what, path.Join(t.dir, t.file), hint)
}

// testPlan builds the command.
func (w opened) testPlan(framework, dir string, t testTarget, in testIn) *testPlan {
	p := &testPlan{Framework: framework, Title: framework, Dir: dir, Env: []string{"CI=1"}}
	switch framework {
	case "go":
		w.planGo(p, t, in)
	case "cargo":
		planCargo(p, t, in)
	case "pytest":
		w.planPytest(p, t, in)
	default:
		w.planJS(p, t, in)
	}
	return p
}

func (w opened) planGo(p *testPlan, t testTarget, in testIn) {
	p.Title, p.parse, p.Env = "go test", testreport.ParseGoTest, nil
	p.Module = modfile.ModulePath([]byte(w.small(path.Join(p.Dir, "go.mod"))))
	p.Args = append([]string{"go", "test", "-json"}, in.Args...)
	if in.Filter != "" {
		p.Args = append(p.Args, "-run="+in.Filter)
	}
	pkgs := []string{t.rel(p.Dir) + "/..."}
	if t.file != "" {
		t.file = ""
		pkgs = []string{t.rel(p.Dir)}
	} else if t.dir == p.Dir && !w.has(p.Dir, "go.mod") {
		// "./..." matches nothing at the root of a go.work that is not itself a module.
		if work, err := modfile.ParseWork("go.work", []byte(w.small(path.Join(p.Dir, "go.work"))), nil); err == nil && len(work.Use) > 0 {
			pkgs = nil
			for _, u := range work.Use {
				pkgs = append(pkgs, "./"+path.Clean(u.Path)+"/...")
			}
		}
	}
	p.Args = append(p.Args, pkgs...)
}

func planCargo(p *testPlan, t testTarget, in testIn) {
	p.Title, p.parse, p.logStdout = "cargo test", plainParser(testreport.ParseCargo), true
	p.Env = append(p.Env, "CARGO_TERM_COLOR=never", "RUST_BACKTRACE=1")
	p.Args = append([]string{"cargo", "test", "--no-fail-fast", "--message-format=json"}, in.Args...)
	if path.Base(t.dir) == "tests" && t.file != "" {
		p.Args = append(p.Args, "--test", strings.TrimSuffix(t.file, ".rs"))
	}
	if in.Filter != "" {
		p.Args = append(p.Args, "--", in.Filter)
	}
}

func (w opened) planPytest(p *testPlan, t testTarget, in testIn) {
	p.parse, p.logStdout = plainParser(testreport.ParsePytest), true
	p.Args = append([]string{w.python(p.Dir), "-m", "pytest", "--color=no", "--tb=short", "-rfE"}, in.Args...)
	if in.Filter != "" {
		p.Args = append(p.Args, "-k", in.Filter)
	}
	if rel := t.rel(p.Dir); rel != "." {
		p.Args = append(p.Args, rel+t.nodeID)
	}
}

// python returns the interpreter of the project's virtual environment, if it has one.
func (w opened) python(dir string) string {
	for up, at := "", dir; ; up, at = up+"../", path.Dir(at) {
		for _, venv := range []string{".venv", "venv"} {
			for _, bin := range []string{"bin/python", "Scripts/python.exe"} {
				if w.has(path.Join(at, venv), bin) {
					return "./" + up + path.Join(venv, bin)
				}
			}
		}
		if at == "." {
			return "python3"
		}
	}
}

func (w opened) planJS(p *testPlan, t testTarget, in testIn) {
	p.parse, p.logStdout = plainParser(testreport.ParseJest), true
	p.Env = append(p.Env, "FORCE_COLOR=0")
	p.Args = []string{w.nodeBin(p.Dir, p.Framework)}
	if p.Framework == "vitest" {
		p.Args = append(p.Args, "run", "--reporter=json")
	} else {
		p.Args = append(p.Args, "--json")
	}
	p.Args = append(p.Args, in.Args...)
	if in.Filter != "" {
		p.Args = append(p.Args, "--testNamePattern="+in.Filter)
	}
	if rel := t.rel(p.Dir); rel != "." {
		if p.Framework == "jest" && t.file != "" {
			p.Args = append(p.Args, "--runTestsByPath")
		}
		if bare := strings.TrimPrefix(rel, "./"); !strings.HasPrefix(bare, "-") {
			rel = bare // the runners match it against paths without "./"
		}
		p.Args = append(p.Args, rel)
	}
}

// nodeBin finds an installed program of a package, in this directory or in one above, where npm
// hoists it.
func (w opened) nodeBin(dir, name string) string {
	for up, at := "./", dir; ; up, at = up+"../", path.Dir(at) {
		if w.has(path.Join(at, "node_modules/.bin"), name) {
			return up + "node_modules/.bin/" + name
		}
		if at == "." {
			return "./node_modules/.bin/" + name
		}
	}
}

// plainWord matches what needs no quotes in a command line.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// commandLine formats an argument vector as a shell command line.
func commandLine(args []string) string {
	var out []string
	for _, a := range args {
		if !plainWord.MatchString(a) {
			q, err := syntax.Quote(a, syntax.LangBash)
			if err != nil {
				q = fmt.Sprintf("%q", a)
			}
			a = q
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}
