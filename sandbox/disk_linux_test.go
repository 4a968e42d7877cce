package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox/internal/sandboxtest"
)

// small opens a sandbox over a snapshot with a disk of 8 MiB and 600 inodes.
func small(t *testing.T) (sb Sandbox, dir, scratch string) {
	t.Helper()
	cfg := walled(t, TierNamespaces)
	dir, scratch = t.TempDir(), t.TempDir()
	write(t, dir, "f", "1\n")
	cfg.Snapshot, cfg.ScratchDir = SnapshotDir(dir), scratch
	cfg.Limits = Limits{Disk: 8 << 20, Inodes: 600}
	sb = open(t, cfg)
	if l := limitNamed(t, sb, "disk"); !l.Enforced {
		t.Skipf("this host cannot limit a disk: %s", l.By)
	}
	return sb, dir, scratch
}

// full runs a script that must fail for lack of space.
func full(t *testing.T, sb Sandbox, script string) {
	t.Helper()
	exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", script}})
	if exit.Success() || !strings.Contains(exit.Stderr.String(), "No space left on device") {
		t.Errorf("%s: %v %q", script, exit, exit.Stderr)
	}
}

func TestDiskIsBounded(t *testing.T) {
	t.Parallel()
	sb, dir, scratch := small(t)
	if l := limitNamed(t, sb, "disk"); l.Value != 8<<20 {
		t.Errorf("%+v", l)
	}
	if l := limitNamed(t, sb, "files on disk"); !l.Enforced || l.Value != 600 {
		t.Errorf("%+v", l)
	}
	sh(t, sb, "mkdir -p ~/.cache")
	for _, place := range []string{".", "/tmp", "~", "~/.cache"} {
		full(t, sb, "head -c 20000000 /dev/zero > "+place+"/big")
		sh(t, sb, "rm "+place+"/big; mkdir "+place+"/many")
		full(t, sb, "cd "+place+"/many && seq 2000 | xargs touch")
		sh(t, sb, "rm -r "+place+"/many")
	}
	// All places share the same space.
	sh(t, sb, "head -c 6000000 /dev/zero > /tmp/big")
	full(t, sb, "head -c 6000000 /dev/zero > big")
	sh(t, sb, "rm big /tmp/big; echo 2 > f; echo n > new; mkdir d; mv d e")

	// Nothing of all this was on the host's disk, and what is left can be exported.
	sandboxtest.Empty(t, scratch)
	if d := cmp.Diff(map[string]ChangeKind{"f": Modified, "new": Added, "e": Added}, kinds(t, sb)); d != "" {
		t.Error(d)
	}
	if _, err := sb.(Exporter).Export(t.Context(), ExportOptions{}); err != nil {
		t.Error(err)
	}
	if got := read(t, filepath.Join(dir, "f")); got != "2\n" {
		t.Errorf("exported %q", got)
	}
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
}

// TestDiskOfForks checks that forks share a disk, and that freezing a fork's state moves files
// within it.
func TestDiskOfForks(t *testing.T) {
	t.Parallel()
	sb, dir, scratch := small(t)
	sh(t, sb, "head -c 5000000 /dev/zero > big; rm f")
	other := fork(t, sb)
	full(t, other, "head -c 5000000 /dev/zero > more")
	sh(t, other, "rm more; test -e big && ! test -e f; head -c 2000000 /dev/zero > more")
	full(t, sb, "head -c 2000000 /dev/zero > more")
	sh(t, sb, "rm more")
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	trial := dryRun(t, sb, "head -c 2000000 /dev/zero > more; rm big")
	if err := trial.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]ChangeKind{"f": Deleted, "more": Added}, kinds(t, sb)); d != "" {
		t.Error(d)
	}
	if err := sb.(Restorer).Restore(t.Context(), AtSnapshot); err != nil {
		t.Fatal(err)
	}
	sh(t, sb, "cat f; head -c 7000000 /dev/zero > big") // there is space again
	sandboxtest.Empty(t, scratch)
	if got := treeOf(t, dir); len(got) != 1 {
		t.Errorf("the original has %v", got)
	}
}

