package sandbox

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// change is a script that makes every kind of change to the files of changeBase.
const change = `set -e
echo two >> text; rm gone; rm -r dir; mkdir -p new/deep; echo n > new/deep/f; printf 'no newline' > new/tail
printf 'a\0b' > bin; rm bin.old; chmod +x script; rm swap; mkdir swap; echo s > swap/in; rm -r flip; echo f > flip
rm link; ln -s new link; rm tolink; ln -s text tolink; : > empty; echo q > 'odd "name" ü'; chmod 600 private; printf 'x\r\ny\n' > crlf; rm -r emptydir`

func changeBase(t testing.TB, dir string) {
	for name, text := range map[string]string{"text": "one\n", "gone": "g\n", "dir/a/b": "b\n", "bin.old": "\x00\x01", "script": "#!/bin/sh\n",
		"swap": "s\n", "flip/x": "x\n", "tolink": "t\n", "keep": "k\n", "private": "p\n", "crlf": "x\r\n", "emptydir/.keep": ""} {
		write(t, dir, name, text)
	}
	if err := os.Symlink("text", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
}

// Evidence: sandbox · A change leaves as a reviewed patch
func TestExportAppliesTheChange(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		dir, other := t.TempDir(), t.TempDir()
		changeBase(t, dir)
		changeBase(t, other)
		cfg.Snapshot = SnapshotDir(dir)
		sb := open(t, cfg)
		sh(t, sb, change)
		var patch bytes.Buffer
		for _, o := range []ExportOptions{{Patch: &patch}, {Dir: other}, {}, {Dir: other}} { // applying twice has the same result as applying once
			if r, err := sb.(Exporter).Export(t.Context(), o); err != nil {
				t.Fatalf("%+v: %v, %v", o, err, r.Findings)
			}
		}
		want := map[string]string{"text": "one\ntwo\n", "new/deep/f": "n\n", "new/tail": "no newline", "bin": "a\x00b", "script": "#!/bin/sh\n",
			"swap/in": "s\n", "flip": "f\n", "link": "-> new", "tolink": "-> text", "empty": "", `odd "name" ü`: "q\n", "keep": "k\n",
			"private": "p\n", "crlf": "x\r\ny\n"}
		delete(want, "link")
		for _, d := range []string{dir, other} {
			got := treeOf(t, d)
			if got["link"] != "-> new" {
				t.Errorf("link is %q", got["link"])
			}
			delete(got, "link")
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			for name, mode := range map[string]os.FileMode{"script": 0o755, "private": 0o600, "new/deep": 0o755 | os.ModeDir} {
				if fi, err := os.Lstat(filepath.Join(d, name)); err != nil || fi.Mode() != mode {
					t.Errorf("%s: %v, %v", name, fi.Mode(), err)
				}
			}
			if _, err := os.Lstat(filepath.Join(d, "emptydir")); err == nil {
				t.Error("a deleted directory is there")
			}
		}
		if got := reviewed(t, sb).Changes; cfg.Floor == TierNamespaces && len(got) > 0 {
			t.Errorf("exported to the snapshot, but still differs: %v", got)
		}
		// Applied by git, the patch has the same result.
		if _, err := exec.LookPath("git"); err != nil {
			return
		}
		third := t.TempDir()
		changeBase(t, third)
		git, done, err := SafeGit(t.Context(), third, "apply", "-")
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		git.Stdin = bytes.NewReader(patch.Bytes())
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, patch.String())
		}
		got := treeOf(t, third)
		delete(got, "link")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s\n%s", d, patch.String())
		}
	})
}

func TestDiff(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.txt", "one\ntwo\nthree\n")
	write(t, dir, "bin", "\x00")
	sb := open(t, withDir(plain(), dir))
	sh(t, sb, `printf 'one\n2\nthree' > a.txt; printf '\0\0' > bin; echo x > "n w"; mkfifo pipe`)
	var b strings.Builder
	if err := sb.(Exporter).Diff(t.Context(), AtSnapshot, &b); err != nil {
		t.Fatal(err)
	}
	want := `diff --git a/a.txt b/a.txt
index 4cb29ea38f70d7c61b2a3a25b02e3bdf44905402..2f0cb45d4c0f59e52a1a6a3a3a5f3d5cb3ee3d56 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
-three
+2
+three
\ No newline at end of file
diff --git a/bin b/bin
index f76dd238ade08917e6712764a16a22005a50573d..09f370e38f498a462e1ca0faa724559b6630c04f 100644
Binary files a/bin and b/bin differ
diff --git "a/n w" "b/n w"
new file mode 100644
index 0000000000000000000000000000000000000000..587be6b4c3f93f93c489c0111bba5596147a26cb
--- /dev/null
+++ "b/n w"
@@ -0,0 +1 @@
+x
Special file pipe: prw-r--r--
`
	cut := func(s string) string { // drop the line with the hashes of a.txt, which only git determines
		lines := strings.Split(s, "\n")
		return strings.Join(append(lines[:1:1], lines[2:]...), "\n")
	}
	if d := cmp.Diff(cut(want), cut(b.String())); d != "" {
		t.Error(d)
	}
}

