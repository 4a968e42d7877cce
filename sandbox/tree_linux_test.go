package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
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

// TestTreeGoesOnAfterForks checks that a tree goes on after a fork with the next generation, that
// what was kept of it before is refused, and that a file kept open for writing prevents the fork.
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

// TestTreeTopHasTheOriginsMode checks the mode of the workspace's top, also after forks, restores
// and leases, and that a change of it by a command stays.
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

// TestTreeAttributes checks extended attributes in both directions.
func TestTreeAttributes(t *testing.T) {
	t.Parallel()
	cfg := walled(t, TierNamespaces)
	cfg.Snapshot = SnapshotDir(t.TempDir())
	sb := open(t, cfg)
	tree := aTree(t, sb)
	changeIn(t, tree, func(root *os.Root) error {
		f, err := root.Create("f")
		if err != nil {
			return err
		}
		return errors.Join(unix.Fsetxattr(int(f.Fd()), "user.host", []byte("from the host"), 0), f.Close())
	})
	if ok, why := inside(t, sb, "xattr", "f", "user.host", "from the host"); !ok {
		t.Errorf("a command sees %s", why)
	}
	if ok, why := inside(t, sb, "set-xattr", "f", "user.box", "from inside"); !ok {
		t.Fatal(why)
	}
	viewOf(t, tree, func(root *os.Root) error {
		f, err := root.Open("f")
		if err != nil {
			return err
		}
		defer f.Close()
		b := make([]byte, 64)
		n, err := unix.Fgetxattr(int(f.Fd()), "user.box", b)
		if got := string(b[:max(n, 0)]); err == nil && got != "from inside" {
			t.Errorf("the host sees %q", got)
		}
		return err
	})
}

// TestTreeNamesNoPath checks that nothing that the host gets is the name of a file: neither the
// root's name nor a file's.
func TestTreeNamesNoPath(t *testing.T) {
	t.Parallel()
	cfg := walled(t, TierNamespaces)
	cfg.Snapshot = SnapshotDir(t.TempDir())
	tree := aTree(t, open(t, cfg))
	changeIn(t, tree, func(root *os.Root) error {
		f, err := root.Create("f")
		if err != nil {
			return err
		}
		defer f.Close()
		for _, name := range []string{root.Name(), f.Name(), filepath.Dir(root.Name())} {
			if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) || strings.HasPrefix(name, "/proc") {
				t.Errorf("%s names a file: %v", name, err)
			}
		}
		return nil
	})
}

// TestTreeUnderAttack checks that commands cannot make the host read or write outside the tree, or
// wait, by what they put into it and exchange meanwhile.
//
// Evidence: sandbox · Commands cannot lead the host out of a workspace's tree
func TestTreeUnderAttack(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	need(t, "flock")
	cfg := walled(t, TierNamespaces)
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "f", "secret")
	write(t, dir, "f", "inside")
	before := treeOf(t, outside)
	cfg.Snapshot = SnapshotDir(dir)
	cfg.ReadOnly = append(cfg.ReadOnly, outside) // so that commands can name it
	sb := open(t, cfg)
	sh(t, sb, strings.ReplaceAll(`set -e
ln -s OUT abs; ln -s ../../../../../../../../../OUT rel; ln -s /proc/self/root root; ln -s /proc/1/cwd cwd; ln -s . self; ln -s a b; ln -s b a
mkdir real; echo inside > real/f; mkfifo fifo; truncate -s 1T big; mkdir loop; ln -s ../loop loop/loop`, "OUT", outside))
	hold, err := sb.Start(t.Context(), Cmd{Args: []string{"flock", ".", "sleep", uniqueSleep()}})
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Kill()
	swap, err := sb.Start(t.Context(), Cmd{Args: []string{"sh", "-c", fmt.Sprintf(`
ln -s %s away; ln -s / top
while :; do
	mv real d; mv d real; mv away d; mv d away; mv top d; mv d top; mkfifo d; rm d
done`, outside)}})
	if err != nil {
		t.Fatal(err)
	}
	defer swap.Kill()
	tree := aTree(t, sb)
	read, made := 0, 0
	goesOn := func(begun time.Time) bool {
		took := time.Since(begun)
		return took < tier.Pick(300*time.Millisecond, time.Second, time.Minute) || (read == 0 || made == 0) && took < 2*time.Minute
	}
	for begun := time.Now(); goesOn(begun); {
		viewOf(t, tree, func(root *os.Root) error {
			for _, name := range []string{"d/f", "abs/f", "rel/f", "root/" + outside + "/f", "cwd/f", "fifo", "d", "b", "self/self/f", "loop/loop/loop/../f"} {
				b, err := regular.ReadIn(root, name, 1<<20)
				if string(b) == "secret" {
					return fmt.Errorf("%s leads outside", name)
				}
				if err == nil {
					read++
				}
			}
			if fi, err := root.Stat("big"); err != nil || fi.Size() != 1<<40 {
				return fmt.Errorf("the sparse file: %v", err)
			}
			return nil
		})
		changeIn(t, tree, func(root *os.Root) error {
			for _, name := range []string{"d/made", "abs/made", "rel/made", "root/" + outside + "/made", "d/f", "abs/f"} {
				f, err := regular.OpenIn(root, name, os.O_RDWR)
				if err == nil {
					f.Close()
				}
				if g, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
					made++
					g.Close()
					_ = root.Remove(name)
				}
				_ = root.Chmod(name, 0o777)
				_ = root.WriteFile("temp", nil, 0o644)
				_ = root.Rename("temp", name)
				_ = root.Link("f", name+"2")
				_ = root.Symlink("f", name+"3")
				_ = root.Chtimes(name, time.Now(), time.Now())
				_ = root.RemoveAll(filepath.Dir(name) + "/made2")
			}
			return nil
		})
	}
	if d := cmp.Diff(before, treeOf(t, outside)); d != "" {
		t.Errorf("outside changed: %s", d)
	}
	if read == 0 || made == 0 {
		t.Errorf("%d files read, %d made: the attack prevented everything", read, made)
	}
}

