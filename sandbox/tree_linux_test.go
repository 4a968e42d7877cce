package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestTreeIsWhatCommandsSee checks both directions: what the host makes through the tree, commands
// see with the owner, mode and content that their own files have, and the other way round. The
// snapshot's directory stays as it was.
//
// Evidence: sandbox · A workspace's tree is what its commands see, with their owner and modes
func TestTreeIsWhatCommandsSee(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, dir, "lower", "old\n")
		write(t, dir, "d/deep", "deep\n")
		write(t, dir, "gone/x", "x\n")
		if err := os.Chmod(dir, 0o751); err != nil {
			t.Fatal(err)
		}
		before := treeOf(t, dir)
		cfg.Snapshot = SnapshotDir(dir)
		sb := open(t, cfg)
		sh(t, sb, "echo in > in; mkdir made; ln -s in link; chmod 640 in; touch own")
		tree := aTree(t, sb)
		if tree.Name() != sb.Dir() {
			t.Errorf("the tree is named %s, the workspace %s", tree.Name(), sb.Dir())
		}
		if got := inTree(t, tree, "in") + inTree(t, tree, "d/deep") + inTree(t, tree, "link"); got != "in\ndeep\nin\n" {
			t.Errorf("read through the tree: %q", got)
		}
		changeIn(t, tree, func(root *os.Root) error {
			f, err := root.OpenFile("lower", os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more\n")
			return errors.Join(err, f.Close(),
				root.WriteFile("host", []byte("h\n"), 0o644), root.Chmod("host", 0o755),
				root.Mkdir("hd", 0o755), root.Symlink("host", "hl"), root.Link("in", "in2"),
				root.WriteFile(".temp", []byte("new\n"), 0o600), root.Rename(".temp", "d/deep"),
				root.RemoveAll("gone"), root.Mkdir("gone", 0o755), root.WriteFile("gone/y", nil, 0o600))
		})
		owner := strings.TrimSpace(sh(t, sb, "stat -c %u:%g own"))
		got := sh(t, sb, `cat lower host hl d/deep; ls gone; stat -c '%n %a %u:%g %F' host hd d/deep in2 gone gone/y .; echo x >> host && echo y > hd/by && rm in2`)
		want := strings.ReplaceAll(`old
more
h
h
new
y
host 755 OWNER regular file
hd 755 OWNER directory
d/deep 600 OWNER regular file
in2 640 OWNER regular file
gone 755 OWNER directory
gone/y 600 OWNER regular empty file
. 751 OWNER directory
`, "OWNER", owner)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("what a command sees (-want +got):\n%s", d)
		}
		if got := inTree(t, tree, "host") + inTree(t, tree, "hd/by"); got != "h\nx\ny\n" {
			t.Errorf("read through the tree after commands changed it: %q", got)
		}
		if d := cmp.Diff(before, treeOf(t, dir)); d != "" {
			t.Errorf("the snapshot changed: %s", d)
		}
	})
}

// TestTreeGoesOnAfterForks checks that a tree goes on after a fork with the next generation, that what
// was kept of it before is refused, and that a file kept open for writing prevents the fork.
//
// Evidence: sandbox · A tree kept over a fork cannot write what forks share
func TestTreeGoesOnAfterForks(t *testing.T) {
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, dir, "f", "f\n")
		cfg.Snapshot = SnapshotDir(dir)
		sb := open(t, cfg)
		tree := aTree(t, sb)
		var kept *os.Root
		var reader *os.File
		changeIn(t, tree, func(root *os.Root) (err error) {
			kept = root
			if err := root.WriteFile("before", []byte("b\n"), 0o644); err != nil {
				return err
			}
			reader, err = root.Open("before")
			return err
		})
		defer reader.Close()
		at := tree.Generation()
		b := fork(t, sb)
		if now := tree.Generation(); now != at+1 {
			t.Errorf("generation %d after %d", now, at)
		}
		if err := kept.WriteFile("stale", nil, 0o644); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a root of before the fork: %v", err)
		}
		changeIn(t, tree, func(root *os.Root) error { return root.WriteFile("after", []byte("a\n"), 0o644) })
		if got := sh(t, sb, "cat before after; ls"); got != "b\na\nafter\nbefore\nf\n" {
			t.Errorf("the parent has %q", got)
		}
		tb := aTree(t, b)
		if got := sh(t, b, "cat before; ls"); got != "b\nbefore\nf\n" {
			t.Errorf("the fork has %q", got)
		}
		if id, rest, _ := strings.Cut(tb.ID(), "."); id != tree.ID() || rest == "" {
			t.Errorf("the fork's ID is %s, its parent's %s", tb.ID(), tree.ID())
		}
		if !sb.(*local).ws.overlay {
			return // a copy is separate from what forks share
		}
		var writer *os.File
		changeIn(t, tree, func(root *os.Root) (err error) {
			writer, err = root.OpenFile("before", os.O_WRONLY, 0)
			return err
		})
		if _, err := sb.(Forker).Fork(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("forked while a file was open for writing: %v", err)
		}
		writer.Close()
		fork(t, sb)
	})
}

