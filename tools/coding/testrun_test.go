package coding

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/tools"
)

func needProgram(t testing.TB, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	if len(args) > 0 {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Skipf("%s %v: %v %s", name, args, err, out)
		}
	}
}

const goPass = "package p\n\nimport \"testing\"\n\nfunc TestPass(t *testing.T) {}\n"

// goModule is a small module with one package for each way in which a test run can end.
var goModule = files{
	"go.mod":             "module example.com/m\n\ngo 1.21\n",
	"pass/p_test.go":     goPass,
	"fail/p_test.go":     "package p\n\nimport \"testing\"\n\nfunc TestPass(t *testing.T) {}\nfunc TestFail(t *testing.T) { t.Fatal(\"so it goes\") }\n",
	"broken/p_test.go":   "package p\n\nimport \"testing\"\n\nfunc TestPass(t *testing.T) { undefinedThing() }\n",
	"exits/p_test.go":    "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestExits(t *testing.T) { os.Exit(3) }\n",
	"panics/p_test.go":   "package p\n\nimport \"testing\"\n\nfunc TestPanics(t *testing.T) { var p *int; *p = 1 }\n",
	"hangs/p_test.go":    "package p\n\nimport \"testing\"\n\nfunc TestHangs(t *testing.T) { select {} }\n",
	"sleeps/p_test.go":   "package p\n\nimport (\n\t\"os\"\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestSleeps(t *testing.T) { c := exec.Command(\"sleep\", \"60\"); c.Start(); os.WriteFile(\"pid\", []byte(itoa(c.Process.Pid)), 0o644); c.Wait() }\nfunc itoa(n int) string { if n < 10 { return string(rune('0'+n)) }; return itoa(n/10) + itoa(n%10) }\n",
	"notests/p.go":       "package p\n",
	"floods/p_test.go":   "package p\n\nimport (\n\t\"os\"\n\t\"strings\"\n\t\"testing\"\n)\n\nfunc TestFloods(t *testing.T) { s := strings.Repeat(strings.Repeat(\"x\", 99)+\"\\n\", 10000); for i := 0; i < 20; i++ { os.Stdout.WriteString(s) }; t.Error(\"after the flood\") }\n",
	"testmain/p_test.go": "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { println(\"setup failed\"); os.Exit(1) }\nfunc TestPass(t *testing.T) {}\n",
}

// Evidence: coding · Test runs give structured results
func TestGoTests(t *testing.T) {
	tier.Normal(t)
	needProgram(t, "go")
	agenttest.CheckLeaks(t)
	w := openWith(t, Config{Proc: ProcConfig{Grace: 100 * time.Millisecond}}, goModule)
	// Each case builds its own program, so -short has only one for each verdict.
	more := []string{"file", "filter", "no tests", "exit", "panic", "hang", "TestMain", "flood", "bad option"}
	for _, tc := range []struct {
		name string
		in   args
		want []string
	}{
		{"pass", args{"path": "pass"}, []string{"PASS: 0 failed, 1 passed", "$ go test -json ./pass/...", "Full log: artifact artifact-"}},
		{"file", args{"path": "pass/p_test.go"}, []string{"PASS: ", "$ go test -json ./pass\n"}},
		{"fail", args{"path": "fail"}, []string{"FAIL: 1 failed, 1 passed", "example.com/m/fail TestFail\n    p_test.go:6: so it goes", "at fail/p_test.go:6"}},
		{"filter", args{"path": "fail", "filter": "TestPass"}, []string{"PASS: 0 failed, 1 passed"}},
		{"no match", args{"path": "pass", "filter": "Zzz"}, []string{"NO TESTS RAN", "no tests to run in example.com/m/pass"}},
		{"no tests", args{"path": "notests"}, []string{"NO TESTS RAN", "no test files"}},
		{"build error", args{"path": "broken"}, []string{"FAIL: ", "Build errors:\n- broken/p_test.go:5:31: error: undefined: undefinedThing"}},
		{"exit", args{"path": "exits"}, []string{"FAIL: 1 failed", "TestExits", "did not finish"}},
		{"panic", args{"path": "panics"}, []string{"FAIL: 1 failed", "TestPanics", "nil pointer dereference", "at panics/p_test.go:5"}},
		{"hang", args{"path": "hangs", "args": []string{"-timeout=1s"}}, []string{"FAIL: 1 failed", "TestHangs", "test timed out after 1s", "at hangs/p_test.go:5"}},
		{"TestMain", args{"path": "testmain"}, []string{"FAIL: 0 failed, 1 could not run", "setup failed"}},
		{"flood", args{"path": "floods"}, []string{"FAIL: 1 failed", "after the flood"}},
		{"bad option", args{"path": "pass", "args": []string{"-nosuch"}}, []string{"FAIL: ", "The runner ended with exit code", "-nosuch"}},
		{"bad filter", args{"filter": "-exec=sh"}, []string{"error:", "read as an option"}},
		{"missing", args{"path": "nope"}, []string{"error:", "nope does not exist"}},
		{"outside", args{"path": "../x"}, []string{"error:", "outside"}},
		{"other framework", args{"framework": "pytest"}, []string{"error:", "no project for pytest"}},
	} {
		if testing.Short() && slices.Contains(more, tc.name) {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			contains(t, run(t, w, "test", tc.in), tc.want...)
		})
	}
	if testing.Short() {
		return
	}
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		all := run(t, w, "test", args{"args": []string{"-timeout=5s"}})
		contains(t, all, "FAIL: ", "TestFail", "TestHangs", "undefinedThing", "TestPanics")
	})
}

