package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

func store(t testing.TB, cfg LayersConfig) *Layers {
	t.Helper()
	s, err := OpenLayers(filepath.Join(t.TempDir(), "layers"), cfg)
	if err != nil {
		t.Skipf("no layers here: %v", err)
	}
	return s
}

// Evidence: sandbox · Workspaces of one commit share its files
func TestLayersOfCommits(t *testing.T) {
	repo := repository(t)
	s := store(t, LayersConfig{})
	head, err := s.Commit(t.Context(), repo, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer head.Close()
	want := map[string]string{"file": "second", "later": "x", "sub/run.sh": "#!/bin/sh\necho ran\n", "sub/link": "-> ../file"}
	if d := cmp.Diff(want, treeOf(t, head.Path())); d != "" {
		t.Error(d)
	}
	old, err := s.Commit(t.Context(), repo, "HEAD~1")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	a, errA := os.Stat(filepath.Join(head.Path(), "sub/run.sh"))
	b, errB := os.Stat(filepath.Join(old.Path(), "sub/run.sh"))
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		t.Errorf("what two commits have in common is there twice: %v %v", errA, errB)
	}
	// The second time the repository is not even read.
	r, err := git.PlainOpen(repo)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(repo, ".git"), filepath.Join(repo, "gone")); err != nil {
		t.Fatal(err)
	}
	again, err := s.Commit(t.Context(), repo, ref.Hash().String())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.ID() != head.ID() {
		t.Errorf("%s, then %s", head.ID(), again.ID())
	}
	tiers(t, func(t *testing.T, cfg Config) {
		cfg.Snapshot, cfg.Layers = SnapshotCommit(repo, ref.Hash().String()), s
		sb := open(t, cfg)
		if got := sh(t, sb, "cat sub/link; echo x > file; rm -r sub; ls"); got != "secondfile\nlater\n" {
			t.Errorf("got %q", got)
		}
		if d := cmp.Diff(want, treeOf(t, head.Path())); d != "" {
			t.Errorf("a command changed the layer: %s", d)
		}
	})
}

