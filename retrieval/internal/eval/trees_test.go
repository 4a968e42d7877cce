package eval_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/eval"
)

func TestMain(m *testing.M) { tier.Main(m) }

// makeMirror commits trees one after the other and returns the folder of mirrors and the
// commits' hashes.
func makeMirror(t *testing.T, trees ...map[string]string) (mirrors string, commits []string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	mirrors = t.TempDir()
	gitDir := filepath.Join(mirrors, "a+a", "repo")
	git := func(in string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Env = append(os.Environ(), "GIT_DIR="+gitDir, "GIT_CONFIG_GLOBAL="+os.DevNull)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "-q", "--bare", "-b", "main", gitDir)
	for _, tree := range trees {
		var in bytes.Buffer
		in.WriteString("commit refs/heads/main\ncommitter a <a@a> 1 +0000\ndata 1\nx\n")
		if len(commits) > 0 {
			in.WriteString("from " + commits[len(commits)-1] + "\n")
		}
		in.WriteString("deleteall\n")
		for p, c := range tree {
			mode := "100644"
			if to, ok := strings.CutPrefix(c, "-> "); ok {
				mode, c = "120000", to
			}
			in.WriteString("M " + mode + " inline " + p + "\ndata <<END\n" + c + "\nEND\n\n")
		}
		git(in.String(), "fast-import", "--quiet", "--force")
		commits = append(commits, git("", "rev-parse", "main"))
	}
	return mirrors, commits
}

func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if e.IsDir() {
			if names, _ := os.ReadDir(p); len(names) == 0 && p != dir {
				t.Errorf("the directory %s is left empty", rel)
			}
			return nil
		}
		if e.Type()&fs.ModeSymlink != 0 {
			to, _ := os.Readlink(p)
			out[filepath.ToSlash(rel)] = "-> " + strings.TrimSpace(to)
			return nil
		}
		b, err := os.ReadFile(p)
		out[filepath.ToSlash(rel)] = strings.TrimSpace(string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCheckout switches back and forth between commits, including ones in which a file becomes a
// directory.
func TestCheckout(t *testing.T) {
	all := []map[string]string{
		{"a": "1", "dir/b": "1", "dir/deep/c": "1", "same": "s"},
		{"a": "2", "dir": "a file now", "same": "s"},
		{"a/x": "a directory now", "dir/b": "1", "same": "s"},
		{"link": "-> a", "a": "1", "same": "s"},
		{"link/f": "no link", "a": "-> /etc/passwd", "same": "s"},
		{"same": "s"},
	}
	mirrors, commits := makeMirror(t, all...)
	kept := t.TempDir()
	for _, dir := range []string{"", kept, kept} { // the last one finds what the previous one left
		trees, err := eval.NewTrees(mirrors, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{3, 0, 1, 2, 3, 4, 3, 5, 2, 1, 0, 5, 4, 4} {
			got, release, err := trees.Checkout(t.Context(), "a+a", commits[i])
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(all[i], readTree(t, got)); d != "" {
				t.Fatalf("commit %d (-want +got):\n%s", i, d)
			}
			release()
			release() // releasing twice is harmless
		}
		if err := trees.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCheckoutTouchesOnlyWhatDiffers checks that unchanged files keep their times, so that an index
// of the directory reads only the changed ones.
func TestCheckoutTouchesOnlyWhatDiffers(t *testing.T) {
	mirrors, commits := makeMirror(t, map[string]string{"a": "1", "same": "s"}, map[string]string{"a": "2", "same": "s"})
	trees, err := eval.NewTrees(mirrors, "")
	if err != nil {
		t.Fatal(err)
	}
	defer trees.Close()
	var infos []fs.FileInfo
	for _, c := range commits {
		dir, release, err := trees.Checkout(t.Context(), "a+a", c)
		if err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(filepath.Join(dir, "same"))
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, fi)
		release()
	}
	if !os.SameFile(infos[0], infos[1]) || !infos[0].ModTime().Equal(infos[1].ModTime()) {
		t.Error("a file that did not change was written again")
	}
}

// TestCheckoutsSideBySide checks that concurrent checkouts get separate directories.
func TestCheckoutsSideBySide(t *testing.T) {
	all := []map[string]string{{"a": "1"}, {"a": "2"}}
	mirrors, commits := makeMirror(t, all...)
	trees, err := eval.NewTrees(mirrors, "")
	if err != nil {
		t.Fatal(err)
	}
	defer trees.Close()
	var dirs []string
	var releases []func()
	for i, c := range commits {
		dir, release, err := trees.Checkout(t.Context(), "a+a", c)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
		dirs = append(dirs, dir)
		for j := range i + 1 {
			if d := cmp.Diff(all[j], readTree(t, dirs[j])); d != "" {
				t.Errorf("commit %d (-want +got):\n%s", j, d)
			}
		}
	}
	for range 2 { // and a released directory is handed out only once
		for _, release := range releases {
			release()
		}
		releases = nil
		seen := map[string]bool{}
		for range 3 {
			dir, release, err := trees.Checkout(t.Context(), "a+a", commits[0])
			if err != nil {
				t.Fatal(err)
			}
			if seen[dir] {
				t.Error("a directory was given twice")
			}
			seen[dir] = true
			releases = append(releases, release)
		}
	}
	for _, bad := range []string{"main", strings.Repeat("1", 40), "--help"} {
		if _, _, err := trees.Checkout(t.Context(), "a+a", bad); err == nil {
			t.Errorf("no error for the commit %s", bad)
		}
	}
	if _, _, err := trees.Checkout(t.Context(), "../a+a", commits[0]); err == nil {
		t.Error("no error for a mirror outside the folder")
	}
}

// TestBaselines ranks a tree in which the correct answer is clear.
func TestBaselines(t *testing.T) {
	mirrors, commits := makeMirror(t, map[string]string{
		"parser.go": "package p\nfunc parseHeader() {}\n// header is short",
		"long.go":   "package p\n" + strings.Repeat("header\nparse\n", 40) + strings.Repeat("words of all sorts\n", 400),
		"other.go":  "package p\n",
		"binary":    "header\x00parseHeader",
	})
	trees, err := eval.NewTrees(mirrors, "")
	if err != nil {
		t.Fatal(err)
	}
	defer trees.Close()
	dir, release, err := trees.Checkout(t.Context(), "a+a", commits[0])
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	const query = "The parseHeader function breaks the header"
	got, err := eval.NewBM25().Rank(dir, query)
	if err != nil || !slices.Equal(got, []string{"parser.go", "long.go"}) {
		t.Errorf("BM25 says %v, %v", got, err)
	}
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("ripgrep is not installed")
	}
	got, err = eval.RipgrepLines(t.Context(), dir, query)
	if err != nil || !slices.Equal(got, []string{"long.go", "parser.go"}) {
		t.Errorf("lines say %v, %v", got, err)
	}
	got, err = eval.RipgrepWords(t.Context(), dir, query)
	if err != nil || !slices.Equal(got, []string{"parser.go", "long.go"}) {
		t.Errorf("words say %v, %v", got, err)
	}
	if got, err := eval.RipgrepLines(t.Context(), dir, "nowhere unseen"); err != nil || len(got) != 0 {
		t.Errorf("words that are nowhere: %v, %v", got, err)
	}
}
