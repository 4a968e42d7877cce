package gitlog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// TestStates opens every kind of repository; none causes an error.
func TestStates(t *testing.T) {
	tier.Normal(t)
	for _, tt := range []struct {
		name    string
		dir     func(t *testing.T) string
		opts    gitlog.Options
		state   gitlog.State
		reason  string
		commits int
		also    func(gitlog.Status) bool
	}{
		{name: "none", state: gitlog.NoRepository, reason: "no git repository",
			dir: func(t *testing.T) string { return t.TempDir() }},
		{name: "no directory", state: gitlog.NoRepository,
			dir: func(t *testing.T) string { return filepath.Join(t.TempDir(), "absent") }},
		{name: "empty", state: gitlog.Empty, reason: "no commit yet",
			dir: func(t *testing.T) string { return newRepo(t).dir }},
		{name: "ordinary", commits: 3, dir: func(t *testing.T) string { return three(t).dir }},
		{name: "detached", commits: 2, dir: func(t *testing.T) string {
			r := three(t)
			r.git("checkout", "-q", "HEAD~1")
			return r.dir
		}},
		{name: "packed references", commits: 3, dir: func(t *testing.T) string {
			r := three(t)
			r.git("pack-refs", "--all")
			r.git("gc", "-q")
			return r.dir
		}},
		{name: "bare", commits: 3, also: func(s gitlog.Status) bool { return s.Bare },
			dir: func(t *testing.T) string { return clone(t, "--bare") }},
		{name: "shallow", commits: 2, also: func(s gitlog.Status) bool { return s.Shallow },
			dir: func(t *testing.T) string { return clone(t, "--depth=2") }},
		{name: "without contents", commits: 3,
			dir: func(t *testing.T) string { return clone(t, "--filter=blob:none", "--no-checkout") }},
		{name: "without directories", state: gitlog.Broken, reason: "cannot be read", commits: 3,
			dir: func(t *testing.T) string { return clone(t, "--filter=tree:0", "--no-checkout") }},
		{name: "shared objects", commits: 3, dir: func(t *testing.T) string { return clone(t, "--shared") }},
		{name: "SHA-256", commits: 1, dir: func(t *testing.T) string {
			r := newRepo(t, "--object-format=sha256")
			r.commit("one", files{"a": "1"})
			return r.dir
		}},
		{name: "work tree", commits: 4, also: func(s gitlog.Status) bool { return s.Worktree },
			dir: func(t *testing.T) string {
				r := three(t)
				dir := filepath.Join(t.TempDir(), "other")
				r.git("worktree", "add", "-q", "-b", "side", dir)
				(&repo{tb: t, dir: dir, now: r.now}).commit("four", files{"b": "4"})
				return dir
			}},
		{name: "submodule", commits: 3, dir: func(t *testing.T) string {
			outer := newRepo(t)
			outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", three(t).dir, "sub")
			outer.commit("with a submodule", nil)
			return filepath.Join(outer.dir, "sub")
		}},
		{name: "around a submodule", commits: 1, dir: func(t *testing.T) string {
			outer := newRepo(t)
			outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", three(t).dir, "sub")
			outer.commit("with a submodule", nil)
			return outer.dir
		}},
		{name: "subdirectory", commits: 3, also: func(s gitlog.Status) bool { return s.Prefix == "sub/deep/" },
			dir: func(t *testing.T) string {
				r := newRepo(t)
				r.commit("one", files{"sub/deep/a": "1", "b": "1"})
				r.commit("two", files{"b": "2"})
				r.commit("three", files{"sub/deep/a": "2", "sub/c": "1"})
				return filepath.Join(r.dir, "sub", "deep")
			}},
		{name: "no such hash", opts: gitlog.Options{Head: strings.Repeat("1", 40)}, state: gitlog.NoHead,
			dir: func(t *testing.T) string { return three(t).dir }},
		{name: "no such branch", opts: gitlog.Options{Head: "nothing"}, state: gitlog.NoHead,
			dir: func(t *testing.T) string { return three(t).dir }},
		{name: "branch", opts: gitlog.Options{Head: "old"}, commits: 1, dir: func(t *testing.T) string {
			r := three(t)
			r.git("branch", "old", "HEAD~2")
			return r.dir
		}},
		{name: "annotated tag", opts: gitlog.Options{Head: "v1"}, commits: 2, dir: func(t *testing.T) string {
			r := three(t)
			r.git("tag", "-a", "-m", "version", "v1", "HEAD~1")
			return r.dir
		}},
		{name: "beginning of a hash", opts: gitlog.Options{Head: "HEAD~"}, state: gitlog.NoHead,
			dir: func(t *testing.T) string { return three(t).dir }},
		{name: "HEAD is rubbish", state: gitlog.Broken, reason: "no hash", dir: func(t *testing.T) string {
			return overwrite(t, "HEAD", "rubbish")
		}},
		{name: "HEAD leaves the repository", state: gitlog.Broken, reason: "no name of a reference",
			dir: func(t *testing.T) string { return overwrite(t, "HEAD", "ref: refs/../../../../etc/passwd") }},
		{name: "references in a circle", state: gitlog.Broken, reason: "circle", dir: func(t *testing.T) string {
			return overwrite(t, "refs/heads/main", "ref: refs/heads/main")
		}},
		{name: "no objects", state: gitlog.NoRepository, dir: func(t *testing.T) string {
			r := three(t)
			if err := os.RemoveAll(filepath.Join(r.dir, ".git", "objects")); err != nil {
				t.Fatal(err)
			}
			return r.dir
		}},
		{name: "a commit is damaged", state: gitlog.Broken, reason: "cannot be read", commits: 1, dir: func(t *testing.T) string {
			r := three(t)
			damageObject(t, r, r.git("rev-parse", "HEAD~1"))
			return r.dir
		}},
		{name: "a directory is damaged", state: gitlog.Broken, reason: "cannot be read", commits: 3, dir: func(t *testing.T) string {
			r := three(t)
			damageObject(t, r, r.git("rev-parse", "HEAD~1^{tree}"))
			return r.dir
		}},
		{name: "a directory is damaged, without git", opts: gitlog.Options{NoGit: true}, state: gitlog.Broken, reason: "cannot be read", commits: 3, dir: func(t *testing.T) string {
			r := three(t)
			damageObject(t, r, r.git("rev-parse", "HEAD~1^{tree}"))
			return r.dir
		}},
		{name: "an old commit is missing", state: gitlog.Broken, commits: 2, dir: func(t *testing.T) string {
			r := three(t)
			removeObject(t, r, r.git("rev-parse", "HEAD~2"))
			return r.dir
		}},
		{name: "go-git", opts: gitlog.Options{NoGit: true}, commits: 3,
			also: func(s gitlog.Status) bool { return s.GoGit },
			dir:  func(t *testing.T) string { return three(t).dir }},
		{name: "git is not installed", opts: gitlog.Options{Git: "/nonexistent/git"}, commits: 3,
			also: func(s gitlog.Status) bool { return s.GoGit },
			dir:  func(t *testing.T) string { return three(t).dir }},
		{name: "git is something else", opts: gitlog.Options{Git: "false"}, commits: 3,
			also: func(s gitlog.Status) bool { return s.GoGit },
			dir:  func(t *testing.T) string { return three(t).dir }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tt.dir(t)
			tt.opts.CacheDir = t.TempDir()
			for _, again := range []bool{false, true} {
				l := open(t, dir, tt.opts)
				s := l.Status()
				if s.State != tt.state || !strings.Contains(s.Reason, tt.reason) || s.State != gitlog.Ready && s.Reason == "" {
					t.Errorf("again %v: state %v (%s), want %v (%s)", again, s.State, s.Reason, tt.state, tt.reason)
				}
				if l.Len() != tt.commits {
					t.Errorf("again %v: %d commits, want %d: %+v", again, l.Len(), tt.commits, s)
				}
				// The second Open reads nothing, whichever way the first one read.
				if tt.also != nil && !again && !tt.also(s) {
					t.Errorf("again %v: status %+v", again, s)
				}
				_ = l.ScoreFiles([]string{"one"}, gitlog.Params{}) // must also work for an empty log
				l.Churn()
			}
		})
	}
}

