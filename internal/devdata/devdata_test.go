package devdata

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outcome is a testing.TB that records how a test ended instead of ending it.
type outcome struct {
	testing.TB
	end string
}

func (o *outcome) Helper() {}

func (o *outcome) Fatalf(format string, args ...any) {
	o.end = "fails: " + fmt.Sprintf(format, args...)
	panic(o)
}

func (o *outcome) Skipf(format string, args ...any) {
	o.end = "is skipped: " + fmt.Sprintf(format, args...)
	panic(o)
}

// run calls f with a testing.TB. It returns the result of f and how the test ended, or "" if it did
// not end.
func run(t *testing.T, f func(testing.TB) []string) (files []string, end string) {
	t.Helper()
	o := &outcome{TB: t}
	defer func() {
		if r := recover(); r != nil && r != any(o) {
			panic(r)
		}
		end = o.end
	}()
	return f(o), ""
}

// tree creates a checkout of the module with samples, a nested module, and a folder named shared
// next to the checkout. It returns the folder that contains all of them, and makes the parameter
// folder the working directory.
func tree(t *testing.T, folder string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"checkout/go.mod": "// a comment\nmodule " + module + "\n\ngo 1.26\n",
		"checkout/internal/devdata/testdata/set/both.txt":  "",
		"checkout/internal/devdata/testdata/set/small.txt": "",
		"checkout/examples/nested/go.mod":                  "module " + module + "/examples/nested\n",
		"checkout/examples/nested/deep/doc.go":             "package deep\n",
		"elsewhere/go.mod":                                 "module example.com/elsewhere\n",
		"shared/set/both.txt":                              "",
		"shared/set/large.txt":                             "",
	} {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(top, filepath.FromSlash(folder)))
	return top
}

// TestModes looks up a file that is in both folders, in one of them and in neither, under every
// value of the variable, from the root of the module and from a nested module.
func TestModes(t *testing.T) {
	const samples = "checkout/internal/devdata/testdata/"
	absent := func(name string) string {
		return "fails: devdata: " + name + " is absent from the folder shared beside the checkout, and LUTHIER_SHARED=require asks for it"
	}
	skipped := func(name string) string {
		return "is skipped: devdata: " + name + " is neither in the folder shared beside the checkout nor among the samples"
	}
	want := map[string]map[string]string{
		"": {
			"set/both.txt": "shared/set/both.txt", "set/large.txt": "shared/set/large.txt", "set/small.txt": samples + "set/small.txt",
			"set/none.txt": skipped("set/none.txt"), "set": "shared/set",
		},
		"require": {
			"set/both.txt": "shared/set/both.txt", "set/large.txt": "shared/set/large.txt", "set/small.txt": absent("set/small.txt"),
			"set/none.txt": absent("set/none.txt"), "set": "shared/set",
		},
		"samples": {
			"set/both.txt": samples + "set/both.txt", "set/large.txt": skipped("set/large.txt"), "set/small.txt": samples + "set/small.txt",
			"set/none.txt": skipped("set/none.txt"), "set": samples + "set",
		},
	}
	for _, folder := range []string{"checkout", "checkout/examples/nested", "checkout/examples/nested/deep"} {
		top := tree(t, folder)
		for mode, files := range want {
			t.Setenv(Env, mode)
			for name, want := range files {
				found, end := run(t, func(tb testing.TB) []string { return []string{Path(tb, name)} })
				if end == "" {
					end = below(t, top, found[0])
				}
				if end != want {
					t.Errorf("from %s with %s=%q %s is %q, want %q", folder, Env, mode, name, end, want)
				}
			}
		}
	}
}

