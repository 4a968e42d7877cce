//go:build unix

package coding

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
)

const bigPatch = `*** Begin Patch
*** Update File: a.go
@@
 package a
-var A = 1
+var A = 2
*** Add File: new/deep/n.txt
+hello
*** Delete File: gone.txt
*** Update File: src/old.go
*** Move to: src/new.go
@@
-package old
+package renamed
*** End Patch`

var patchStart = files{"a.go": "package a\nvar A = 1\n", "gone.txt": "bye\n", "src/old.go": "package old\n", "other": "x\n"}

func TestApplyPatch(t *testing.T) {
	w := openWith(t, Config{}, patchStart)
	must(t, os.Chmod(filepath.Join(w.Dir(), "src/old.go"), 0o750))
	got := do(t, w, "apply_patch", args{"patch": bigPatch})
	contains(t, got, "Edited a.go", "2\tvar A = 2", "Created new/deep/n.txt with 1 lines", "Deleted gone.txt", "Moved src/old.go to src/new.go")
	want := files{"a.go": "package a\nvar A = 2\n", "new/deep/n.txt": "hello\n", "src/new.go": "package renamed\n", "other": "x\n"}
	if d := cmp.Diff(want, tree(t, w.Dir())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if info, err := os.Stat(filepath.Join(w.Dir(), "src/new.go")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the moved file's mode: %v, %v", info.Mode(), err)
	}
	do(t, w, "write", args{"path": "new/deep/n.txt", "content": "known\n"}) // what a patch adds counts as shown
}

// TestPatchInDirectory applies patches inside shell commands that change the directory, to files of
// one name in several directories. Only the file in the named directory changes.
func TestPatchInDirectory(t *testing.T) {
	start := files{"a": "1\n", "sub/a": "1\n", "sub/deep/a": "1\n", "sub dir/a": "1\n"}
	const body = "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** End Patch\nEOF\n"
	for _, c := range []struct{ command, changed string }{ // DIR is the workspace
		{"apply_patch <<'EOF'\n", "a"},
		{"cd sub && apply_patch <<'EOF'\n", "sub/a"},
		{"cd DIR/sub && apply_patch <<'EOF'\n", "sub/a"},
		{"cd 'DIR/sub dir' && apply_patch <<'EOF'\n", "sub dir/a"},
		{"cd \"DIR/sub\"; cd deep\napply_patch <<'EOF'\n", "sub/deep/a"},
		{"pushd DIR/sub >/dev/null && apply_patch <<'EOF'\n", "sub/a"},
		{"bash -lc 'cd DIR/sub && apply_patch <<EOF\n", "sub/a"},
		{"cd DIR && apply_patch <<'EOF'\n", "a"},
		{"cd /elsewhere && apply_patch <<'EOF'\n", ""},
		{"cd DIR/.. && apply_patch <<'EOF'\n", ""},
		{"cd DIR/sub/../.. && apply_patch <<'EOF'\n", ""},
		{"cd $HOME && apply_patch <<'EOF'\n", ""},
		{"make && apply_patch <<'EOF'\n", ""},
	} {
		w := openWith(t, Config{}, start)
		patch := strings.ReplaceAll(c.command, "DIR", w.Dir()) + body
		if strings.HasPrefix(c.command, "bash") {
			patch += "'"
		}
		want := files{}
		for name, text := range start {
			want[name] = text
		}
		if c.changed == "" {
			refused(t, w, "apply_patch", args{"patch": patch})
		} else {
			do(t, w, "apply_patch", args{"patch": patch})
			want[c.changed] = "2\n"
		}
		if d := cmp.Diff(want, tree(t, w.Dir())); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.command, d)
		}
	}
	w := openWith(t, Config{}, start)
	refused(t, w, "apply_patch", args{"patch": "cd sub && apply_patch <<EOF\n" + strings.Replace(body, ": a", ": "+w.Dir()+"/a", 1)})
	do(t, w, "apply_patch", args{"patch": strings.Replace(body[:len(body)-4], ": a", ": "+w.Dir()+"/sub/a", 1)})
}

