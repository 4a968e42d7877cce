package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// mark keeps the tests of this package free of lines that the command would collect.
const mark = "// Evidence" + ": "

// TestPages: tests that share a line share an entry, and claims are sorted.
func TestPages(t *testing.T) {
	root := fstest.MapFS{
		"a/a_test.go":        file(mark + "loop · A run ends\nfunc TestB(t *testing.T) {}\n\n" + mark + "loop · A run ends\nfunc TestA(t *testing.T) {}"),
		"b/c/b_test.go":      file("// FuzzIt reads anything.\n//\n" + mark + "edit · An edit applies\n" + mark + "edit · A patch applies\nfunc FuzzIt(f *testing.F) {}"),
		"testdata/x_test.go": file(mark + "x · skipped\nfunc TestX(t *testing.T) {}"),
		".git/x_test.go":     file(mark + "x · skipped\nfunc TestX(t *testing.T) {}"),
		"a/a.go":             file(mark + "x · not a test file\nfunc TestX() {}"),
	}
	lines, err := collect(root)
	if err != nil {
		t.Fatal(err)
	}
	got := pages(lines)
	if d := cmp.Diff([]string{"docs/evidence.md", "docs/evidence/edit.md", "docs/evidence/loop.md"}, slices.Sorted(maps.Keys(got))); d != "" {
		t.Error(d)
	}
	const edit = "| A patch applies | [FuzzIt](../../b/c/b_test.go) |\n| An edit applies | [FuzzIt](../../b/c/b_test.go) |\n"
	if text := string(got["docs/evidence/edit.md"]); !strings.HasSuffix(text, edit) {
		t.Errorf("page of edit:\n%s", text)
	}
	const loop = "| A run ends | [TestA](../../a/a_test.go), [TestB](../../a/a_test.go) |\n"
	if text := string(got["docs/evidence/loop.md"]); !strings.HasSuffix(text, loop) {
		t.Errorf("page of loop:\n%s", text)
	}
	const rows = "| [edit](evidence/edit.md) | 2 | 1 |\n| [loop](evidence/loop.md) | 1 | 2 |\n"
	if text := string(got["docs/evidence.md"]); !strings.HasSuffix(text, rows) {
		t.Errorf("index:\n%s", text)
	}
}

// TestFaults: a line that is malformed or in the wrong place is an error with its position.
func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no subject":       {mark + "A run ends\nfunc TestA(t *testing.T) {}", "write // Evidence"},
		"full stop":        {mark + "loop · A run ends.\nfunc TestA(t *testing.T) {}", "write // Evidence"},
		"two words":        {mark + "the loop · A run ends\nfunc TestA(t *testing.T) {}", "write // Evidence"},
		"on a helper":      {mark + "loop · A run ends\nfunc helper() {}", "not in the doc comment of a test"},
		"like a test":      {mark + "loop · A run ends\nfunc Testing() {}", "not in the doc comment of a test"},
		"on nothing":       {mark + "loop · A run ends\n\nfunc TestA(t *testing.T) {}", "not in the doc comment of a test"},
		"inside of a test": {"func TestA(t *testing.T) {\n\t" + mark + "loop · A run ends\n}", "not in the doc comment of a test"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := collect(fstest.MapFS{"a_test.go": file(tt.text)})
			if err == nil || !strings.Contains(err.Error(), "a_test.go:") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestCheck: -check passes after a write, and fails if a page is missing, changed or left over.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a_test.go", string(file(mark+"loop · A run ends\nfunc TestA(t *testing.T) {}").Data))
	check := func(want string) {
		t.Helper()
		err := run(dir, true)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	check("docs/evidence.md, docs/evidence/loop.md")
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	check("")
	put(t, dir, "docs/evidence/loop.md", head+"old")
	check("out of date: docs/evidence/loop.md;")
	put(t, dir, "docs/evidence/gone.md", head)
	check("docs/evidence/gone.md")
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	check("")
}

func file(text string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("package p\n\n" + text + "\n")}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