// TestGlob checks that Glob returns files of one folder only, never of both.
func TestGlob(t *testing.T) {
	top := tree(t, "checkout")
	for _, c := range []struct{ mode, pattern, want string }{
		{"", "set/*.txt", "shared/set/both.txt shared/set/large.txt"},
		{"", "set/s*.txt", "checkout/internal/devdata/testdata/set/small.txt"},
		{"samples", "set/*.txt", "checkout/internal/devdata/testdata/set/both.txt checkout/internal/devdata/testdata/set/small.txt"},
		{"require", "set/s*.txt", "fails: devdata: set/s*.txt is absent"},
		{"samples", "set/l*.txt", "is skipped: devdata: set/l*.txt is neither"},
		{"", "[", "fails: devdata: match [: syntax error in pattern"},
	} {
		t.Setenv(Env, c.mode)
		found, end := run(t, func(tb testing.TB) []string { return Glob(tb, c.pattern) })
		for i, path := range found {
			found[i] = below(t, top, path)
		}
		if got := strings.Join(found, " ") + end; !strings.HasPrefix(got, c.want) || end == "" && got != c.want {
			t.Errorf("with %s=%q %s matches %q, want %q", Env, c.mode, c.pattern, got, c.want)
		}
	}
}

// TestWrongMode checks that an unknown value of the variable is refused, so that a misspelt
// "require" is not ignored.
func TestWrongMode(t *testing.T) {
	tree(t, "checkout")
	t.Setenv(Env, "required")
	for name, f := range map[string]func(testing.TB) []string{
		"Path": func(tb testing.TB) []string { return []string{Path(tb, "set/both.txt")} },
		"Glob": func(tb testing.TB) []string { return Glob(tb, "set/*.txt") },
	} {
		_, end := run(t, f)
		if d := cmp.Diff(`fails: devdata: LUTHIER_SHARED is "required": set it to require or samples, or leave it unset`, end); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestOutside checks that a test outside the module's folders fails.
func TestOutside(t *testing.T) {
	tree(t, "elsewhere")
	_, end := run(t, func(tb testing.TB) []string { return []string{Path(tb, "set/both.txt")} })
	if want := "fails: devdata: no go.mod of " + module + " above "; !strings.HasPrefix(end, want) {
		t.Errorf("the test %q, want %q", end, want)
	}
}

// TestSampled checks that Sampled distinguishes samples from the shared data, and from a folder
// whose name has the samples folder's name as a prefix.
func TestSampled(t *testing.T) {
	top := tree(t, "checkout/examples/nested")
	for name, want := range map[string]bool{
		"checkout/internal/devdata/testdata/set/small.txt": true,
		"shared/set/both.txt":                              false,
		"checkout/internal/devdata/testdata2/set/x.txt":    false,
	} {
		if got := Sampled(t, filepath.Join(top, filepath.FromSlash(name))); got != want {
			t.Errorf("Sampled(%s) = %v", name, got)
		}
	}
}

// TestEverySetHasSamples lists the sets that have samples in this checkout: a set without samples
// would be tested only where the shared data is available.
func TestEverySetHasSamples(t *testing.T) {
	t.Setenv(Env, "samples")
	for _, pattern := range []string{
		"tools-dev/edit-mutations.jsonl", "tools-dev/jsonrepair.jsonl", "tools-dev/shell-autoapprove.jsonl",
		"schema-dev/data/*.json", "compaction-dev/logs/logs.jsonl", "compaction-dev/trajectories/*.json", "router-dev/*.jsonl",
		"moe-dev/vocab/*.gguf", "moe-dev/vocab/*.inp", "moe-dev/vocab/*.out", "moe-dev/models/*.gguf", "moe-dev/oracle/*.exact.json",
		"moe-dev/templates/*.jinja", "moe-dev/templates/fixtures.json", "moe-dev/templates/renders.jsonl",
		"moe-dev/templates/jinja-units.jsonl", "moe-dev/toolcalls.jsonl",
	} {
		files, end := run(t, func(tb testing.TB) []string { return Glob(tb, pattern) })
		if end != "" {
			t.Errorf("%s %s", pattern, end)
		}
		for _, path := range files {
			if !Sampled(t, path) {
				t.Errorf("%s is no sample", path)
			}
		}
	}
}

// below returns path relative to top, with slashes.
func below(t *testing.T, top, path string) string {
	t.Helper()
	rel, err := filepath.Rel(top, path)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(rel)
}
