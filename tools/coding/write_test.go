//go:build unix

package coding

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWriteNewFile(t *testing.T) {
	w := openWith(t, Config{}, nil)
	contains(t, do(t, w, "write", args{"path": "a/b/c.txt", "content": "one\ntwo\n"}), "Created a/b/c.txt with 2 lines")
	if got := content(t, w, "a/b/c.txt"); got != "one\ntwo\n" {
		t.Errorf("content %q", got)
	}
	info, err := os.Stat(filepath.Join(w.Dir(), "a/b/c.txt"))
	must(t, err)
	if info.Mode().Perm() != 0o644 && info.Mode().Perm()&^0o644 != 0o020 {
		t.Errorf("mode %v", info.Mode())
	}
	// What the model wrote counts as shown.
	do(t, w, "write", args{"path": "a/b/c.txt", "content": "three\n"})
	contains(t, do(t, w, "write", args{"path": "a/b/c.txt", "content": "three\n"}), "nothing was written")
	if got := do(t, w, "write", args{"path": "empty", "content": ""}); !strings.Contains(got, "0 lines") {
		t.Error(got)
	}
	contains(t, do(t, w, "write", args{"path": "x.go", "content": "package x\nfunc {\n"}), "does not parse")
}

func TestWriteNeedsARead(t *testing.T) {
	w := openWith(t, Config{Limits: Limits{ReadLines: 10}}, files{"a.txt": "old\n", "long.txt": strings.Repeat("line\n", 30)})
	refused(t, w, "write", args{"path": "a.txt", "content": "new\n"}, "was not read yet", "read it first", "overwrite")
	do(t, w, "read", args{"path": "a.txt"})
	do(t, w, "write", args{"path": "a.txt", "content": "new\n"})

	do(t, w, "read", args{"path": "long.txt"})
	refused(t, w, "write", args{"path": "long.txt", "content": "new\n"}, "only lines 1-10 were read")
	do(t, w, "read", args{"path": "long.txt", "offset": 21})
	refused(t, w, "write", args{"path": "long.txt", "content": "new\n"}, "1-10, 21-30")
	do(t, w, "read", args{"path": "long.txt", "offset": 11})
	do(t, w, "write", args{"path": "long.txt", "content": "new\n"})

	must(t, os.WriteFile(filepath.Join(w.Dir(), "b.txt"), []byte("unseen\n"), 0o644))
	do(t, w, "write", args{"path": "b.txt", "content": "new\n", "overwrite": true})
}

func TestWriteAfterSomebodyElse(t *testing.T) {
	w := openWith(t, Config{}, files{"a.txt": "1\n2\n3\n4\n5\n6\n"})
	at := filepath.Join(w.Dir(), "a.txt")
	do(t, w, "read", args{"path": "a.txt"})
	must(t, os.WriteFile(at, []byte("1\n2\n3\n4\n5\nSIX\n"), 0o644))
	contains(t, do(t, w, "write", args{"path": "a.txt", "content": "ONE\n2\n3\n4\n5\n6\n"}), "somebody else changed the file")
	if got := content(t, w, "a.txt"); got != "ONE\n2\n3\n4\n5\nSIX\n" {
		t.Errorf("merged to %q", got)
	}
	// The model does not know about SIX; its next whole write must not lose it either.
	do(t, w, "write", args{"path": "a.txt", "content": "ONE\nTWO\n3\n4\n5\n6\n"})
	if got := content(t, w, "a.txt"); got != "ONE\nTWO\n3\n4\n5\nSIX\n" {
		t.Errorf("merged to %q", got)
	}
	do(t, w, "read", args{"path": "a.txt"})
	must(t, os.WriteFile(at, []byte("theirs\nTWO\n3\n4\n5\nSIX\n"), 0o644))
	refused(t, w, "write", args{"path": "a.txt", "content": "ours\nTWO\n3\n4\n5\nSIX\n"}, "conflict")
	if got := content(t, w, "a.txt"); !strings.HasPrefix(got, "theirs") {
		t.Errorf("a refused write changed the file: %q", got)
	}
	must(t, os.Remove(at))
	contains(t, do(t, w, "write", args{"path": "a.txt", "content": "anew\n"}), "had been deleted")
}