func TestExportConflicts(t *testing.T) {
	base := t.TempDir()
	write(t, base, "f", "1")
	write(t, base, "g", "1")
	sb := open(t, withDir(plain(), base))
	sh(t, sb, "echo 2 > f; echo 2 > new; rm g")
	for name, spoil := range map[string]func(dir string){
		"edited":            func(dir string) { write(t, dir, "f", "other") },
		"added":             func(dir string) { write(t, dir, "new", "other") },
		"deleted":           func(dir string) { _ = os.Remove(filepath.Join(dir, "f")) },
		"was to be deleted": func(dir string) { write(t, dir, "g", "other") },
		"a link": func(dir string) {
			_ = os.Remove(filepath.Join(dir, "f"))
			_ = os.Symlink("/etc/passwd", filepath.Join(dir, "f"))
		},
	} {
		dir := t.TempDir()
		write(t, dir, "f", "1")
		write(t, dir, "g", "1")
		spoil(dir)
		before := treeOf(t, dir)
		if _, err := sb.(Exporter).Export(t.Context(), ExportOptions{Dir: dir}); !errors.Is(err, ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(before, treeOf(t, dir)); d != "" {
			t.Errorf("%s: changed nevertheless: %s", name, d)
		}
	}
	// The target is the snapshot itself, edited after the sandbox was opened.
	l := sb.(*local)
	eventually(t, "an edit that is later by the file system's clock", func() bool {
		write(t, base, "f", "edited")
		fi, err := os.Lstat(filepath.Join(base, "f"))
		return err == nil && tree.ChangedAt(fi).After(l.ws.opened)
	})
	if _, err := sb.(Exporter).Export(t.Context(), ExportOptions{}); !errors.Is(err, ErrConflict) {
		t.Errorf("snapshot edited: %v", err)
	}
}

// TestExportFollowsNoLinks checks that a symbolic link to a directory is not followed when changes
// are applied.
func TestExportFollowsNoLinks(t *testing.T) {
	base, outside, dir := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, base, "d/f", "1")
	write(t, outside, "f", "1")
	if err := os.Symlink(outside, filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	sb := open(t, withDir(plain(), base))
	sh(t, sb, "echo 2 > d/f; echo 3 > d/g")
	if _, err := sb.(Exporter).Export(t.Context(), ExportOptions{Dir: dir}); err == nil {
		t.Error("applied")
	}
	if d := cmp.Diff(map[string]string{"f": "1"}, treeOf(t, outside)); d != "" {
		t.Errorf("wrote through the link: %s", d)
	}
}

func TestBinaryPatches(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	base, dir := t.TempDir(), t.TempDir()
	rnd := rand.New(rand.NewPCG(1, 2))
	sizes := []int{1, 2, 3, 4, 5, 51, 52, 53, 1000, 70001}
	for i, n := range sizes {
		b := make([]byte, n)
		for k := range b {
			b[k] = byte(rnd.Uint32())
		}
		b[0] = 0
		write(t, base, "src/"+string(rune('a'+i)), string(b))
	}
	sb := open(t, withDir(plain(), base))
	sh(t, sb, "cp -r src dst")
	var patch bytes.Buffer
	if _, err := sb.(Exporter).Export(t.Context(), ExportOptions{Patch: &patch}); err != nil {
		t.Fatal(err)
	}
	git, done, err := SafeGit(t.Context(), dir, "apply", "-")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	git.Stdin = &patch
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := treeOf(t, filepath.Join(base, "src"))
	if d := cmp.Diff(want, treeOf(t, filepath.Join(dir, "dst"))); d != "" {
		t.Error("binary files differ after git apply")
	}
}
