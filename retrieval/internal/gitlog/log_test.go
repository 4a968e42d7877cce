package gitlog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// TestRenamesAreFollowed checks that earlier names lead to the current ones.
func TestRenamesAreFollowed(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("first", files{"a.go": "package a\n", "dir/x.go": "x\n", "dir/y.go": "y\n", "gone.go": "g\n"})
	r.commit("edit a", files{"a.go": "package a // 1\n"})
	r.git("mv", "a.go", "b.go")
	r.commit("rename", nil)
	r.commit("a new one under the old name", files{"a.go": "another\n"})
	r.git("mv", "dir", "moved")
	r.commit("move all, and change one on the way", files{"moved/y.go": "entirely different\n"})
	r.commit("edit b", files{"b.go": "package b\n", "gone.go": ""})
	for _, o := range []gitlog.Options{{}, {NoGit: true}} {
		l := open(t, r.dir, o)
		churn := map[string]uint32{}
		for f, n := range l.Churn() {
			churn[l.Files()[f]] = n
		}
		want := map[string]uint32{"a.go": 1, "b.go": 4, "moved/x.go": 2, "moved/y.go": 2, "gone.go": 2}
		if d := cmp.Diff(want, churn); d != "" {
			t.Errorf("churn with %+v (-want +got):\n%s", o, d)
		}
		for path, now := range map[string]string{"a.go": "a.go", "b.go": "b.go", "dir/x.go": "moved/x.go", "dir/y.go": "moved/y.go"} {
			if f, ok := l.File(path); !ok || l.Files()[f] != now {
				t.Errorf("%s is now %s, want %s", path, l.Files()[f], now)
			}
		}
		gone, ok := l.File("gone.go")
		if !ok || !l.Deleted()[gone] {
			t.Error("gone.go is not known to be gone")
		}
		b, _ := l.File("b.go")
		if l.Deleted()[b] {
			t.Error("b.go is said to be gone")
		}
		if got := len(l.CommitsOf(b)); got != 4 {
			t.Errorf("b.go has %d commits, want 4", got)
		}
	}
}

// TestMassRename checks that only the renames of a commit with too many files are used.
func TestMassRename(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	r := newRepo(t)
	fs := files{}
	for i := range 300 {
		fs[fmt.Sprintf("old/f%d.go", i)] = fmt.Sprintf("%d\n", i)
	}
	r.commit("import", fs)
	r.commit("touch seven", files{"old/f7.go": "seven\n"})
	r.git("mv", "old", "new")
	r.commit("move", nil)
	l := open(t, r.dir, gitlog.Options{CacheDir: t.TempDir()})
	f, ok := l.File("old/f7.go")
	if !ok || l.Files()[f] != "new/f7.go" {
		t.Fatalf("old/f7.go is not followed")
	}
	if got := l.Commit(1).Files; len(got) != 1 || got[0] != f {
		t.Errorf("the small commit has the files %v, want %v", got, f)
	}
	if c := l.Commit(0); len(c.Files) != 0 || c.Changed != 300 {
		t.Errorf("the move has %d files and changed %d, want 0 and 300", len(c.Files), c.Changed)
	}
	got := l.ScoreFiles([]string{"touch"}, gitlog.Params{})
	if len(got) != 1 || l.Files()[got[0].File] != "new/f7.go" {
		t.Errorf("found %v, want new/f7.go", got)
	}
}

// TestRenameOnABranch checks that commits on a branch without the rename, made later under the old
// name, belong to the same file.
func TestRenameOnABranch(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("one", files{"a.go": "1\n2\n3\n4\n5\n6\n7\n8\n9\n"})
	r.git("checkout", "-q", "-b", "side")
	r.git("checkout", "-q", "main")
	r.git("mv", "a.go", "b.go")
	r.commit("rename", nil)
	r.git("checkout", "-q", "side")
	r.commit("edit under the old name", files{"a.go": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n"})
	r.git("checkout", "-q", "main")
	r.now += 60
	r.git("merge", "-q", "--no-edit", "side")
	for _, m := range []gitlog.Merges{gitlog.WithoutMerges, gitlog.FirstParent, gitlog.WithMerges} {
		l := open(t, r.dir, gitlog.Options{Merges: m})
		if d := cmp.Diff([]string{"b.go"}, l.Files()); d != "" {
			t.Errorf("files with merges %v (-want +got):\n%s", m, d)
		}
	}
}

// TestReadsOnlyWhatIsNew counts the commits read.
func TestReadsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.line(20, func(i int) (message, file, content string) { return fmt.Sprintf("commit %d", i), "a", fmt.Sprint(i) })
	for _, noGit := range []bool{false, true} {
		o := gitlog.Options{CacheDir: t.TempDir(), NoGit: noGit, MaxCommits: 15}
		counts := func(read, cached, commits int) {
			t.Helper()
			s := open(t, r.dir, o).Status()
			if s.Read != read || s.Cached != cached || s.Commits != commits {
				t.Errorf("read %d, cached %d, commits %d; want %d, %d, %d", s.Read, s.Cached, s.Commits, read, cached, commits)
			}
		}
		o.Head = r.git("rev-parse", "HEAD~3")
		counts(15, 0, 15)
		counts(0, 15, 15)
		o.Head = ""
		counts(3, 15, 15)
		counts(0, 18, 15)
		o.MaxCommits = 20
		counts(2, 18, 20)
		counts(0, 20, 20)
	}
}

// TestRewrittenHistory checks that commits that are no longer ancestors do not count, whether they
// are cached or not.
func TestRewrittenHistory(t *testing.T) {
	t.Parallel()
	r := three(t)
	o := gitlog.Options{CacheDir: t.TempDir()}
	open(t, r.dir, o)
	for i, prune := range []bool{false, true} { // with and without the old tip
		r.git("reset", "-q", "--hard", "HEAD~1")
		r.commit(fmt.Sprintf("three again %d", i), files{"c": "1"})
		if prune {
			r.git("reflog", "expire", "--expire=now", "--all")
			r.git("gc", "-q", "--prune=now")
		}
		got := open(t, r.dir, o)
		if d := cmp.Diff(say(open(t, r.dir, gitlog.Options{})), say(got)); d != "" {
			t.Errorf("after a rewrite (-without cache +with):\n%s", d)
		}
		if s := got.Status(); !prune && s.Read != 1 || s.Cached != 3+i {
			t.Errorf("read %d with %d in the cache, want 1 with %d", s.Read, s.Cached, 3+i)
		}
	}
}

// TestGoGitReadsTheSame compares the two ways of reading.
func TestGoGitReadsTheSame(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	heads := r.randomHistory(rand.New(rand.NewPCG(11, 12)), 80)
	for i := 60; i < len(heads); i += tier.Pick(4, 1, 1) {
		head := heads[i]
		want := say(open(t, r.dir, gitlog.Options{Head: head, Merges: gitlog.WithMerges}))
		got := say(open(t, r.dir, gitlog.Options{Head: head, Merges: gitlog.WithMerges, NoGit: true}))
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("at %s (-git +go-git):\n%s", head, d)
		}
	}
}