// TestTreeKeptIsFenced checks what the kernel refuses if a descriptor is kept that os.Root
// does not guard.
func TestTreeKeptIsFenced(t *testing.T) {
	t.Parallel()
	cfg := Config{Snapshot: SnapshotDir(t.TempDir()), Floor: TierNamespaces}
	sb := open(t, cfg)
	tree := aTree(t, sb)
	var top *os.File
	changeIn(t, tree, func(root *os.Root) (err error) {
		if err = root.WriteFile("before", []byte("b\n"), 0o644); err == nil {
			top, err = root.Open(".")
		}
		return err
	})
	defer top.Close()
	if !sb.(*local).ws.overlay {
		t.Skip("this host has no overlay for it")
	}
	b := fork(t, sb)
	frozen := sb.(*local).ws.frozen[0].Path
	before := treeOf(t, frozen)
	for name, flags := range map[string]int{"stale": syscall.O_CREAT | syscall.O_WRONLY, "before": syscall.O_WRONLY, "after": syscall.O_CREAT | syscall.O_RDWR} {
		if fd, err := syscall.Openat(int(top.Fd()), name, flags, 0o644); err == nil {
			syscall.Close(fd)
			t.Errorf("%s could be opened for writing", name)
		} else if err != syscall.EROFS {
			t.Errorf("%s: %v, want %v", name, err, syscall.EROFS)
		}
	}
	if err := syscall.Unlinkat(int(top.Fd()), "before"); err != syscall.EROFS {
		t.Errorf("remove: %v, want %v", err, syscall.EROFS)
	}
	if d := cmp.Diff(before, treeOf(t, frozen)); d != "" {
		t.Errorf("what the forks share changed: %s", d)
	}
	if got := sh(t, b, "cat before; ls"); got != "b\nbefore\n" {
		t.Errorf("the fork has %q", got)
	}
}

// TestTreeTopHasTheOriginsMode checks the mode of the workspace's top, also after forks, restores and
// leases, and that a change of it by a command stays.
func TestTreeTopHasTheOriginsMode(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		for _, mode := range []os.FileMode{0o755, 0o700, 0o775, 0o750} {
			dir := t.TempDir()
			write(t, dir, "f", "f")
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
			cfg.Snapshot = SnapshotDir(dir)
			sb := open(t, cfg)
			top := func(sb Sandbox) string { return strings.TrimSpace(sh(t, sb, "stat -c %a .")) }
			want := top(open(t, Config{Dir: dir, Floor: cfg.Floor, Ceiling: cfg.Ceiling}))
			for _, step := range []func(){
				func() {},
				func() { sh(t, sb, "echo x > x"); sb = fork(t, sb) },
				func() { sh(t, sb, "rm x") },
				func() {
					if err := sb.(Restorer).Restore(t.Context(), AtFork); err != nil {
						t.Fatal(err)
					}
				},
			} {
				step()
				if got := top(sb); got != want {
					t.Errorf("%v: the top has mode %s, want %s", mode, got, want)
				}
			}
			sh(t, sb, "chmod 711 .; echo y > y")
			if got := top(fork(t, sb)); got != "711" {
				t.Errorf("a fork of a workspace with mode 711 has %s", got)
			}
		}
	})
}
