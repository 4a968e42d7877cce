package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox/internal/layers"
	"github.com/luthier-dev/luthier/sandbox/internal/obeyed"
)

// hostileRepository makes a repository that a command could leave in a workspace so that the host's
// git runs marker. It returns the directory.
func hostileRepository(t *testing.T, marker string) string {
	t.Helper()
	dir := repository(t)
	script := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho ran >> "+marker+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, ".git/config", "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "+script+"\n\tpager = "+script+
		"\n[filter \"evil\"]\n\tclean = "+script+"\n\tsmudge = "+script+"\n[diff \"evil\"]\n\ttextconv = "+script+"\n[diff]\n\texternal = "+script+
		"\n[include]\n\tpath = "+dir+"/included\n")
	write(t, dir, ".gitattributes", "* filter=evil diff=evil\n")
	write(t, dir, "file", "changed by the command")
	for _, hook := range []string{"post-index-change", "pre-commit", "reference-transaction"} {
		write(t, dir, ".git/hooks/"+hook, "#!/bin/sh\necho ran >> "+marker+"\n")
		if err := os.Chmod(filepath.Join(dir, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A submodule whose own configuration git would use when it inspects it.
	write(t, dir, "sm/.git/config", "[core]\n\tfsmonitor = "+script+"\n")
	write(t, dir, ".gitmodules", "[submodule \"sm\"]\n\tpath = sm\n\turl = x\n\tignore = none\n")
	return dir
}

func TestSafeGitRunsNothingOfTheRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	marker := filepath.Join(t.TempDir(), "marker")
	dir := hostileRepository(t, marker)
	// The control: plain git does run the marker.
	control := exec.Command("git", "-c", "safe.directory=*", "-C", dir, "diff")
	if out, _ := control.CombinedOutput(); !exists(marker) {
		t.Fatalf("the repository does not bite: %s", out)
	}
	if err := os.Remove(marker); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"status", "--short"}, {"diff"}, {"diff", "HEAD"}, {"log", "--oneline", "-p"}, {"show"},
		{"ls-files", "-s"}, {"rev-parse", "HEAD"}, {"hash-object", "file"}, {"blame", "file"}} {
		git, done, err := SafeGit(t.Context(), dir, args...)
		if err != nil {
			t.Fatal(err)
		}
		out, err := git.CombinedOutput()
		if err != nil {
			t.Errorf("git %v: %v: %s", args, err, out)
		}
		if args[0] == "diff" && !strings.Contains(string(out), "+changed by the command") {
			t.Errorf("git diff says %q", out)
		}
		if err := done(); err != nil {
			t.Error(err)
		}
		if exists(marker) {
			t.Fatalf("git %v ran what the repository names", args)
		}
	}
}

func TestSafeGitRefuses(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir := t.TempDir()
	for _, args := range [][]string{nil, {"-c", "x=y", "status"}, {"commit"}, {"fetch"}, {"grep", "x"}, {"diff", "--ext-diff"}, {"diff", "--ext"},
		{"log", "--output=/tmp/x"}, {"log", "--outpu=/tmp/x"}, {"show", "--textc"}, {"diff", "-O/x"}, {"status", "--ignore-submodules=none"}} {
		if _, _, err := SafeGit(t.Context(), dir, args...); err == nil || !strings.HasPrefix(err.Error(), "sandbox: prepare git in ") {
			t.Errorf("git %v: %v", args, err)
		}
	}
	// A symbolic link in place of a file to read is not followed.
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, ".git/index")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := SafeGit(t.Context(), dir, "status"); err == nil {
		t.Error("an index that is a link is read")
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// looks does what a host does with a workspace before and after commands run in it.
func looks(t *testing.T, dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	protectedIn(dir)
	obeyed.Find(dir).Walls()
	ReviewWrite(dir, FileWrite{Path: "a"}, FileWrite{Path: "package.json"}, FileWrite{Path: ".git/config"})
	_ = layers.Checkout(ctx, dir, "HEAD", t.TempDir(), nil)
	if cmd, done, err := SafeGit(ctx, dir, "status"); err == nil {
		_ = cmd.Run()
		_ = done()
	}
}

// TestNothingElseThanFilesIsReviewed checks that reviewing a workspace, taking a commit from it and
// running git over it end when a FIFO, a socket, a directory or a device has the place of a file.
func TestNothingElseThanFilesIsReviewed(t *testing.T) {
	tier.Normal(t)
	paths := []string{"a", ".gitattributes", "package.json", ".git", ".git/HEAD", ".git/config", ".git/index", ".git/packed-refs",
		".git/commondir", ".git/refs/heads/main", ".git/hooks", ".git/hooks/pre-commit", ".git/objects/info/alternates", ".husky"}
	regulartest.Each(t, regulartest.Repository(t), paths, looks)
}

// TestExchangedWhileReviewed checks that a process that exchanges files and FIFOs does not keep a
// host waiting.
//
// Evidence: sandbox · A FIFO exchanged for a file of a workspace does not hang a review or git
func TestExchangedWhileReviewed(t *testing.T) {
	tier.Normal(t)
	dir := regulartest.Repository(t)
	write(t, dir, "d/e", "x")
	for _, name := range []string{"a", "d", ".git/HEAD", ".git/config", ".git/index"} {
		regulartest.Flip(t, filepath.Join(dir, filepath.FromSlash(name)))
	}
	regulartest.Within(t, func() {
		for range 20 {
			looks(t, dir)
		}
	})
}

// TestSafeGitEnds checks that git over a repository whose objects are FIFOs is ended with the
// context, and has a deadline if the context has none.
func TestSafeGitEnds(t *testing.T) {
	dir := regulartest.Repository(t)
	for _, k := range regulartest.Kinds(t) {
		if k.Name != "FIFO" {
			continue
		}
		for _, pattern := range []string{"??/*", "pack/*"} {
			files, _ := filepath.Glob(filepath.Join(dir, ".git", "objects", pattern))
			for _, f := range files {
				regulartest.Place(t, f, k)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	cmd, done, err := SafeGit(ctx, dir, "log")
	if err != nil {
		t.Fatal(err)
	}
	regulartest.Within(t, func() { _ = cmd.Run() })
	if err := done(); err != nil {
		t.Error(err)
	}
}
