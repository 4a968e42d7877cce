//go:build unix

package coding

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestHardLinksStay: every tool that writes keeps the names of a file together, and says so.
//
// Evidence: coding · A file with several hard links stays one file when it is edited
func TestHardLinksStay(t *testing.T) {
	w := openWith(t, Config{}, files{"a/src.md": "one\ntwo\n", "b/": ""})
	must(t, os.Chmod(filepath.Join(w.Dir(), "a/src.md"), 0o640))
	must(t, os.Link(filepath.Join(w.Dir(), "a/src.md"), filepath.Join(w.Dir(), "b/dst.md")))
	do(t, w, "read", args{"path": "a/src.md"})
	for _, c := range []struct {
		tool string
		in   args
		want string
	}{
		{"edit", args{"path": "a/src.md", "old": "two", "new": "three"}, "one\nthree\n"},
		{"edit", args{"path": "b/dst.md", "old": "three", "new": "a longer text"}, "one\na longer text\n"},
		{"write", args{"path": "b/dst.md", "content": "1\n", "overwrite": true}, "1\n"},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: a/src.md\n@@\n-1\n+2\n*** Add File: c\n+x\n*** End Patch"}, "2\n"},
	} {
		contains(t, do(t, w, c.tool, c.in), "was written in place", "2 names (hard links)")
		if got := tree(t, w.Dir()); got["a/src.md"] != c.want || got["b/dst.md"] != c.want {
			t.Errorf("%s: %v", c.tool, got)
		}
	}
	a, err := os.Stat(filepath.Join(w.Dir(), "a/src.md"))
	must(t, err)
	b, err := os.Stat(filepath.Join(w.Dir(), "b/dst.md"))
	must(t, err)
	if !os.SameFile(a, b) || a.Mode().Perm() != 0o640 {
		t.Errorf("the link was cut, or the mode %v is not 0640", a.Mode())
	}
}

const linkedPatch = "*** Begin Patch\n*** Update File: a\n@@\n-the old text of a, which is not short\n+new\n*** Update File: b\n@@\n-old b\n+a new text of b that is much longer than the old one\n*** End Patch"

var linkedStart = files{"a": "first\nthe old text of a, which is not short\nlast\n", "b": "old b\n"}

// linkAll makes a second name for each file.
func linkAll(t *testing.T, dir string, fs files) {
	t.Helper()
	for name := range fs {
		must(t, os.Link(filepath.Join(dir, name), filepath.Join(dir, name+".link")))
	}
}

// TestInPlaceRollsBack makes each step of a patch of two linked files fail in turn. Both files are
// then as before, under all names.
func TestInPlaceRollsBack(t *testing.T) {
	fault := errors.New("injected fault")
	for failAt := 1; ; failAt += tier.Pick(7, 2, 1) {
		w := openWith(t, Config{}, linkedStart)
		linkAll(t, w.Dir(), linkedStart)
		before := tree(t, w.Dir())
		n := 0
		w.fault = func(step, path string) error {
			if n++; n == failAt {
				return fault
			}
			return nil
		}
		_, err := try(t, w, "apply_patch", args{"patch": linkedPatch})
		w.fault = nil
		if err == nil {
			if failAt < 20 {
				t.Errorf("only %d steps were tried", failAt)
			}
			return
		}
		if d := cmp.Diff(before, tree(t, w.Dir())); d != "" || !errors.Is(err, fault) {
			t.Fatalf("step %d: %v (-before +after):\n%s", failAt, err, d)
		}
	}
}

// TestInPlaceKilled kills a program after each small piece that it writes in place. When the
// workspace is opened again, each file has its whole old or its whole new content.
//
// Evidence: coding · A kill while a file is written in place leaves its old or its new content
func TestInPlaceKilled(t *testing.T) {
	tier.Normal(t)
	after := files{"a": "first\nnew\nlast\n", "b": "a new text of b that is much longer than the old one\n"}
	tornOnce := false
	for step := 1; ; step += tier.Pick(5, 2, 1) {
		dir := t.TempDir()
		linkedStart.write(t, dir)
		linkAll(t, dir, linkedStart)
		err := startChild(t, dir, fmt.Sprint(step, " linked")).Run()
		whole := func(got files) (ok bool) {
			ok = true
			for name := range linkedStart {
				ok = ok && (got[name] == linkedStart[name] || got[name] == after[name]) && got[name+".link"] == got[name]
			}
			return ok
		}
		tornOnce = tornOnce || !whole(tree(t, dir))
		w := openAt(t, dir, Config{})
		got := tree(t, dir)
		if !whole(got) {
			t.Fatalf("killed at step %d, after opening again: %v", step, got)
		}
		for name := range got {
			if strings.HasSuffix(name, undoSuffix) {
				t.Fatalf("killed at step %d: the journal %s is still there", step, name)
			}
		}
		do(t, w, "list", args{})
		if err == nil {
			break
		}
	}
	if !tornOnce {
		t.Error("no kill left a torn file: the test tests nothing")
	}
}

// TestJournalsAreNotTrusted: a file in a repository that looks like a journal changes nothing, and
// neither does a journal whose file somebody has changed since.
func TestJournalsAreNotTrusted(t *testing.T) {
	dir := t.TempDir()
	files{"f": "old text\n"}.write(t, dir)
	real, err := filepath.EvalSymlinks(dir)
	must(t, err)
	w := openAt(t, dir, Config{})
	j, err := inside(w).openJournal("f", []byte("evil"), []byte("old more"))
	must(t, err)
	must(t, os.Chmod(filepath.Join(real, j.name), 0o644)) // as git writes it
	openAt(t, dir, Config{})
	must(t, os.Chmod(filepath.Join(real, j.name), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("a person's\n"), 0o644))
	openAt(t, dir, Config{})
	if got := content(t, w, "f"); got != "a person's\n" {
		t.Errorf("%q", got)
	}
}

// childInPlace edits the files of TestInPlaceElsewhere.
func childInPlace(ctx context.Context, w *Workspace) {
	for _, f := range []string{"mounted", "closed/f", "shared/f"} {
		out, err := inside(w).edit(ctx, editIn{Path: f, Old: "old", New: "new"})
		fmt.Println(out, err)
	}
}
