package repair_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// failing is a module whose tests fail in every way that Digest recognises.
var failing = map[string]string{
	"go.mod": "module example.com/failing\n\ngo 1.21\n",
	"list.go": `package failing

type List[T any] struct{ items []T }

func (l *List[T]) At(i int) T {
	return l.items[i+1]
}

func Each(l *List[int], f func(int)) {
	for i := range l.items {
		f(l.At(i))
	}
}

func Trim(s string) string { return s }
`,
	"list_test.go": `package failing

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestGood(t *testing.T) { t.Log("all is well: got it") }

func TestTrim(t *testing.T) {
	t.Logf("at %s in %s", time.Now(), t.TempDir())
	for _, s := range []string{"a\n", strings.Repeat("long ", 100)} {
		t.Run("sub", func(t *testing.T) {
			if got, want := Trim(s), strings.TrimSpace(s); got != want {
				t.Errorf("Trim(%q) = %q\nwant %q", s, got, want)
			}
		})
	}
}

func TestPanics(t *testing.T) {
	if os.Getenv("PANIC") == "" {
		t.Skip("not now")
	}
	Each(&List[int]{items: []int{1, 2}}, func(int) {})
}
`,
}

func writeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goTest returns the output of go test in a module.
func goTest(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"test"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off"), env...)
	out, _ := cmd.CombinedOutput() // the tests are expected to fail
	return string(out)
}

// Evidence: repair · Test output is digested for the model
func TestDigestOfGoTest(t *testing.T) {
	dir := writeTree(t, failing)
	messages := `list_test.go:17: Trim("a\n") = "a\n"
want "a"
list_test.go:17: Trim("long long long long long long long long long long long long long long long long l...g long long long long long long long long long long "
want "long long long long long long long long long long long long long long long long long long long lon...ng long long long long long long long long long long"`
	panics := "panic: runtime error: index out of range [2] with length 2\n" +
		"list.go:6 (*List).At\nlist.go:11 Each\nlist_test.go:27 TestPanics\n"
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want string
	}{
		{"plain", nil, nil, "list_test.go:13: at TIME in TMP\n" + messages},
		{"verbose", nil, []string{"-v"}, "list_test.go:13: at TIME in TMP\n" + messages},
		{"json", nil, []string{"-json"}, "list_test.go:13: at TIME in TMP\n" + messages},
		{"panic", []string{"PANIC=1"}, []string{"-run", "Panics"}, panics[:len(panics)-1]},
		{"panic, verbose", []string{"PANIC=1"}, []string{"-v", "-run", "Panics"}, panics[:len(panics)-1]},
		{"panic, json", []string{"PANIC=1"}, []string{"-json", "-run", "Panics"}, panics[:len(panics)-1]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := goTest(t, dir, tt.env, tt.args...)
			got := repair.Digest(out, 1000)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s\nof\n%s", d, out)
			}
			if again := repair.Digest(goTest(t, dir, tt.env, tt.args...), 1000); again != got {
				t.Errorf("another run has another digest:\n%s\n%s", got, again)
			}
			if short := repair.Digest(out, 100); len(short) > 100 || short == "" {
				t.Errorf("%d bytes where 100 were allowed", len(short))
			}
		})
	}
	broken := maps.Clone(failing)
	broken["list.go"] = strings.Replace(failing["list.go"], "return s }", "return 1 }", 1)
	wrong := writeTree(t, broken)
	for _, args := range [][]string{nil, {"-json"}} {
		got := repair.Digest(goTest(t, wrong, nil, args...), 400)
		want := "list.go:15:37: cannot use 1 (untyped int constant) as string value in return statement"
		if !strings.Contains(got, want) || len(got) > len(want)+30 {
			t.Errorf("%v: a compile error is digested to %q", args, got)
		}
	}
}

func TestDigestOfOthers(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"passes", "ok  \texample.com/x\t0.01s\n", ""},
		{"testify", "--- FAIL: TestA (0.00s)\n    a_test.go:9: \n        \tError Trace:\t/tmp/x1/a_test.go:9\n        \tError:      \tNot equal: \n        \t            \texpected: 1\n        \t            \tactual  : 2\n        \tTest:       \tTestA\nFAIL\n",
			"a_test.go:9:\nError: Not equal:\nexpected: 1\nactual : 2"},
		{"cmp", "--- FAIL: TestA (0.00s)\n    a_test.go:9: mismatch (-want +got):\n          []int{\n        - \t1,\n        + \t2,\n          }\nFAIL\n",
			"a_test.go:9: mismatch (-want +got):\n[]int{\n- 1,\n+ 2,\n}"},
		{"of several tests", "=== RUN   TestA\n    a_test.go:3: noise, got it\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    b_test.go:7: at 0xc000012345: got 1\n--- FAIL: TestB (1.25s)\nFAIL\nexit status 1\nFAIL\tx\t1.2s\n",
			"b_test.go:7: at 0x?: got 1"},
		{"timed out", "panic: test timed out after 1s\n\trunning tests:\n\t\tTestHang (1s)\n\ngoroutine 7 [running]:\ntesting.(*M).startAlarm.func1()\n\t/usr/local/go/src/testing/testing.go:2484 +0x394\ncreated by time.goFunc\n\t/usr/local/go/src/time/sleep.go:215 +0x2d\n\ngoroutine 1 [chan receive]:\n",
			"panic: test timed out after 1s\nrunning tests:\nTestHang"},
		{"dates and ports", "    a_test.go:1: 2024/03/04 05:06:07 dial 127.0.0.1:43210: refused (0.05s)\n", "a_test.go:1: TIME dial 127.0.0.1:PORT: refused"},
	} {
		if d := cmp.Diff(tt.want, repair.Digest(tt.in, 400)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// Evidence: repair · Test output is digested for the model
func FuzzDigest(f *testing.F) {
	f.Add("--- FAIL: TestA (0.00s)\n    a_test.go:9: got 1, want 2\n", 100)
	f.Add("{\"Action\":\"output\",\"Package\":\"x\",\"Test\":\"T\",\"Output\":\"panic: x\\n\"}\n", 10)
	f.Add("panic: x\n\ngoroutine 1 [running]:\nmain.f(...)\n\t/a/b.go:3 +0x1\n", 3)
	f.Fuzz(func(t *testing.T, out string, budget int) {
		budget = min(max(budget, -1), 4096)
		got := repair.Digest(out, budget)
		if len(got) > max(budget, 0) || !utf8.ValidString(got) {
			t.Errorf("%d bytes of %d allowed: %q", len(got), budget, got)
		}
		if again := repair.Digest(out, budget); again != got {
			t.Errorf("%q, then %q", got, again)
		}
	})
}