// TestGoTestsKilled stops a run whose test is waiting for a child process.
func TestGoTestsKilled(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	needProgram(t, "go")
	needUnix(t)
	w := openWith(t, Config{Proc: ProcConfig{Grace: 100 * time.Millisecond}}, goModule)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for range 3000 {
			if _, ok := readPid(w, "sleeps/pid"); ok {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		cancel()
	}()
	contains(t, runCtx(t, ctx, w, "test", args{"path": "sleeps"}), "STOPPED: 1 failed", "The run was cancelled", "TestSleeps", "did not finish")
	gone(t, pidIn(t, w, "sleeps/pid"))
}

func TestGoRaceReport(t *testing.T) {
	needProgram(t, "go")
	if testing.Short() || os.Getenv("CGO_ENABLED") == "0" {
		t.Skip("builds with the race detector")
	}
	needProgram(t, "gcc")
	t.Parallel()
	w := openWith(t, Config{}, files{"go.mod": "module example.com/m\n\ngo 1.21\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestRace(t *testing.T) {\n\tn := 0\n\tc := make(chan int)\n\tgo func() { n++; c <- 1 }()\n\tn++\n\t<-c\n\t_ = n\n}\n"})
	contains(t, run(t, w, "test", args{"args": []string{"-race", "-vet=off"}}), "FAIL: 1 failed", "WARNING: DATA RACE", "data race detected in example.com/m TestRace", "p_test.go:8", "p_test.go:9")
}

// TestFindTests finds modules below a go.work, and several projects below a directory.
func TestFindTests(t *testing.T) {
	tier.Normal(t)
	needProgram(t, "go")
	t.Parallel()
	mod := func(name string) string { return "module example.com/" + name + "\n\ngo 1.21\n" }
	w := openWith(t, Config{}, files{"go.work": "go 1.21\n\nuse (\n\t./a\n\t./b\n)\n", "a/go.mod": mod("a"), "a/p_test.go": goPass, "b/go.mod": mod("b"), "b/p_test.go": goPass})
	contains(t, run(t, w, "test", args{}), "PASS: 0 failed, 2 passed", "./a/... ./b/...")
	w = openWith(t, Config{}, files{"x/go.mod": mod("x"), "x/p_test.go": goPass, "node_modules/y/go.mod": mod("y")})
	contains(t, run(t, w, "test", args{}), "PASS: 0 failed, 1 passed")
	w = openWith(t, Config{}, files{"x/go.mod": mod("x"), "y/z/go.mod": mod("z"), "y/pyproject.toml": ""})
	contains(t, run(t, w, "test", args{}), "error:", "2 projects", "x (go)", "y (pytest)")
	w = openWith(t, Config{}, files{"package.json": `{"scripts":{"test":"mocha"}}`})
	contains(t, run(t, w, "test", args{}), "error:", `"mocha"`, "npm test")
	w = openWith(t, Config{}, files{"package.json": `{"devDependencies":{"jest":"1"}}`})
	contains(t, run(t, w, "test", args{}), "error:", "not installed", "npm ci")
	w = openWith(t, Config{}, nil)
	contains(t, run(t, w, "test", args{}), "error:", "no project for go test, cargo test, jest, vitest or pytest")
}

// TestTestCommands checks which command each call results in.
func TestTestCommands(t *testing.T) {
	w := openWith(t, Config{}, files{
		"go.mod": "module m\n", "pkg/x_test.go": "package pkg\n", "pytest.ini": "", "tests/test_a.py": "", "crate/Cargo.toml": "", "crate/tests/it.rs": "", "crate/src/lib.rs": "",
		"web/package.json": `{"devDependencies":{"jest":"1"}}`, "web/node_modules/.bin/jest": "", "web/src/a.test.js": "",
		"vite/package.json": `{"devDependencies":{"vitest":"1"}}`, "vite/b.test.ts": "", "node_modules/.bin/vitest": "", ".venv/bin/python": "",
	})
	for _, tc := range []struct {
		in   testIn
		want string
	}{
		{testIn{}, ".: go test -json ./..."},
		{testIn{Path: "pkg/..."}, ".: go test -json ./pkg/..."},
		{testIn{Path: "./pkg/x_test.go", Filter: "A|B"}, ".: go test -json '-run=A|B' ./pkg"},
		{testIn{Framework: "pytest"}, ".: ./.venv/bin/python -m pytest --color=no --tb=short -rfE"},
		{testIn{Path: "tests/test_a.py::TestX::test_y", Filter: "not slow"}, ".: ./.venv/bin/python -m pytest --color=no --tb=short -rfE -k 'not slow' ./tests/test_a.py::TestX::test_y"},
		{testIn{Path: "crate", Filter: "x"}, "crate: cargo test --no-fail-fast --message-format=json -- x"},
		{testIn{Path: "crate/tests/it.rs"}, "crate: cargo test --no-fail-fast --message-format=json --test it"},
		{testIn{Path: "web"}, "web: ./node_modules/.bin/jest --json"},
		{testIn{Path: "web/src/a.test.js", Filter: "a b"}, "web: ./node_modules/.bin/jest --json '--testNamePattern=a b' --runTestsByPath src/a.test.js"},
		{testIn{Path: "vite/b.test.ts"}, "vite: ./../node_modules/.bin/vitest run --reporter=json b.test.ts"},
	} {
		p, err := inside(w).planTests(t.Context(), tc.in)
		if err != nil {
			t.Errorf("%+v: %v", tc.in, err)
			continue
		}
		if got := p.Dir + ": " + commandLine(p.Args); got != tc.want {
			t.Errorf("%+v:\n%s\n%s", tc.in, got, tc.want)
		}
	}
}

func TestPytestRuns(t *testing.T) {
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-m", "pytest", "--version").Run() == nil {
			python = p
			break
		}
	}
	if python == "" {
		t.Skip("pytest is not installed")
	}
	agenttest.CheckLeaks(t)
	w := openWith(t, Config{}, files{"pytest.ini": "[pytest]\n", "shop.py": "def f(m):\n    return m['x']\n",
		"test_a.py": "import shop\n\ndef test_ok():\n    pass\n\ndef test_bad():\n    shop.f({})\n"})
	path, err := exec.LookPath(python)
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(w.Dir(), ".venv/bin"), 0o755))
	must(t, os.WriteFile(filepath.Join(w.Dir(), ".venv/bin/python"), []byte("#!/bin/sh\nexec "+path+" \"$@\"\n"), 0o755))
	contains(t, run(t, w, "test", args{}), "FAIL: 1 failed, 1 passed", "test_a.py test_bad\n    KeyError: 'x'\n    at shop.py:2, test_a.py:7")
	contains(t, run(t, w, "test", args{"path": "test_a.py::test_ok"}), "PASS: 0 failed, 1 passed")
	contains(t, run(t, w, "test", args{"filter": "zzz"}), "NO TESTS RAN")
}