// TestTreeOfAMovedWorkspace checks that the host does not take another directory for the workspace
// if a command moves those that lead to it.
func TestTreeOfAMovedWorkspace(t *testing.T) {
	t.Parallel()
	cfg := walled(t, TierNamespaces)
	dir := filepath.Join(t.TempDir(), "in", "work")
	write(t, dir, "f", "real")
	cfg.Snapshot = SnapshotDir(dir)
	for name, plant := range map[string]string{"a link": "ln -s /etc $OLD", "a directory": "mkdir -p $OLD/work; echo planted > $OLD/work/f"} {
		sb := open(t, cfg)
		exit := mustExec(t, sb, Cmd{Dir: "/", Args: []string{"sh", "-c", "OLD=" + filepath.Dir(dir) + "; mv $OLD $OLD-moved && " + plant}})
		if !exit.Success() {
			t.Skipf("a command cannot move it here: %s", exit.Stderr)
		}
		if tree, err := sb.(Treer).Tree(t.Context()); err == nil {
			t.Errorf("%s was taken for the workspace", name)
			tree.Close()
		}
	}
}

// TestTreeHasGrants checks that directories granted inside the workspace are in the tree as
// commands have them: one that is read-only is not written by the host either.
func TestTreeHasGrants(t *testing.T) {
	t.Parallel()
	cfg := walled(t, TierNamespaces)
	dir := t.TempDir()
	for _, d := range []string{"ro", "rw"} {
		write(t, dir, d+"/f", d)
	}
	if os.Geteuid() == 0 { // an owner whom the host's root is not
		if err := errors.Join(os.Chown(dir+"/rw", 4242, 4242), os.Chown(dir+"/rw/f", 4242, 4242)); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Snapshot = SnapshotDir(dir)
	cfg.ReadOnly, cfg.Writable = append(cfg.ReadOnly, dir+"/ro"), []string{dir + "/rw"}
	sb := open(t, cfg)
	tree := aTree(t, sb)
	if got := inTree(t, tree, "ro/f") + inTree(t, tree, "rw/f"); got != "rorw" {
		t.Errorf("read %q", got)
	}
	for _, f := range []func(*os.Root) error{
		func(root *os.Root) error { return root.WriteFile("ro/new", nil, 0o644) },
		func(root *os.Root) error { return root.Remove("ro/f") },
	} {
		if err := tree.Change(t.Context(), f); !errors.Is(err, unix.EROFS) {
			t.Errorf("wrote what commands may only read: %v", err)
		}
	}
	changeIn(t, tree, func(root *os.Root) error { return root.WriteFile("rw/new", []byte("x"), 0o644) })
	if got := sh(t, sb, "echo y >> rw/new; cat rw/new") + read(t, dir+"/rw/new"); got != "xy\nxy\n" {
		t.Errorf("the writable grant has %q", got)
	}
}

// TestTreeOfALease checks that the tree of a lease ends with it: what was kept of it reaches
// nothing of the next lease, and a sandbox with a file still open for writing is not used again.
func TestTreeOfALease(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	p := recyclable(t, PoolConfig{})
	dir := t.TempDir()
	write(t, dir, "f", "f")
	r := Request{Snapshot: SnapshotDir(dir), Domain: "d"}
	l := acquire(t, p, r)
	earlier := p.Stats().Recycled
	tree := aTree(t, l)
	var kept *os.Root
	changeIn(t, tree, func(root *os.Root) error {
		kept = root
		return root.WriteFile("mine", []byte("m"), 0o644)
	})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Doubted != 0 || s.Recycled != earlier+1 {
		t.Errorf("a lease with a tree was not used again: %+v", s)
	}
	next := acquire(t, p, r)
	if err := kept.WriteFile("stale", nil, 0o644); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the root of the last lease: %v", err)
	}
	of := aTree(t, next)
	if got := sh(t, next, "ls"); got != "f\n" {
		t.Errorf("the next lease has %q", got)
	}
	var writer *os.File
	changeIn(t, of, func(root *os.Root) (err error) {
		writer, err = root.OpenFile("f", os.O_WRONLY, 0)
		return err
	})
	defer writer.Close()
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Doubted != 1 {
		t.Errorf("a sandbox that the host can still write was used again: %+v", s)
	}
}

