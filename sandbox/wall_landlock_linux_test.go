package sandbox

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// makeRootWritable removes the first wall: it mounts the root of a sandbox, which belongs to its
// user, writable.
func makeRootWritable(t *testing.T, pid int) {
	t.Helper()
	done := make(chan error)
	apart(func() { // the thread's mount namespace changes permanently
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return err
			}
			ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", pid))
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS); err != nil {
				return err
			}
			return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}()
	})
	if err := <-done; err != nil {
		t.Skipf("the first wall cannot be taken down from here: %v", err)
	}
}

// Evidence: sandbox · Landlock still protects files if a mount does not
func TestLandlockIsASecondWall(t *testing.T) {
	if landlockVersion() < landlockMinimum {
		t.Skip("the kernel has no Landlock that would do")
	}
	sb := open(t, walled(t, TierNamespaces))
	for _, w := range sb.Isolation().Walls {
		if w.Name == WallFilesystem && !strings.Contains(w.Detail, "Landlock") {
			t.Errorf("reported: %s", w.Detail)
		}
	}
	makeRootWritable(t, sb.(*local).run.(*guestSpawner).sup.(*brokered).pid)
	for _, attack := range []string{"echo x > /new", "mkdir /new", "ln -s x /new", "mv /tmp /new", "rmdir /run"} {
		exit := mustExec(t, sb, Cmd{Args: []string{"sh", "-c", attack}})
		if exit.Success() {
			t.Errorf("%s: done, though nothing there was granted", attack)
		}
	}
	sh(t, sb, "echo x > /tmp/a; mkdir /tmp/d; mv /tmp/a /tmp/d/b; ln /tmp/d/b /tmp/c; echo y > ~/f; echo z > /dev/shm/g; echo w > w; mkdir -p p/q; mv w p/q/w; echo > /dev/null; echo 0 > /proc/self/oom_score_adj")

	// Control: without rules for files, as in a sandbox whose workspace comes later, the same
	// attack succeeds once the first wall is removed.
	b, err := makeBlank(t.Context(), &newPool(t, PoolConfig{}).blanks)
	if err != nil {
		t.Skip(err)
	}
	defer b.close()
	makeRootWritable(t, b.run.sup.(*brokered).pid)
	l := newLocal(b.ws, b.plan.env, b.iso, b.run)
	if exit, err := l.Exec(t.Context(), Cmd{Args: []string{"sh", "-c", "echo x > /new"}, Dir: "/tmp"}); err != nil || !exit.Success() {
		t.Errorf("control: %v %v: the attack does not bite", exit, err)
	}
}

// TestBoundingSetIsEmpty checks that no capability is left in the bounding set, not even one that
// the kernel supports but this program does not know.
func TestBoundingSetIsEmpty(t *testing.T) {
	sb := open(t, walled(t, TierNamespaces).withDir(t))
	if got := strings.TrimSpace(sh(t, sb, "grep CapBnd /proc/self/status")); strings.Trim(got, "CapBnd:\t0 ") != "" {
		t.Errorf("inside: %s", got)
	}
}