func TestCargoRuns(t *testing.T) {
	needProgram(t, "cargo", "--version")
	if testing.Short() {
		t.Skip("compiles with cargo")
	}
	t.Parallel()
	w := openWith(t, Config{}, files{"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"src/lib.rs": "pub fn f() -> i32 { 1 }\n\n#[test]\nfn good() {}\n\n#[test]\nfn bad() {\n    assert_eq!(f(), 2);\n}\n"})
	contains(t, run(t, w, "test", args{"args": []string{"--offline"}}), "FAIL: 1 failed, 1 passed", "bad\n", "left: 1", "at src/lib.rs:8")
	files{"src/lib.rs": "pub fn f() -> i32 { \"x\" }\n"}.write(t, w.Dir())
	contains(t, run(t, w, "test", args{"args": []string{"--offline"}}), "FAIL: ", "src/lib.rs:1:21: error: mismatched types")
	contains(t, run(t, w, "lint", args{}), "src/lib.rs:1:21: error: mismatched types", "cargo check: 1 findings")
}

// replay creates a program that prints a recording.
func replay(t testing.TB, file, recording string, code int) {
	t.Helper()
	needUnix(t)
	abs, err := filepath.Abs(recording)
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(fmt.Sprintf("#!/bin/sh\ncat '%s'\nexit %d\n", abs, code)), 0o755))
}