// TestTreeOnADisk checks that a tree works on a disk of limited size, which is full for it too, and
// that it does not keep the disk.
func TestTreeOnADisk(t *testing.T) {
	t.Parallel()
	sb, _, _ := small(t)
	tree := aTree(t, sb)
	err := tree.Change(t.Context(), func(root *os.Root) error { return root.WriteFile("big", make([]byte, 20<<20), 0o644) })
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("20 MiB on a disk of 8: %v", err)
	}
	changeIn(t, tree, func(root *os.Root) error { return root.Remove("big") })
	// A process that this one is starting may have the removed file open for another moment.
	eventually(t, "free the space", func() bool {
		return tree.Change(t.Context(), func(root *os.Root) error { return root.WriteFile("small", []byte("s"), 0o644) }) == nil
	})
	k := fork(t, sb)
	of := aTree(t, k)
	if got := sh(t, k, "cat small") + inTree(t, of, "small") + inTree(t, tree, "small"); got != "sss" {
		t.Errorf("read %q", got)
	}
	d := sb.(*local).ws.disk
	if err := errors.Join(k.Close(), sb.Close()); err != nil { // with both trees open
		t.Fatal(err)
	}
	if _, err := d.root.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the disk is still held: %v", err)
	}
}

// TestTreesLeakNothing checks that forks with trees leave no descriptors, mounts, directories or
// goroutines, in this process and in its broker.
func TestTreesLeakNothing(t *testing.T) {
	tier.Normal(t)
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		cfg.Snapshot, cfg.ScratchDir = SnapshotDir(dir), t.TempDir()
		sb := open(t, cfg)
		tree := aTree(t, sb)
		brokers := func() (n int) {
			for _, pid := range brokerPIDs(t, os.Getpid()) {
				fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
				n += len(fds)
			}
			return n
		}
		forks := func() {
			n := tier.Pick(10, 100, 500) // twice
			if cfg.Floor < TierNamespaces {
				n /= 10 // these copy
			}
			for i := range n {
				if i%2 == 0 {
					changeIn(t, tree, func(root *os.Root) error { return root.WriteFile("f", []byte(fmt.Sprint(i)), 0o644) })
				}
				k, err := sb.(Forker).Fork(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				of, err := k.(Treer).Tree(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				changeIn(t, of, func(root *os.Root) error { return root.WriteFile("g", nil, 0o644) })
				if i%3 > 0 { // otherwise it ends with its sandbox
					err = of.Close()
				}
				if err := errors.Join(err, k.Close()); err != nil {
					t.Fatal(err)
				}
			}
			if err := sb.(Restorer).Restore(t.Context(), AtSnapshot); err != nil {
				t.Fatal(err)
			}
			inTree(t, tree, ".gone-or-not") // opens it again
		}
		write(t, dir, ".gone-or-not", "")
		forks()
		held := brokers()
		checkHoldings(t, cfg.ScratchDir, "forks with trees", forks)
		eventually(t, "let the broker hold no more than before", func() bool { return brokers() <= held })
	})
}
