package coding

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/tools/coding/internal/gitview"
)

// repo is a real repository created with the git program.
type repo struct {
	t     testing.TB
	dir   string
	steps int // commands run so far
}

// newRepo creates a repository with one commit per set of files.
func newRepo(t testing.TB, commits ...files) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := &repo{t: t, dir: t.TempDir()}
	r.git("init", "-q", "-b", "main")
	r.git("config", "gc.auto", "0")
	r.git("config", "maintenance.auto", "false")
	for i, fs := range commits {
		fs.write(t, r.dir)
		r.git("add", "-A")
		r.git("commit", "-q", "--allow-empty", "-m", fmt.Sprintf("commit %d", i+1))
	}
	return r
}

var gitStart = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func (r *repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func (r *repo) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	// Each commit is a minute later than the previous one, so that the order is certain.
	r.steps++
	stamp := gitStart.Add(time.Duration(r.steps) * time.Minute).Format(time.RFC3339)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com", "GIT_AUTHOR_DATE="+stamp, "GIT_COMMITTER_DATE="+stamp)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repo) open(cfg Config) *Workspace { return openAt(r.t, r.dir, cfg) }

// status returns the status according to git itself, as lines without quoting.
func (r *repo) status(extra ...string) []string {
	out := r.git(append([]string{"-c", "status.renames=true", "status", "--porcelain", "-z"}, extra...)...)
	var lines []string
	fields := strings.Split(out, "\x00")
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		if f == "" {
			continue
		}
		if f[0] == 'R' {
			i++
			f = f[:3] + fields[i] + " -> " + f[3:]
		}
		if strings.HasPrefix(f, "UU") || strings.HasPrefix(f, "AA") || strings.HasPrefix(f, "DU") || strings.HasPrefix(f, "UD") {
			f = "UU" + f[2:]
		}
		lines = append(lines, f)
	}
	slices.Sort(lines)
	return lines
}

// ours returns the status according to the tool, in the same form.
func (r *repo) ours(ignored bool) []string {
	r.t.Helper()
	out := run(r.t, r.open(Config{Limits: Limits{ListEntries: 1 << 20}}), "git", args{"op": "status", "ignored": ignored})
	all := strings.Split(out, "\n")[1:] // after the line about the branch
	lines := []string{}
	for _, l := range all {
		if l == "nothing to commit, work tree clean" || strings.HasPrefix(l, "note: ") {
			continue
		}
		if name := l[3:]; strings.HasPrefix(name, `"`) {
			var plain string
			if _, err := fmt.Sscanf(name, "%q", &plain); err == nil {
				l = l[:3] + plain
			}
		}
		lines = append(lines, l)
	}
	slices.Sort(lines)
	return lines
}

func (r *repo) same(what string, ignored bool) {
	r.t.Helper()
	var extra []string
	if ignored {
		extra = append(extra, "--ignored")
	}
	want := r.status(extra...)
	if len(want) == 0 {
		want = []string{}
	}
	if diff := cmp.Diff(want, r.ours(ignored)); diff != "" {
		r.t.Errorf("%s (-git +ours):\n%s", what, diff)
	}
}