// TestPatchSectionsForOneFile changes one file in several sections, as the files on disk show.
func TestPatchSectionsForOneFile(t *testing.T) {
	w := openWith(t, Config{}, files{"a": "1\n2\n", "b": "x\n", "c": "z\n"})
	do(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: a\n@@\n-1\n+one\n*** Delete File: b\n*** Update File: ./a\n\n@@\n one\n-2\n+two\n*** Add File: b\n+y\n" +
		"*** Add File: n\n+1\n*** Update File: n\n@@\n-1\n+2\n*** Update File: c\n*** Move to: d\n*** Update File: d\n@@\n-z\n+zz\n  *** End Patch"})
	if d := cmp.Diff(files{"a": "one\ntwo\n", "b": "y\n", "n": "2\n", "d": "zz\n"}, tree(t, w.Dir())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestApplyPatchRefusals(t *testing.T) {
	w := openWith(t, Config{}, patchStart)
	link(t, "a.go", w.Dir(), "alias.go")
	before := tree(t, w.Dir())
	for name, c := range map[string]struct{ patch, want string }{
		"no such file":   {"*** Update File: nope.go\n@@\n-x\n+y\n", "no such file"},
		"second fails":   {"*** Update File: a.go\n@@\n-var A = 1\n+var A = 2\n*** Update File: other\n@@\n-absent\n+y\n", "Nothing was changed"},
		"exists":         {"*** Add File: other\n+y\n", "there already"},
		"outside":        {"*** Add File: ../x\n+y\n", "Nothing was changed"},
		"two names":      {"*** Update File: a.go\n@@\n-var A = 1\n+var A = 2\n*** Update File: alias.go\n@@\n-package a\n+package b\n", "names a.go twice"},
		"absolute":       {"*** Add File: /tmp/x\n+y\n", "Nothing was changed"},
		"into a file":    {"*** Add File: other/x\n+y\n", "not a directory"},
		"git internals":  {"*** Add File: .git/hooks/pre-commit\n+y\n", "git"},
		"move onto file": {"*** Update File: a.go\n*** Move to: other\n@@\n-var A = 1\n+var A = 2\n", "there already"},
	} {
		refused(t, w, "apply_patch", args{"patch": "*** Begin Patch\n" + c.patch + "*** End Patch"}, c.want)
		if d := cmp.Diff(before, tree(t, w.Dir())); d != "" {
			t.Fatalf("%s: a refused patch changed something (-before +after):\n%s", name, d)
		}
	}
	do(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: " + filepath.Join(w.Dir(), "other") + "\n*** End Patch"})
}

// TestPatchRollsBack makes each step of a patch fail in turn, and checks that everything is rolled
// back.
//
// Evidence: edit · A patch applies as a whole or not at all
func TestPatchRollsBack(t *testing.T) {
	fault := errors.New("injected fault")
	for failAt := 1; ; failAt += tier.Pick(4, 1, 1) {
		w := openWith(t, Config{}, patchStart)
		n := 0
		var where string
		w.fault = func(step, path string) error {
			if n++; n == failAt {
				where = fmt.Sprintf("%s of %s", step, path)
				return fault
			}
			return nil
		}
		_, err := try(t, w, "apply_patch", args{"patch": bigPatch})
		if err == nil {
			if failAt < 15 {
				t.Errorf("only %d steps were tried", failAt)
			}
			break
		}
		if !errors.Is(err, fault) {
			t.Fatalf("step %d: %v", failAt, err)
		}
		if d := cmp.Diff(patchStart, tree(t, w.Dir())); d != "" {
			t.Errorf("after a fault at the %s (-before +after):\n%s", where, d)
		}
		if _, err := os.Stat(filepath.Join(w.Dir(), "new")); err == nil {
			t.Errorf("after a fault at the %s a directory was left behind", where)
		}
		w.fault = nil
		do(t, w, "apply_patch", args{"patch": bigPatch}) // and a second attempt succeeds
	}
}

func TestPatchKeepsEncodings(t *testing.T) {
	w := openWith(t, Config{}, files{"crlf": "a\r\nb\r\n", "wide": bomLE + "a\x00\n\x00b\x00\n\x00"})
	do(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: crlf\n@@\n a\n-b\n+c\n*** Update File: wide\n@@\n a\n-b\n+c\n*** End Patch"})
	want := files{"crlf": "a\r\nc\r\n", "wide": bomLE + "a\x00\n\x00c\x00\n\x00"}
	if d := cmp.Diff(want, tree(t, w.Dir())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
