package treefd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestAs checks that what is made belongs to the user, and that the thread has its own rights again
// afterwards, also after a panic.
func TestAs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGURG), 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	own := errors.New("own")
	err = As(4242, 4243, func() error {
		return errors.Join(own, root.WriteFile("f", nil, 0o600))
	})
	if !errors.Is(err, own) || len(err.Error()) > 3 {
		t.Errorf("the function's error: %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = As(4242, 4243, func() error { panic("own") })
	}()
	if uid, gid := fsid(unix.SYS_SETFSUID, -1), fsid(unix.SYS_SETFSGID, -1); uid != 0 || gid != 0 {
		t.Errorf("the thread acts as %d:%d afterwards", uid, gid)
	}
	var orphaned int32
	if _, _, err := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&orphaned)), 0); err != 0 || orphaned != int32(unix.SIGURG) {
		t.Errorf("the thread's signal for the death of its parent is %d, %v", orphaned, err)
	}
	fi, err := os.Stat(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if st := fi.Sys().(*syscall.Stat_t); st.Uid != 4242 || st.Gid != 4243 {
		t.Errorf("the file belongs to %d:%d", st.Uid, st.Gid)
	}
	if _, err := os.ReadFile(filepath.Join(dir, "f")); err != nil {
		t.Errorf("read another user's file afterwards: %v", err)
	}
}

// open returns a view of dir by its descriptor.
func open(dir string, closed *int) func(context.Context) (*View, error) {
	return func(context.Context) (*View, error) {
		f, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		root, err := OpenRoot(f, "")
		return &View{Root: root, Close: func() error { *closed++; return f.Close() }}, err
	}
}

// TestStateOpensOnce checks when the tree is opened and closed.
func TestStateOpensOnce(t *testing.T) {
	dir, closed, opened := t.TempDir(), 0, 0
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inner := open(dir, &closed)
	counted := func(ctx context.Context) (*View, error) { opened++; return inner(ctx) }
	look := func(v *View) error { _, err := v.Root.Stat("f"); return err }
	var s State
	want := func(o, c int) {
		t.Helper()
		if opened != o || closed != c {
			t.Errorf("opened %d times and closed %d times, want %d and %d", opened, closed, o, c)
		}
	}
	for range 2 {
		if err := errors.Join(s.Use(), s.Call(t.Context(), counted, look)); err != nil {
			t.Fatal(err)
		}
	}
	want(1, 0)
	if err := errors.Join(s.Gate.Lock(t.Context()), s.Retire(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.Replaced()
	s.Gate.Unlock()
	want(1, 1)
	if err := errors.Join(s.Call(t.Context(), counted, look), s.Release()); err != nil {
		t.Fatal(err)
	}
	want(2, 1)
	if err := s.Release(); err != nil {
		t.Error(err)
	}
	want(2, 2)
	s.Stop()
	if err := errors.Join(s.Drain(true), s.Drain(true)); err != nil {
		t.Error(err)
	}
	if err := s.Call(t.Context(), counted, look); !errors.Is(err, ErrOver) {
		t.Errorf("a call afterwards: %v", err)
	}
	if err := s.Use(); !errors.Is(err, ErrOver) {
		t.Errorf("a handle afterwards: %v", err)
	}
	want(2, 2)
	if s.Generation() != 1 {
		t.Errorf("generation %d", s.Generation())
	}
}

// TestRetireTriesAgain checks that a file that a starting process still has open delays a fence and
// does not refuse it, and that one that stays open refuses it.
func TestRetireTriesAgain(t *testing.T) {
	var s State
	closed, tries := 0, 0
	fenced := func(ctx context.Context) (*View, error) {
		v, err := open(t.TempDir(), &closed)(ctx)
		v.Fence = func() error {
			if tries++; tries < 4 {
				return unix.EBUSY
			}
			return nil
		}
		return v, err
	}
	if err := s.Call(t.Context(), fenced, func(*View) error { return nil }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Retire(ctx); !errors.Is(err, unix.EBUSY) || closed != 0 {
		t.Errorf("busy, and no time left: %v", err)
	}
	if err := s.Retire(t.Context()); err != nil || closed != 1 {
		t.Errorf("busy for a moment: %v", err)
	}
}