// TestGitStatusAsGit compares the tool's status with that of git on real repositories.
//
// Evidence: coding · git status reports what git does
func TestGitStatusAsGit(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	base := files{"a.txt": "a\n", "b.txt": strings.Repeat("b line\n", 20), "dir/c.txt": "c\n", "dir/deep/d.txt": "d\n", ".gitignore": "*.log\nbuild/\n!keep.log\n"}
	put := func(r *repo, fs files) { fs.write(t, r.dir) }
	rm := func(r *repo, name string) { must(t, os.RemoveAll(filepath.Join(r.dir, name))) }
	cases := map[string]func(r *repo){
		"clean":    func(r *repo) {},
		"modified": func(r *repo) { put(r, files{"a.txt": "A\n"}) },
		"modified, same size and racy": func(r *repo) {
			put(r, files{"a.txt": "b\n"})
			r.git("add", "a.txt")
			put(r, files{"a.txt": "c\n"})
		},
		"staged":                      func(r *repo) { put(r, files{"a.txt": "A\n"}); r.git("add", "-A") },
		"staged, then more":           func(r *repo) { put(r, files{"a.txt": "A\n"}); r.git("add", "-A"); put(r, files{"a.txt": "AA\n"}) },
		"deleted":                     func(r *repo) { rm(r, "a.txt") },
		"deleted staged":              func(r *repo) { r.git("rm", "-q", "a.txt") },
		"deleted from index only":     func(r *repo) { r.git("rm", "-q", "--cached", "a.txt") },
		"directory gone":              func(r *repo) { rm(r, "dir") },
		"file for directory":          func(r *repo) { rm(r, "dir"); put(r, files{"dir": "x"}) },
		"directory for file":          func(r *repo) { rm(r, "a.txt"); put(r, files{"a.txt/x": "x"}) },
		"untracked":                   func(r *repo) { put(r, files{"new.txt": "n", "dir/new.txt": "n"}) },
		"untracked directory":         func(r *repo) { put(r, files{"new/x/y.txt": "n", "new/x/z.txt": "n", "new/w.txt": "n"}) },
		"untracked with ignored only": func(r *repo) { put(r, files{"new/x.log": "n", "other/build/x": "n", "other/y": "n"}) },
		"ignored":                     func(r *repo) { put(r, files{"x.log": "n", "build/out": "n", "keep.log": "k", "dir/x.log": "n"}) },
		"empty directory":             func(r *repo) { put(r, files{"empty/": ""}) },
		"renamed":                     func(r *repo) { r.git("mv", "b.txt", "moved.txt") },
		"renamed and changed": func(r *repo) {
			r.git("mv", "b.txt", "dir/moved.txt")
			put(r, files{"dir/moved.txt": strings.Repeat("b line\n", 20) + "more\n"})
			r.git("add", "-A")
		},
		"executable":             func(r *repo) { must(t, os.Chmod(filepath.Join(r.dir, "a.txt"), 0o755)) },
		"symbolic link for file": func(r *repo) { rm(r, "a.txt"); must(t, os.Symlink("b.txt", filepath.Join(r.dir, "a.txt"))) },
		"symbolic link": func(r *repo) {
			must(t, os.Symlink("b.txt", filepath.Join(r.dir, "l")))
			r.git("add", "l")
			rm(r, "l")
			must(t, os.Symlink("a.txt", filepath.Join(r.dir, "l")))
		},
		"dangling link, untracked": func(r *repo) { must(t, os.Symlink("nowhere", filepath.Join(r.dir, "l"))) },
		"intent to add":            func(r *repo) { put(r, files{"n.txt": "n"}); r.git("add", "-N", "n.txt") },
		"odd names": func(r *repo) {
			put(r, files{"new line\n.txt": "x", "quote\".txt": "x", "ümlaut.txt": "x", "-dash": "x", " lead": "x", "dir/tab\t": "x"})
		},
		"odd names staged": func(r *repo) { put(r, files{"ümlaut ☃.txt": "x", "back\\slash": "x"}); r.git("add", "-A") },
		"conflict": func(r *repo) {
			r.git("checkout", "-q", "-b", "other")
			put(r, files{"a.txt": "other\n"})
			r.git("commit", "-qam", "other")
			r.git("checkout", "-q", "main")
			put(r, files{"a.txt": "mine\n"})
			r.git("commit", "-qam", "mine")
			_, _ = r.try("merge", "-q", "other")
		},
		"nested repository": func(r *repo) { put(r, files{"nested/x": "x"}); r.git("init", "-q", "nested") },
		"touched": func(r *repo) {
			now := time.Now().Add(time.Hour)
			must(t, os.Chtimes(filepath.Join(r.dir, "a.txt"), now, now))
		},
		"skip-worktree": func(r *repo) { r.git("update-index", "--skip-worktree", "a.txt"); rm(r, "a.txt") },
		"autocrlf":      func(r *repo) { r.git("config", "core.autocrlf", "true"); put(r, files{"a.txt": "a\r\n"}) },
		"fileMode off": func(r *repo) {
			r.git("config", "core.fileMode", "false")
			must(t, os.Chmod(filepath.Join(r.dir, "a.txt"), 0o755))
		},
		"info/exclude":    func(r *repo) { put(r, files{".git/info/exclude": "secret*\n", "secret.txt": "s"}) },
		"index version 4": func(r *repo) { r.git("update-index", "--index-version", "4"); put(r, files{"a.txt": "A\n"}) },
		"packed":          func(r *repo) { r.git("gc", "-q"); put(r, files{"a.txt": "A\n"}) },
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		if testing.Short() && i%4 > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for git
			r := newRepo(t, base, files{"second.txt": "2"})
			cases[name](r)
			r.same(name, false)
			r.same(name+", ignored", true)
		})
	}
	t.Run("before the first commit", func(t *testing.T) {
		r := newRepo(t)
		put(r, files{"a": "x", "b/c": "y"})
		r.git("add", "a")
		r.same("unborn", false)
		contains(t, run(t, r.open(Config{}), "git", args{"op": "status"}), "on branch main, no commit yet", "A  a", "?? b/")
		contains(t, run(t, r.open(Config{}), "git", args{"op": "log"}), "error:", "no commit yet")
	})
}