func three(t *testing.T) *repo {
	t.Helper()
	needGit(t)
	threeRepo.once.Do(func() {
		r := newRepo(t)
		r.commit("one", files{"a": "1"})
		r.commit("two", files{"a": "2", "b": "1"})
		r.commit("three", files{"b": "2"})
		threeRepo.made, threeRepo.now = readTree(t, r), r.now
	})
	return threeRepo.copy(t)
}

func clone(t *testing.T, args ...string) string {
	r := three(t)
	r.git("config", "uploadpack.allowFilter", "true")
	to := filepath.Join(t.TempDir(), "clone")
	from := "file://" + r.dir
	if slices.Contains(args, "--shared") {
		from = r.dir
	}
	r.git(append(append([]string{"clone", "-q"}, args...), from, to)...)
	return to
}

func overwrite(t *testing.T, name, content string) string {
	r := three(t)
	if err := os.WriteFile(filepath.Join(r.dir, ".git", filepath.FromSlash(name)), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return r.dir
}

func removeObject(t *testing.T, r *repo, hash string) {
	if err := os.Remove(filepath.Join(r.dir, ".git", "objects", hash[:2], hash[2:])); err != nil {
		t.Fatal(err)
	}
}

func damageObject(t *testing.T, r *repo, hash string) {
	removeObject(t, r, hash)
	if err := os.WriteFile(filepath.Join(r.dir, ".git", "objects", hash[:2], hash[2:]), []byte("rubbish"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDamageIsPassed checks that commits beyond an unreadable directory are read but not cached,
// and that everything is read once the damage is repaired.
func TestDamageIsPassed(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.line(30, func(i int) (message, file, content string) {
		return fmt.Sprint("walrus ", i), fmt.Sprint("f", i%5), fmt.Sprint(i)
	})
	cache := t.TempDir()
	object := filepath.Join(r.dir, ".git", "objects")
	tree := r.git("rev-parse", "HEAD~10^{tree}")
	object = filepath.Join(object, tree[:2], tree[2:])
	whole, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	damageObject(t, r, tree)
	for range 2 {
		l := open(t, r.dir, gitlog.Options{CacheDir: cache})
		if s := l.Status(); l.Len() != 30 || s.State != gitlog.Broken || !strings.Contains(s.Reason, "cannot be read") {
			t.Errorf("damaged: %d commits, %+v", l.Len(), s)
		}
		without := 0
		for _, c := range l.Commits() {
			if len(c.Files) == 0 {
				without++
			}
		}
		if without != 2 { // the commit of the directory, and the one after it
			t.Errorf("damaged: %d commits are without files", without)
		}
	}
	if err := os.Remove(object); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(object, whole, 0o444); err != nil {
		t.Fatal(err)
	}
	l := open(t, r.dir, gitlog.Options{CacheDir: cache})
	if s := l.Status(); l.Len() != 30 || s.State != gitlog.Ready {
		t.Errorf("mended: %d commits, %+v", l.Len(), s)
	}
	for i, c := range l.Commits() {
		if len(c.Files) != 1 {
			t.Errorf("mended: commit %d has files %v", i, c.Files)
		}
	}
}

// TestSubdirectory checks that only files in the directory are listed, with paths relative to it.
func TestSubdirectory(t *testing.T) {
	r := newRepo(t)
	r.commit("one", files{"sub/a.go": "1", "b.go": "1", "else/where/long.go": "1"})
	r.git("mv", "b.go", "sub/b.go")
	r.commit("two", nil)
	l := open(t, filepath.Join(r.dir, "sub"), gitlog.Options{})
	if d := cmp.Diff([]string{"a.go", "b.go"}, slices.Sorted(slices.Values(l.Files()))); d != "" {
		t.Error("files (-want +got):\n" + d)
	}
	if got := l.Commit(1).Files; len(got) != 2 {
		t.Errorf("the first commit has the files %v, want both: one came from outside", got)
	}
}

// TestNamedRepository checks that Options.GitDir may be the repository, its work tree, a linked
// work tree, or the file that replaces .git there.
func TestNamedRepository(t *testing.T) {
	r := newRepo(t)
	r.commit("one", files{"a.go": "1"})
	linked := filepath.Join(t.TempDir(), "linked")
	r.git("worktree", "add", "-q", linked)
	for _, dir := range []string{r.dir, filepath.Join(r.dir, ".git"), linked, filepath.Join(linked, ".git")} {
		l := open(t, t.TempDir(), gitlog.Options{GitDir: dir})
		if st := l.Status(); st.State != gitlog.Ready || l.Len() != 1 {
			t.Errorf("%s: %d commits, %+v", dir, l.Len(), st)
		}
	}
}

// TestShallowGrows checks that the log is read again once a shallow clone gets more history.
func TestShallowGrows(t *testing.T) {
	t.Parallel()
	dir := clone(t, "--depth=2")
	o := gitlog.Options{CacheDir: t.TempDir()}
	l := open(t, dir, o)
	if l.Len() != 2 || len(l.Commit(1).Files) != 0 {
		t.Fatalf("%d commits, the last with the files %v: want 2, and none where the history is cut off", l.Len(), l.Commit(1).Files)
	}
	(&repo{tb: t, dir: dir}).git("fetch", "-q", "--unshallow")
	l = open(t, dir, o)
	if l.Len() != 3 || len(l.Commit(1).Files) != 2 || l.Status().Cache == "" {
		t.Fatalf("%d commits, status %+v: want 3 after the clone grew", l.Len(), l.Status())
	}
}