// TestDiskOfRecycledSandboxes checks that a recycled sandbox has its whole disk available again.
func TestDiskOfRecycledSandboxes(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	scratch := t.TempDir()
	p := recyclable(t, PoolConfig{Config: Config{ScratchDir: scratch, Limits: Limits{Disk: 8 << 20}}})
	r := Request{Snapshot: SnapshotDir(t.TempDir()), Domain: "probe"}
	var last *blank
	for i := range 6 {
		l := acquire(t, p, r)
		if lim := limitNamed(t, l, "disk"); !lim.Enforced {
			t.Skip(lim.By)
		}
		if last != nil && l.blank != last {
			t.Errorf("not the same sandbox: %+v", p.Stats())
		}
		last = l.blank
		if i%2 == 0 { // both in places that are made again and in one that is emptied
			sh(t, l, "! test -e /tmp/big && head -c 3000000 /dev/zero > /tmp/big")
		}
		sh(t, l, "! test -e big && head -c 4000000 /dev/zero > big")
		full(t, l, "head -c 6000000 /dev/zero > more")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sandboxtest.Empty(t, scratch)
}

// TestDiskOfLowerTiers checks that a tier that cannot limit a disk says so, and that its files are
// in the usual place.
func TestDiskOfLowerTiers(t *testing.T) {
	t.Parallel()
	cfg := walled(t, TierLandlock)
	cfg.Snapshot, cfg.Limits.Disk = SnapshotDir(t.TempDir()), 8<<20
	sb := open(t, cfg)
	if l := limitNamed(t, sb, "disk"); l.Enforced || l.Value != 8<<20 || !strings.Contains(l.By, errDiskTier.Error()) {
		t.Errorf("%+v", l)
	}
	sh(t, sb, "head -c 9000000 /dev/zero > big")

	if _, err := (Config{Dir: t.TempDir(), Limits: Limits{Inodes: 5}}).normalize(); err == nil {
		t.Error("inodes of what are limited?")
	}
}

// TestDiskIsLeftForALowerTier checks that a workspace with a disk is moved off it if its tier turns
// out to be unavailable and a lower one is used.
func TestDiskIsLeftForALowerTier(t *testing.T) {
	t.Parallel()
	_, dir, _ := small(t)
	cfg, err := Config{Snapshot: SnapshotDir(dir), Limits: Limits{Disk: 8 << 20}, Floor: TierNone}.normalize()
	if err != nil {
		t.Fatal(err)
	}
	ws, err := openWorkspace(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.limit(t.Context(), &cfg); err != nil || ws.disk == nil {
		t.Fatal(err, ws.diskLess)
	}
	root := ws.disk.root
	l, err := startHost(t.Context(), &cfg, ws)
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, l, "cat f"); got != "1\n" || strings.HasPrefix(l.Dir(), "/proc") {
		t.Errorf("%q in %s", got, l.Dir())
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := root.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the disk is left: %v", err)
	}
}

// TestDiskOutlivesItsBroker checks that the host loses no file when the broker dies.
func TestDiskOutlivesItsBroker(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user's broker is another's child")
	}
	sb, _, _ := small(t)
	sh(t, sb, "echo 2 > f")
	p, err := os.FindProcess(theBrokerOf(t, os.Getpid()))
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "end of the sandbox", func() bool { return !sb.(*local).alive() })
	var out strings.Builder
	if err := sb.(Exporter).Diff(t.Context(), AtSnapshot, &out); err != nil || !strings.Contains(out.String(), "+2") {
		t.Errorf("%v %s", err, &out)
	}
	if _, err := sb.(Forker).Fork(t.Context()); err == nil {
		t.Error("forked, though nobody can mount the files")
	}
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
	small(t) // made by the next broker
}