// TestGitStatusRandom makes random changes, staged and not, and compares with git after each.
func TestGitStatusRandom(t *testing.T) {
	tier.Normal(t)
	rng := rand.New(rand.NewPCG(1, 2))
	base := files{".gitignore": "*.o\n"}
	for i := range 30 {
		base[fmt.Sprintf("d%d/f%d.txt", i%4, i)] = strings.Repeat(fmt.Sprintf("line %d\n", i), 10)
	}
	r := newRepo(t, base)
	names := func() (out []string) {
		for name := range tree(t, r.dir) {
			if !strings.HasPrefix(name, ".git/") && name != ".gitignore" {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return out
	}
	for step := range tier.Pick(20, 60, 300) {
		all := names()
		pick := func() string { return all[rng.IntN(len(all))] }
		switch rng.IntN(7) {
		case 0:
			files{pick(): fmt.Sprintf("changed %d\n", step)}.write(t, r.dir)
		case 1:
			files{fmt.Sprintf("n%d/x%d.txt", rng.IntN(3), step): "new\n"}.write(t, r.dir)
		case 2:
			must(t, os.Remove(filepath.Join(r.dir, pick())))
		case 3:
			_, _ = r.try("add", "--", pick())
		case 4:
			_, _ = r.try("mv", pick(), fmt.Sprintf("moved%d.txt", step))
		case 5:
			files{fmt.Sprintf("d%d/y%d.o", rng.IntN(4), step): "ignored"}.write(t, r.dir)
		case 6:
			if rng.IntN(3) == 0 {
				r.git("add", "-A")
				r.git("commit", "-qm", "step", "--allow-empty")
			}
		}
		want, got := r.status("--no-renames"), r.ours(false)
		// Git and the tool may choose differently which of several equal files was renamed, so
		// renames are compared as a deletion and an addition.
		var flat []string
		for _, l := range got {
			if from, to, ok := strings.Cut(l[3:], " -> "); ok {
				flat = append(flat, "D  "+from, "A"+l[1:2]+" "+to)
				continue
			}
			flat = append(flat, l)
		}
		slices.Sort(flat)
		if diff := cmp.Diff(want, flat); diff != "" {
			t.Fatalf("step %d (-git +ours):\n%s", step, diff)
		}
	}
}

// TestGitDiffApplies applies the output of diff with git apply and checks that the result is the
// other side.
func TestGitDiffApplies(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "gone.txt": "bye\n", "run.sh": "#!/bin/sh\n", "noeol.txt": "x", "dir/b c.txt": "b\n", "big.bin": "\x00\x01"})
	files{"a.txt": "1\n2\nthree\n4\n5\n6\n7\n8\nnine\n", "noeol.txt": "x\ny", "dir/b c.txt": "B\n", "new/ü.txt": "new\n"}.write(t, r.dir)
	must(t, os.Remove(filepath.Join(r.dir, "gone.txt")))
	must(t, os.Chmod(filepath.Join(r.dir, "run.sh"), 0o755))
	r.git("add", "-N", "new/ü.txt")
	w := r.open(Config{})
	out := run(t, w, "git", args{"op": "diff"})
	contains(t, out, "6 files changed", "M a.txt +2 -2", "D gone.txt +0 -1", "A new/ü.txt +1 -0", "old mode 100644\nnew mode 100755", `\ No newline at end of file`)
	patch := out[strings.Index(out, "diff --git"):] + "\n"
	want := tree(t, r.dir)
	fresh := filepath.Join(t.TempDir(), "fresh")
	r.git("clone", "-q", r.dir, fresh)
	must(t, os.WriteFile(filepath.Join(fresh, "..", "p"), []byte(patch), 0o644))
	(&repo{t: t, dir: fresh}).git("apply", "../p")
	got := tree(t, fresh)
	for _, m := range []files{want, got} {
		for name := range m {
			if strings.HasPrefix(name, ".git/") {
				delete(m, name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after git apply:\n%s\npatch:\n%s", diff, patch)
	}
	r.git("add", "-A")
	contains(t, run(t, w, "git", args{"op": "diff"}), "No differences.")
	contains(t, run(t, w, "git", args{"op": "diff", "staged": true}), "6 files changed")
	contains(t, run(t, w, "git", args{"op": "diff", "rev": "HEAD", "stat": true, "path": "dir"}), "1 files changed", "dir/b c.txt")
	files{"big.bin": "\x00\x02"}.write(t, r.dir)
	contains(t, run(t, w, "git", args{"op": "diff"}), "big.bin (binary)")
}

// TestGitDiffNumbers compares counts with git diff --numstat between all pairs of commits.
func TestGitDiffNumbers(t *testing.T) {
	r := newRepo(t, files{"a": "1\n2\n3\n", "b": "x\n"}, files{"a": "1\nTWO\n3\n4\n", "c/d": "new\n"}, files{"b": ""})
	r.git("mv", "a", "renamed")
	r.git("commit", "-qm", "rename")
	w := r.open(Config{})
	for _, rev := range []string{"HEAD~1..HEAD", "HEAD~2..HEAD", "HEAD~3..HEAD", "HEAD~3..HEAD~1"} {
		plus, minus, n := 0, 0, 0
		for line := range strings.Lines(r.git("diff", "--numstat", "-M50%", rev)) {
			var p, m int
			if _, err := fmt.Sscanf(line, "%d\t%d", &p, &m); err != nil {
				t.Fatal(line)
			}
			plus, minus, n = plus+p, minus+m, n+1
		}
		contains(t, run(t, w, "git", args{"op": "diff", "rev": rev, "stat": true}), fmt.Sprintf("%d files changed, %d insertions, %d deletions", n, plus, minus))
	}
}

// TestGitLogAsGit compares the listed commits with those of git log, including for paths through
// merges.
func TestGitLogAsGit(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n", "dir/b": "1\n"}, files{"a": "2\n"}, files{"dir/b": "2\n"})
	r.git("checkout", "-q", "-b", "side", "HEAD~1")
	files{"dir/c": "side\n"}.write(t, r.dir)
	r.git("add", "-A")
	r.git("commit", "-qm", "side work")
	files{"a": "side\n"}.write(t, r.dir)
	r.git("commit", "-qam", "side a")
	r.git("checkout", "-q", "main")
	r.git("merge", "-q", "--no-ff", "-m", "merge side", "side")
	files{"a": "after\n"}.write(t, r.dir)
	r.git("commit", "-qam", "after merge")
	w := r.open(Config{})
	for _, tc := range []struct {
		rev, path string
	}{{"", ""}, {"", "a"}, {"", "dir"}, {"", "dir/b"}, {"", "dir/c"}, {"side", ""}, {"side..main", ""}, {"main~2..main", "a"}, {"", "never"}} {
		cmd := []string{"log", "--format=%H"}
		if tc.rev != "" {
			cmd = append(cmd, tc.rev)
		}
		want := strings.Fields(r.git(append(append(cmd, "--"), tc.path)[:len(cmd)+min(len(tc.path), 1)*2]...))
		out := run(t, w, "git", args{"op": "log", "rev": tc.rev, "path": tc.path, "limit": 100})
		got := []string{}
		for line := range strings.Lines(out) {
			if len(line) > 10 && !strings.HasPrefix(line, "No commits") {
				got = append(got, line[:10])
			}
		}
		for i := range want {
			want[i] = want[i][:10]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log %q %q (-git +ours):\n%s\n%s", tc.rev, tc.path, diff, out)
		}
	}
	contains(t, run(t, w, "git", args{"op": "log", "grep": "^SIDE"}), "side work", "side a")
	contains(t, run(t, w, "git", args{"op": "log", "limit": 1}), "after merge", "[the first 1;")
	contains(t, run(t, w, "git", args{"op": "log", "rev": "nope"}), "error:", `"nope" names no commit`)
}

func TestGitShowAndBlame(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"f.txt": "one\ntwo\nthree\n", "dir/g": "g\n"}, files{"f.txt": "one\n2\nthree\n"}, files{"f.txt": "zero\none\n2\nthree\n"})
	r.git("tag", "-a", "v1", "-m", "the first")
	w := r.open(Config{})
	contains(t, run(t, w, "git", args{"op": "show"}), "commit ", "Author: Ann <ann@example.com>", "commit 3", "+zero")
	contains(t, run(t, w, "git", args{"op": "show", "rev": "v1", "stat": true}), "tag v1", "the first", "M f.txt +1 -0")
	contains(t, run(t, w, "git", args{"op": "show", "rev": "HEAD~2"}), "A f.txt +3 -0", "new file mode 100644")
	contains(t, run(t, w, "git", args{"op": "show", "rev": "HEAD~2:f.txt"}), "one\ntwo\nthree\n")
	contains(t, run(t, w, "git", args{"op": "show", "rev": "HEAD:"}), "dir/\nf.txt")
	contains(t, run(t, w, "git", args{"op": "show", "rev": "HEAD:../x"}), "error:", "outside")
	contains(t, run(t, w, "git", args{"op": "show", "rev": "HEAD:nope"}), "error:", "nope is not in commit")
	want := r.git("blame", "-s", "-l", "f.txt")
	got := run(t, w, "git", args{"op": "blame", "path": "f.txt"})
	wantLines, gotLines := strings.Split(strings.TrimSpace(want), "\n"), strings.Split(got, "\n")
	if len(wantLines) != len(gotLines) {
		t.Fatalf("%s\n%s", want, got)
	}
	for i := range wantLines {
		if strings.TrimPrefix(wantLines[i], "^")[:9] != gotLines[i][:9] {
			t.Errorf("line %d: %s\n%s", i+1, wantLines[i], gotLines[i])
		}
	}
	contains(t, run(t, w, "git", args{"op": "blame", "path": "f.txt", "start_line": 2, "end_line": 2}), " 2| one")
	contains(t, run(t, w, "git", args{"op": "blame", "path": "f.txt", "start_line": 9}), "error:", "has 4 lines")
	contains(t, run(t, w, "git", args{"op": "blame"}), "error:", "needs the path")
	contains(t, run(t, w, "git", args{"op": "blame", "path": "nope"}), "error:", "not in commit")
	contains(t, run(t, w, "git", args{"op": "push"}), "error:")
}

// TestGitRunsNothing configures every hook and program that git itself would run, and checks that
// the tool runs none.
func TestGitRunsNothing(t *testing.T) {
	needUnix(t)
	r := newRepo(t, files{"a.txt": "a\n", ".gitattributes": "*.txt filter=evil diff=evil\n"})
	trap := filepath.Join(t.TempDir(), "ran")
	evil := "touch " + trap
	for _, kv := range []string{"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "diff.external", "filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "credential.helper", "core.hooksPath"} {
		r.git("config", kv, evil)
	}
	files{"a.txt": "b\n"}.write(t, r.dir)
	w := r.open(Config{})
	for _, op := range []string{"status", "diff", "log", "show"} {
		if out := run(t, w, "git", args{"op": op}); strings.HasPrefix(out, "error:") {
			t.Errorf("%s: %s", op, out)
		}
	}
	run(t, w, "git", args{"op": "blame", "path": "a.txt"})
	if _, err := os.Stat(trap); err == nil {
		t.Error("a program of the repository's configuration was run")
	}
}

func TestGitPlaces(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"top.txt": "secret top\n", "sub/in.txt": "in\n", "sub/deep/x.txt": "x\n"}, files{"top.txt": "top 2\n", "sub/in.txt": "in 2\n"})
	t.Run("no repository", func(t *testing.T) {
		contains(t, run(t, openWith(t, Config{}, nil), "git", args{"op": "status"}), "error:", "not in a git repository", "git init")
	})
	t.Run("workspace below the top", func(t *testing.T) {
		inPlaceOnly(t)
		files{"sub/in.txt": "in 3\n", "top.txt": "changed\n", "sub/new/y": "y"}.write(t, r.dir)
		w := openAt(t, filepath.Join(r.dir, "sub"), Config{})
		out := run(t, w, "git", args{"op": "status"})
		if diff := cmp.Diff("on branch main\n M in.txt\n?? new/", out); diff != "" {
			t.Error(diff)
		}
		for _, in := range []args{{"op": "diff"}, {"op": "show"}, {"op": "diff", "rev": "HEAD~1..HEAD"}, {"op": "show", "rev": "HEAD:"}} {
			if out := run(t, w, "git", in); strings.Contains(out, "top") {
				t.Errorf("%v shows what is outside the workspace:\n%s", in, out)
			}
		}
		contains(t, run(t, w, "git", args{"op": "show", "rev": "HEAD:deep/x.txt"}), "x")
		contains(t, run(t, w, "git", args{"op": "log", "path": "in.txt"}), "commit 2", "commit 1")
	})
	t.Run("linked work tree", func(t *testing.T) {
		inPlaceOnly(t)
		linked := filepath.Join(t.TempDir(), "linked")
		r.git("worktree", "add", "-q", "-b", "wt", linked)
		files{"top.txt": "in the linked tree\n"}.write(t, linked)
		out := run(t, openAt(t, linked, Config{}), "git", args{"op": "status"})
		contains(t, out, "on branch wt", " M top.txt")
	})
	t.Run("submodule", func(t *testing.T) {
		inPlaceOnly(t)
		super := newRepo(t, files{"a": "a"})
		super.t = t
		super.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", r.dir, "mod")
		super.git("commit", "-qm", "add submodule")
		files{"mod/top.txt": "changed\n"}.write(t, super.dir)
		contains(t, run(t, super.open(Config{}), "git", args{"op": "status"}), "on branch main")
		contains(t, run(t, super.open(Config{}), "git", args{"op": "show"}), "A mod (submodule)")
		contains(t, run(t, openAt(t, filepath.Join(super.dir, "mod"), Config{}), "git", args{"op": "status"}), " M top.txt")
	})
	t.Run("shallow", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "shallow")
		r.git("clone", "-q", "--depth=1", "file://"+r.dir, dir)
		w := openAt(t, dir, Config{})
		contains(t, run(t, w, "git", args{"op": "log"}), "commit 2")
		contains(t, run(t, w, "git", args{"op": "show"}), "A top.txt")
	})
	t.Run("broken", func(t *testing.T) {
		for name, text := range map[string]string{"index": "garbage", "HEAD": "garbage", "config": "[core"} {
			broken := newRepo(t, files{"a": "a"})
			files{".git/" + name: text}.write(t, broken.dir)
			if out := run(t, broken.open(Config{}), "git", args{"op": "status"}); !strings.Contains(out, "error:") && !strings.Contains(out, "cannot be read") {
				t.Errorf("%s: %s", name, out)
			}
		}
	})
}