func TestWriteKeepsTheFilesForm(t *testing.T) {
	for name, c := range map[string]struct{ before, content, after string }{
		"crlf":           {"a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
		"crlf given":     {"a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n"},
		"lf":             {"a\nb\n", "a\r\nc\r\n", "a\nc\n"},
		"cr":             {"a\rb\r", "a\nc\n", "a\rc\r"},
		"cr given":       {"a\nb\n", "a\rc\r", "a\nc\n"},
		"bom":            {bomUTF8 + "a\n", "b\n", bomUTF8 + "b\n"},
		"utf-16 le":      {bomLE + "a\x00\n\x00", "b\n", bomLE + "b\x00\n\x00"},
		"utf-16 be":      {bomBE + "\x00a\x00\r\x00\n", "é\n", bomBE + "\x00\xe9\x00\r\x00\n"},
		"utf-16 no mark": {"h\x00e\x00l\x00l\x00o\x00\n\x00", "b\n", "b\x00\n\x00"},
		"no final line":  {"a", "b", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWith(t, Config{}, files{"f": c.before})
			at := filepath.Join(w.Dir(), "f")
			must(t, os.Chmod(at, 0o751))
			do(t, w, "read", args{"path": "f"})
			do(t, w, "write", args{"path": "f", "content": c.content})
			if got := content(t, w, "f"); got != c.after {
				t.Errorf("wrote %q, want %q", got, c.after)
			}
			info, err := os.Stat(at)
			must(t, err)
			if info.Mode().Perm() != 0o751 {
				t.Errorf("mode %v, want 0751", info.Mode())
			}
		})
	}
}

func TestWriteThroughALinkKeepsTheLink(t *testing.T) {
	w := openWith(t, Config{}, files{"real/a.txt": "a\n"})
	link(t, "real/a.txt", w.Dir(), "a-link")
	do(t, w, "read", args{"path": "a-link"})
	do(t, w, "write", args{"path": "real/a.txt", "content": "b\n"}) // the same file under its own name
	do(t, w, "edit", args{"path": "a-link", "old": "b", "new": "c"})
	if got := tree(t, w.Dir()); got["a-link"] != "-> real/a.txt" || got["real/a.txt"] != "c\n" || len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestReadOnlyFileIsRefused(t *testing.T) {
	w := openWith(t, Config{}, files{"gen.go": "package gen\n"})
	must(t, os.Chmod(filepath.Join(w.Dir(), "gen.go"), 0o444))
	do(t, w, "read", args{"path": "gen.go"})
	refused(t, w, "edit", args{"path": "gen.go", "old": "gen", "new": "x"}, "read-only")
	refused(t, w, "write", args{"path": "gen.go", "content": "x"}, "read-only")
	if got := tree(t, w.Dir()); len(got) != 1 {
		t.Errorf("something was left behind: %v", got)
	}
}

func TestLimitsOfWrites(t *testing.T) {
	w := openWith(t, Config{Limits: Limits{FileBytes: 1000}}, files{"a": "x\n", "bin": "\x00\x01\x02"})
	refused(t, w, "write", args{"path": "b", "content": strings.Repeat("x", 1001)}, "more than the 1000 bytes")
	refused(t, w, "edit", args{"path": "a", "old": "x", "new": strings.Repeat("y", 1000)}, "would grow")
	refused(t, w, "write", args{"path": "bin", "content": "text"}, "binary")
	refused(t, w, "edit", args{"path": "bin", "old": "a", "new": "b"}, "binary")
	do(t, w, "write", args{"path": "bin", "content": "text", "overwrite": true})
	refused(t, w, "write", args{"path": "a/b", "content": "x"}, "not a directory")
	refused(t, w, "write", args{"path": ".", "content": "x"}, "workspace itself")
}

func TestStaleTemporaryFiles(t *testing.T) {
	w := openWith(t, Config{}, files{
		"d/.luthier-00112233aabbccdd.tmp": "stale", "d/.luthier-00112233aabbccee.tmp": "fresh", "d/.luthier-notes.tmp": "a person's", "d/a.txt": "x\n",
	})
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(filepath.Join(w.Dir(), "d/.luthier-00112233aabbccdd.tmp"), old, old))
	for tool, in := range map[string]args{"list": {}, "glob": {"pattern": "**"}, "grep": {"pattern": "stale|fresh"}} {
		got := do(t, w, tool, in)
		if strings.Contains(got, "aabb") {
			t.Errorf("%s shows temporary files:\n%s", tool, got)
		}
	}
	do(t, w, "edit", args{"path": "d/a.txt", "old": "x", "new": "y"})
	got := tree(t, w.Dir())
	if _, ok := got["d/.luthier-00112233aabbccdd.tmp"]; ok || len(got) != 3 {
		t.Errorf("want the stale file gone and the others kept: %v", got)
	}
}

func TestViewsHaveALimit(t *testing.T) {
	w := openWith(t, Config{Limits: Limits{ShownBytes: 10_000}}, nil)
	for i := range 20 {
		name := fmt.Sprintf("f%d", i)
		files{name: strings.Repeat("x\n", 1000)}.write(t, w.Dir())
		do(t, w, "read", args{"path": name})
	}
	refused(t, w, "write", args{"path": "f0", "content": "y"}, "was not read yet")
	do(t, w, "write", args{"path": "f19", "content": "y"})
}