// TestCancel cancels a reading and checks that the commits read until then are reused.
func TestCancel(t *testing.T) {
	r := newRepo(t)
	heads := r.randomHistory(rand.New(rand.NewPCG(13, 14)), 60)
	o := gitlog.Options{CacheDir: t.TempDir(), Head: heads[59]}
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := gitlog.Open(ctx, r.dir, o); !errors.Is(err, stop) {
		t.Errorf("error %v, want %v", err, stop)
	}
	for i := range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		_, _ = gitlog.Open(ctx, r.dir, o)
		cancel()
	}
	want := say(open(t, r.dir, gitlog.Options{Head: heads[59]}))
	if d := cmp.Diff(want, say(open(t, r.dir, o))); d != "" {
		t.Errorf("after cancelled readings (-want +got):\n%s", d)
	}
	// Reaching the time limit is not an error, and the next call continues.
	o.CacheDir, o.Timeout = t.TempDir(), time.Nanosecond
	l := open(t, r.dir, o)
	if s := l.Status(); s.State != gitlog.Unfinished || !strings.Contains(s.Reason, "too long") {
		t.Errorf("status %+v, want that it took too long", s)
	}
	o.Timeout = 0
	if d := cmp.Diff(want, say(open(t, r.dir, o))); d != "" {
		t.Errorf("after a limit of time (-want +got):\n%s", d)
	}
}

// TestOptions checks that invalid options are refused.
func TestOptions(t *testing.T) {
	for _, o := range []gitlog.Options{{MaxCommits: -1}, {MaxFiles: -1}, {Timeout: -1}, {Merges: 9}, {Head: "--all"}, {Head: "a\nb"}} {
		if _, err := gitlog.Open(t.Context(), t.TempDir(), o); err == nil {
			t.Errorf("no error with %+v", o)
		}
	}
}

// TestStatistics compares the statistics of small commits with sums made by hand.
func TestStatistics(t *testing.T) {
	r := newRepo(t)
	r.commit("one", files{"a": "1", "b": "1"})             // at +1 h
	r.commit("two", files{"a": "2", "b": "2"})             // +2
	r.commit("three", files{"a": "3", "c": "1", "d": "1"}) // +3
	l := open(t, r.dir, gitlog.Options{})
	id := func(path string) gitlog.FileID {
		f, ok := l.File(path)
		if !ok {
			t.Fatalf("%s is not known", path)
		}
		return f
	}
	if got := l.LastChange()[id("b")]; got != 1_600_000_000+2*3600 {
		t.Errorf("b was last changed at %d", got)
	}
	if got := l.Recency(time.Hour)[id("a")]; got != 1.75 {
		t.Errorf("recency of a is %v, want 1 + 1/2 + 1/4", got)
	}
	together := l.Together(id("a"), 10)
	want := []gitlog.Related{{File: id("b"), Commits: 2, Score: 2 / 3.5}, {File: id("c"), Commits: 1, Score: 0.5 / 3.5}, {File: id("d"), Commits: 1, Score: 0.5 / 3.5}}
	slices.SortFunc(together[1:], func(a, b gitlog.Related) int { return strings.Compare(l.Files()[a.File], l.Files()[b.File]) })
	if d := cmp.Diff(want, together); d != "" {
		t.Errorf("together with a (-want +got):\n%s", d)
	}
	if got := len(l.Together(id("a"), 1)); got != 1 {
		t.Errorf("%d related files, want 1", got)
	}
}