// TestLayersKeepEqualFilesApart checks that two files with equal content are two files, as in a
// checkout.
func TestLayersKeepEqualFilesApart(t *testing.T) {
	dir := t.TempDir()
	repo, err := git.PlainInit(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c/d"} {
		write(t, dir, name, "same")
	}
	commitAll(t, repo)
	s := store(t, LayersConfig{})
	l, err := s.Commit(t.Context(), dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, _ := os.Stat(filepath.Join(l.Path(), "a"))
	b, _ := os.Stat(filepath.Join(l.Path(), "b"))
	if os.SameFile(a, b) {
		t.Error("commands would take them for one file")
	}
}

func commitAll(t testing.TB, repo *git.Repository) {
	t.Helper()
	wt, err := repo.Worktree()
	if err == nil {
		err = wt.AddWithOptions(&git.AddOptions{All: true})
	}
	if err == nil {
		_, err = wt.Commit("c", &git.CommitOptions{Author: signature()})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func commitEverything(t testing.TB, dir string) {
	t.Helper()
	repo, err := git.PlainOpen(dir)
	if err != nil {
		t.Fatal(err)
	}
	commitAll(t, repo)
}

func headOf(t testing.TB, dir string) string {
	t.Helper()
	repo, err := git.PlainOpen(dir)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := repo.Head()
	if err != nil {
		t.Fatal(err)
	}
	return ref.Hash().String()
}

// TestLayersRefuseForgedObjects checks that a repository that a command wrote cannot put other
// content under the name of a tree that an honest repository also has.
func TestLayersRefuseForgedObjects(t *testing.T) {
	repo := repository(t)
	r, err := git.PlainOpen(repo)
	if err != nil {
		t.Fatal(err)
	}
	honest := plumbing.ComputeHash(plumbing.BlobObject, []byte("second"))
	forged := plumbing.ComputeHash(plumbing.BlobObject, []byte("forged"))
	o := r.Storer.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	w, _ := o.Writer()
	fmt.Fprint(w, "forged")
	w.Close()
	if _, err := r.Storer.SetEncodedObject(o); err != nil {
		t.Fatal(err)
	}
	loose := func(h plumbing.Hash) string {
		s := h.String()
		return filepath.Join(repo, ".git/objects", s[:2], s[2:])
	}
	if err := errors.Join(os.Chmod(filepath.Dir(loose(honest)), 0o755), os.Rename(loose(forged), loose(honest))); err != nil {
		t.Fatal(err)
	}
	s := store(t, LayersConfig{})
	l, err := s.Commit(t.Context(), repo, "HEAD")
	if err == nil {
		l.Close()
		t.Fatal("a forged object became part of a layer")
	}
	if !strings.Contains(err.Error(), "damaged or forged") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.store.Top(), "boot-*", "layers", "*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestLayersOfDirectories(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a/b", "1")
	s := store(t, LayersConfig{})
	one, err := s.Dir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	write(t, dir, "a/b", "2")
	two, err := s.Dir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	write(t, dir, "a/b", "1")
	three, err := s.Dir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer three.Close()
	if one.ID() == two.ID() || one.ID() != three.ID() {
		t.Errorf("ids %s, %s, %s", one.ID(), two.ID(), three.ID())
	}
	sb := open(t, Config{Snapshot: two.Snapshot(), Layers: s, Floor: TierNone})
	if got := sh(t, sb, "cat a/b"); got != "2" {
		t.Errorf("got %q", got)
	}
	if _, err := Local(t.Context(), Config{Snapshot: two.Snapshot(), Floor: TierNone}); err == nil || !strings.Contains(err.Error(), "Config.Layers") {
		t.Errorf("without the store: %v", err)
	}
	if _, err := s.store.Hold("dir-../../../etc"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an id that is a path: %v", err)
	}
}

// TestLayersCollect checks that no layer is removed while somebody holds it, and that the longest
// unused one goes first.
func TestLayersCollect(t *testing.T) {
	s := store(t, LayersConfig{MaxBytes: -1})
	make := func(text string) *Layer {
		dir := t.TempDir()
		write(t, dir, "f", strings.Repeat(text, 1000))
		l, err := s.Dir(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a, b, c := make("a"), make("b"), make("c")
	for i, l := range []*Layer{b, a, c} { // b is the oldest, a is held
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(filepath.Join(filepath.Dir(l.Path()), "used"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	s.store.MaxBytes = 2000
	got, err := s.Collect()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Collected{Layers: 1, Bytes: 1000, Kept: 2, Held: 2000}, got); d != "" {
		t.Error(d)
	}
	if _, err := s.store.Hold(b.ID()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the oldest is there: %v", err)
	}
	s.store.MaxBytes = 1
	if _, err := s.Collect(); err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(a.Path(), "f")) == "" || exists(c.Path()) {
		t.Error("the held layer went, or the free one stayed")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Collect(); err != nil || got.Kept != 0 || got.Held != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLayersConcurrently(t *testing.T) {
	repo := repository(t)
	top := filepath.Join(t.TempDir(), "layers")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := OpenLayers(top, LayersConfig{MaxBytes: 1}) // removes every layer that is not held, all the time
			if err != nil {
				t.Error(err)
				return
			}
			for k := range 6 {
				l, err := s.Commit(t.Context(), repo, []string{"HEAD", "HEAD~1"}[(i+k)%2])
				if err != nil {
					t.Error(err)
					return
				}
				if b, err := os.ReadFile(filepath.Join(l.Path(), "file")); err != nil || string(b) != []string{"second", "first"}[(i+k)%2] {
					t.Errorf("%q, %v", b, err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestLayersSurviveKills checks that a process killed while it makes a layer leaves a usable store.
func TestLayersSurviveKills(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	repo := repository(t)
	for i := range 40 {
		write(t, repo, fmt.Sprintf("many/%d", i), strings.Repeat(fmt.Sprint(i), 5000))
	}
	r, err := git.PlainOpen(repo)
	if err != nil {
		t.Fatal(err)
	}
	commitAll(t, r)
	top := filepath.Join(t.TempDir(), "layers")
	s, err := OpenLayers(top, LayersConfig{})
	if err != nil {
		t.Skip(err)
	}
	for i := range 12 {
		cmd := exec.Command(self(t), top, repo)
		cmd.Env = append(os.Environ(), helperEnv+"=layers")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i*i) * 2 * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	l, err := s.Commit(t.Context(), repo, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := treeOf(t, l.Path()); len(got) != 45 || got["many/7"] != strings.Repeat("7", 5000) {
		t.Errorf("%d files", len(got))
	}
	old := time.Now().Add(-time.Hour)
	left, _ := filepath.Glob(filepath.Join(s.store.Top(), "boot-*", "making", "*"))
	for _, p := range left {
		_ = os.Chtimes(p, old, old)
	}
	if _, err := s.Collect(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.store.Top(), "boot-*", "making", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestLayersWantAPrivateDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLayers(dir, LayersConfig{}); err == nil {
		t.Error("a directory that others can write is taken for a store")
	}
}

// TestSnapshotWithGit: the snapshot of a commit can have a repository of its own, in which git sees
// an unchanged tree on the same branch, with the history, and commits as the same author.
// Settings, hooks and remotes of the repository stay behind, and nothing that commands do there
// changes it.
//
// Evidence: sandbox · A snapshot of a commit can have the repository's history
func TestSnapshotWithGit(t *testing.T) {
	tier.Normal(t)
	repo := repository(t)
	git := func(dir string, args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir}, args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	git(repo, "config", "user.name", "Ada")
	git(repo, "config", "user.email", "ada@example.org")
	git(repo, "config", "alias.harm", "!touch harmed")
	git(repo, "remote", "add", "origin", "https://secret@example.org/x")
	git(repo, "branch", "other", "HEAD~1")
	git(repo, "tag", "v1")
	git(repo, "update-ref", "refs/stash", "HEAD")
	write(t, repo, ".git/hooks/pre-commit", "#!/bin/sh\ntouch harmed\n")
	if err := os.Chmod(filepath.Join(repo, ".git/hooks/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(t.TempDir(), "linked") // another work tree of the repository
	git(repo, "worktree", "add", "-q", "-b", "side", linked, "HEAD")
	shared := filepath.Join(t.TempDir(), "shared") // a repository that borrows objects
	git(repo, "clone", "-q", "--shared", repo, shared)
	git(shared, "config", "user.name", "Ada")
	git(shared, "config", "user.email", "ada@example.org")
	branch := strings.TrimSpace(git(repo, "branch", "--show-current"))
	before := git(repo, "for-each-ref") + git(repo, "rev-parse", "HEAD")
	s := store(t, LayersConfig{})
	for _, c := range []struct{ dir, rev, on string }{
		{repo, "HEAD", branch}, {repo, branch, branch}, {repo, "other", "other"}, {repo, "HEAD~1", ""}, {repo, "v1", ""}, {linked, "HEAD", "side"}, {shared, "HEAD", branch},
	} {
		for _, layers := range []*Layers{nil, s} {
			t.Run(filepath.Base(c.dir)+" "+c.rev, func(t *testing.T) {
				cfg := walled(t, TierNamespaces)
				cfg.Snapshot, cfg.Layers = SnapshotCommit(c.dir, c.rev).WithGit(), layers
				sb := open(t, cfg)
				if got := sh(t, sb, "git status --porcelain --ignored; git branch --show-current"); got != strings.TrimPrefix(c.on+"\n", "\n") {
					t.Errorf("git sees %q", got)
				}
				if got, want := sh(t, sb, "git log --format='%H %an'"), git(c.dir, "log", "--format=%H %an", c.rev); got != want {
					t.Errorf("history %q, want %q", got, want)
				}
				want := "Ada <ada@example.org> fsck=0\n"
				script := "echo new >>file; git commit -qam third; git fsck --strict >/dev/null 2>&1; echo $(git log -1 --format='%an <%ae>') fsck=$?; ls harmed 2>/dev/null; git remote; git config alias.harm; git stash list"
				if got := sh(t, sb, script+"; true"); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				fork, err := sb.(Forker).Fork(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer fork.Close()
				out := t.TempDir()
				git(c.dir, "--work-tree", out, "checkout", "-q", c.rev, "--", ".")
				r, err := fork.(Exporter).Export(t.Context(), ExportOptions{Dir: out})
				if err != nil || len(r.Changes) != 1 || r.Changes[0].Path != "file" {
					t.Errorf("exported %v, %v", r, err)
				}
			})
		}
	}
	if after := git(repo, "for-each-ref") + git(repo, "rev-parse", "HEAD"); after != before {
		t.Errorf("the repository had\n%sand now has\n%s", before, after)
	}
	if out := git(repo, "fsck", "--strict"); strings.Contains(out, "error") {
		t.Error(out)
	}
}