// TestGitDoesNotLeave points .git at another repository in every possible way and checks that none
// of its commits is shown.
func TestGitDoesNotLeave(t *testing.T) {
	needUnix(t)
	other := newRepo(t, files{"secret": "treasure\n"})
	for name, lead := range map[string]func(dir string) error{
		"file": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+other.dir+"/.git\n"), 0o644)
		},
		"symbolic link": func(dir string) error { return os.Symlink(other.dir+"/.git", filepath.Join(dir, ".git")) },
		"commondir": func(dir string) error {
			must(t, os.MkdirAll(filepath.Join(dir, ".git/refs"), 0o755))
			must(t, os.MkdirAll(filepath.Join(dir, ".git/objects"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, ".git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
			return os.WriteFile(filepath.Join(dir, ".git/commondir"), []byte(other.dir+"/.git\n"), 0o644)
		},
		"inner gitdir with commondir": func(dir string) error {
			must(t, os.MkdirAll(filepath.Join(dir, "g"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "g/HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
			must(t, os.WriteFile(filepath.Join(dir, "g/gitdir"), []byte(filepath.Join(dir, ".git")+"\n"), 0o644))
			must(t, os.WriteFile(filepath.Join(dir, "g/commondir"), []byte(other.dir+"/.git\n"), 0o644))
			return os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: g\n"), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWith(t, Config{}, nil)
			must(t, lead(w.Dir()))
			for _, in := range []args{{"op": "log"}, {"op": "show"}, {"op": "status"}, {"op": "show", "rev": "main:secret"}} {
				out := run(t, w, "git", in)
				if !strings.HasPrefix(out, "error:") || strings.Contains(out, "treasure") || strings.Contains(out, "commit 1") {
					t.Errorf("%v: %s", in, out)
				}
			}
		})
	}
}

func TestGitCancel(t *testing.T) {
	r := newRepo(t, files{"a": "a"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, in := range []args{{"op": "status"}, {"op": "log"}, {"op": "blame", "path": "a"}, {"op": "show"}} {
		contains(t, runCtx(t, ctx, r.open(Config{}), "git", in), "error:")
	}
}

// bigRepo creates a repository of n files in directories of 100.
func bigRepo(b testing.TB, n int) *repo {
	r := newRepo(b)
	fs := files{}
	for i := range n {
		fs[fmt.Sprintf("pkg%03d/sub%d/file%d.go", i/1000, i/100%10, i)] = fmt.Sprintf("package p%d\n", i)
	}
	fs.write(b, r.dir)
	r.git("add", "-A")
	r.git("commit", "-qm", "all")
	r.git("status") // refreshes the index
	return r
}

func BenchmarkGitStatus(b *testing.B) {
	r := bigRepo(b, 20_000)
	w := r.open(Config{})
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g, err := inside(w).openRepo(context.Background())
			must(b, err)
			_, err = g.Answer(context.Background(), gitview.Query{Op: "status"})
			must(b, err)
		}
	})
	b.Run("go-git", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g, err := gogit.PlainOpen(r.dir)
			must(b, err)
			wt, err := g.Worktree()
			must(b, err)
			_, err = wt.Status()
			must(b, err)
		}
	})
	b.Run("git", func(b *testing.B) {
		for b.Loop() {
			r.git("status", "--porcelain")
		}
	})
}