// TestJestRuns runs programs in place of jest and vitest that print what the real ones printed.
func TestJestRuns(t *testing.T) {
	for _, framework := range []string{"jest", "vitest"} {
		w := openWith(t, Config{}, files{"package.json": `{"devDependencies":{"` + framework + `":"1"}}`})
		replay(t, filepath.Join(w.Dir(), "node_modules/.bin", framework), "internal/testreport/testdata/testrun/"+framework+"-all.txt", 1)
		contains(t, run(t, w, "test", args{}), "FAIL: 2 failed, 2 could not run, 2 passed, 2 skipped", "total > wrong", "$ ./node_modules/.bin/"+framework)
	}
}

// TestTestFlood runs a test that prints four times what the heap may grow by (a gigabyte in the
// long tier).
func TestTestFlood(t *testing.T) {
	tier.Normal(t)
	needUnix(t)
	agenttest.CheckLeaks(t)
	size := tier.Pick(40<<20, 128<<20, 1<<30)
	store := tools.NewMemStore()
	w := openWith(t, Config{Artifacts: store, Proc: ProcConfig{SpillBytes: 2 << 20}}, files{"pytest.ini": ""})
	must(t, os.MkdirAll(filepath.Join(w.Dir(), ".venv/bin"), 0o755))
	must(t, os.WriteFile(filepath.Join(w.Dir(), ".venv/bin/python"), []byte(fmt.Sprintf(
		"#!/bin/sh\nyes 'chatter of a test, captured by nobody at all' | head -c %d\necho\necho '=== 3 passed in 0.10s ==='\n", size)), 0o755))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := run(t, w, "test", args{})
	runtime.GC()
	runtime.ReadMemStats(&after)
	contains(t, out, "PASS: 0 failed, 3 passed", "its first 2", "more were printed")
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

func TestTestCancel(t *testing.T) {
	t.Parallel()
	needUnix(t)
	w := openWith(t, Config{Proc: ProcConfig{Grace: 100 * time.Millisecond}}, files{"pytest.ini": ""})
	must(t, os.MkdirAll(filepath.Join(w.Dir(), ".venv/bin"), 0o755))
	must(t, os.WriteFile(filepath.Join(w.Dir(), ".venv/bin/python"), []byte("#!/bin/sh\necho $$ > pid; sleep 60\n"), 0o755))
	ctx, cancel := context.WithCancel(context.Background())
	go func() { pidIn(t, w, "pid"); cancel() }()
	soon(t, "cancel", func() { contains(t, runCtx(t, ctx, w, "test", args{}), "STOPPED", "cancelled") })
	gone(t, pidIn(t, w, "pid"))
	contains(t, run(t, w, "test", args{"timeout_seconds": 1}), "STOPPED", "killed after its limit of 1s")
}

// Evidence: coding · Linters give structured results
func TestLint(t *testing.T) {
	t.Parallel()
	needProgram(t, "go")
	r := newRepo(t, files{"go.mod": "module m\n\ngo 1.21\n", "good/g.go": "package good\n", "bad/b.go": "package bad\n"})
	w := r.open(Config{})
	contains(t, run(t, w, "lint", args{}), "Nothing was checked: no file has changed")
	files{"bad/b.go": "package bad\n\nimport \"fmt\"\n\nfunc F() { fmt.Printf(\"%d\\n\", \"x\") }\n", "notes.txt": "x"}.write(t, r.dir)
	out := run(t, w, "lint", args{})
	contains(t, out, "bad/b.go:5:24: fmt.Printf format %d has arg \"x\" of wrong type string (go vet)", "(changed files)", "- go vet: 1 findings in ")
	out = run(t, w, "lint", args{"paths": []string{"good"}, "linters": []string{"go vet"}})
	contains(t, out, "No findings.", "- go vet: 0 findings")
	files{"bad/b.go": "package bad\n\nfunc F() { undefinedThing() }\n"}.write(t, r.dir)
	contains(t, run(t, w, "lint", args{"paths": []string{"."}}), "bad/b.go:3:12: undefined: undefinedThing (go vet)")
	contains(t, run(t, w, "lint", args{"paths": []string{"notes.txt"}}), "Nothing was checked: no linter is known for notes.txt")
	contains(t, run(t, w, "lint", args{"paths": []string{"nope.go"}}), "error:", "nope.go does not exist")
	contains(t, run(t, w, "lint", args{"paths": []string{"../x"}}), "error:", "outside")
}

// TestLintAbsent: code that no linter checked is never reported as clean.
func TestLintAbsent(t *testing.T) {
	needUnix(t)
	empty := t.TempDir()
	w := openWith(t, Config{Proc: ProcConfig{Env: []string{"PATH=" + empty}}}, files{"a.py": "import os\n", "go.mod": "module m\n", "b.go": "package b\n",
		"package.json": "{}", "eslint.config.js": "", "tsconfig.json": "{}", "c.ts": "x", "Cargo.toml": "", "src/lib.rs": ""})
	out := run(t, w, "lint", args{"paths": []string{"a.py", "b.go", "c.ts", "src/lib.rs"}})
	contains(t, out, "NOT CHECKED", "ruff: not installed", "go vet: not installed", "gopls: not installed", "eslint: not installed", "tsc: not installed", "cargo check: not installed")
	if strings.Contains(out, "No findings") {
		t.Error(out)
	}
}

func TestLintCustom(t *testing.T) {
	tier.Normal(t)
	needUnix(t)
	t.Parallel()
	script := func(body string) []string { return []string{"sh", "-c", body, "lint"} }
	w := openWith(t, Config{Proc: ProcConfig{Linters: []Linter{
		{Name: "plain", Args: script(`for f in "$@"; do echo "$f:3:4: warning: too plain"; done; exit 1`), Paths: true, Extensions: []string{".xyz"}},
		{Name: "odd", Args: script(`echo "E12 at line 7 of a.xyz -- oddity"`), Pattern: `^(?P<rule>E\d+) at line (?P<line>\d+) of (?P<path>\S+) -- (?P<message>.*)$`},
		{Name: "crash", Args: script(`echo boom >&2; exit 70`)},
		{Name: "hang", Args: script(`sleep 60`)},
		{Name: "quiet", Args: script(`true`)},
	}, LintTimeout: 5 * time.Second, Grace: -1}}, files{"a.xyz": "x", "-dash.xyz": "y"})
	out := run(t, w, "lint", args{"paths": []string{"a.xyz", "./-dash.xyz"}})
	contains(t, out, "a.xyz:3:4: warning: too plain (plain)", "-dash.xyz:3:4: warning", "a.xyz:7: oddity (odd E12)", "crash: failed with exit status 70: boom",
		"hang: killed after its limit of 5s", "quiet: 0 findings")
}
