package workspacetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fixtureIn makes the fixture in a new directory.
func fixtureIn(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	must(t, os.Mkdir(dir, 0o755))
	Fixture(t, dir, false)
	return dir
}

// looked returns the directory as commands see it.
func looked(t *testing.T, dir string) *seen {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs the find of GNU")
	}
	cmd := exec.Command("sh", "-c", look)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	must(t, err)
	s, err := parseLook(string(out))
	must(t, err)
	return s
}

// TestBothViewsAgree checks that a directory looks the same to this process and to a command, and
// that two fixtures are equal, commits included.
func TestBothViewsAgree(t *testing.T) {
	dir := fixtureIn(t)
	s := looked(t, dir)
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	m, err := viewManifest(root)
	must(t, err)
	if d := cmp.Diff(s.Tree, m); d != "" {
		t.Errorf("this process sees another tree than commands (-commands +this process):\n%s", d)
	}
	if len(s.Others) > 0 {
		t.Errorf("others own %v", s.Others)
	}
	if d := cmp.Diff(s, looked(t, fixtureIn(t))); d != "" {
		t.Errorf("a second fixture differs:\n%s", d)
	}
	for _, want := range []string{"d 750 private", "f 755 tools/check.sh ", "l docs/code -> ../calc", "f 644 two words.txt ", "f 644 größe.txt "} {
		if !strings.Contains(strings.Join(m, "\n"), want) {
			t.Errorf("no entry is %q", want)
		}
	}
}

// TestDeviationsShow checks that each kind of change of a workspace shows in what is compared, and
// on the host also one that leaves everything but times as it was.
func TestDeviationsShow(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"content":         func(dir string) error { return os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o644) },
		"mode":            func(dir string) error { return os.Chmod(filepath.Join(dir, "run.sh"), 0o755) },
		"directory mode":  func(dir string) error { return os.Chmod(dir, 0o700) },
		"new file":        func(dir string) error { return os.WriteFile(filepath.Join(dir, "x y"), nil, 0o644) },
		"new directory":   func(dir string) error { return os.Mkdir(filepath.Join(dir, "empty"), 0o755) },
		"removed":         func(dir string) error { return os.Remove(filepath.Join(dir, "dangling")) },
		"link":            func(dir string) error { return relink(filepath.Join(dir, "link.txt"), "todo.md") },
		"a link for what": func(dir string) error { return relink(filepath.Join(dir, "old.txt"), "notes.txt") },
		"commit": func(dir string) error {
			cmd := exec.Command("git", "commit", "-q", "--allow-empty", "-m", "more")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), gitEnv...)
			return cmd.Run()
		},
		"index": func(dir string) error {
			cmd := exec.Command("git", "add", "todo.md")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), gitEnv...)
			return cmd.Run()
		},
	} {
		dir := fixtureIn(t)
		before, host := looked(t, dir), hostState(t, dir, Caps{})
		must(t, change(dir))
		if cmp.Equal(before, looked(t, dir)) {
			t.Errorf("%s: nothing shows", name)
		}
		if cmp.Equal(host, hostState(t, dir, Caps{})) {
			t.Errorf("%s: nothing shows on the host", name)
		}
	}
	dir := fixtureIn(t)
	host := hostState(t, dir, Caps{})
	must(t, os.Chtimes(filepath.Join(dir, "old.txt"), time.Now(), time.Unix(1, 0)))
	if cmp.Equal(host, hostState(t, dir, Caps{})) {
		t.Error("a time of a file of the host does not show")
	}
}

func relink(path, to string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.Symlink(to, path)
}

// TestNormal checks what is taken out of texts: only what differs between two runs.
func TestNormal(t *testing.T) {
	for in, want := range map[string]string{
		"PASS: 1 passed in 1.68s (go test)":                    "PASS: 1 passed in TIME (go test)",
		"[exit code 0 after 2m9.1s]":                           "[exit code 0 after TIME]",
		"ok  \texample.com/shop/calc\t(cached)":                "ok  \texample.com/shop/calc",
		"ok  \texample.com/shop/calc\t0.004s":                  "ok  \texample.com/shop/calc\tTIME",
		"Full log: artifact artifact-16ffd39356aa (164 bytes)": "Full log: artifact ARTIFACT",
		"found packages in /tmp/x/shop":                        "found packages in /WORKSPACE",
		"3 matching lines in 2 files, commit 63d16b644":        "3 matching lines in 2 files, commit 63d16b644",
	} {
		if got := normal(in, "/tmp/x/shop"); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
