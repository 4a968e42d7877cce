package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A ready sandbox has no workspace yet, and its processes have irrevocably given up the right to
// mount. So the broker mounts for them: it builds the mount detached in its own namespace, enters
// the sandbox's mount namespace with one thread, and attaches it there. No process inside ever
// holds a capability, no host path is resolved inside, and no sandbox path is resolved outside.

// mounter runs work on a thread that has its own mount namespace.
type mounter struct {
	jobs chan mountJob
}

type mountJob struct {
	work func(*mountThread) error
	done chan error
}

func newMounter() *mounter {
	m := &mounter{jobs: make(chan mountJob)}
	apart(m.run)
	return m
}

// do runs work on the thread and returns its error.
func (m *mounter) do(work func(*mountThread) error) error {
	j := mountJob{work, make(chan error, 1)}
	m.jobs <- j
	return <-j.done
}

// run serves jobs on one thread, so that no other thread ever enters its namespaces: see apart.
func (m *mounter) run() {
	t := &mountThread{}
	for j := range m.jobs {
		j.done <- j.work(t)
		if t.lost {
			apart(m.run)
			return
		}
	}
}

// mountThread holds what a job may use; only its own thread calls its methods.
type mountThread struct {
	ready    bool
	mnt, ipc int  // its own namespaces, to return to
	lost     bool // it did not return
}

// pivot makes the mount at newRootBase the root, and releases the old root.
func pivot() error {
	if err := unix.Chdir(newRootBase); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach old root: %w", err)
	}
	return unix.Chdir("/")
}

// workTarget is where a mount is assembled in the thread's own root.
const workTarget = "/mount"

// prepare moves the thread into a mount namespace that has only an empty root, so that it pins none
// of the host's mounts.
func (t *mountThread) prepare() error {
	if t.ready {
		return nil
	}
	t.lost = true // until all steps are done
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare mounts: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for name, fd := range map[string]*int{"mnt": &t.mnt, "ipc": &t.ipc} {
		var err error
		if *fd, err = unix.Open("/proc/thread-self/ns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("open own namespace: %w", err)
		}
	}
	if err := unix.Mount("broker", newRootBase, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("mount own root: %w", err)
	}
	if err := pivot(); err != nil {
		return err
	}
	t.ready, t.lost = true, false
	return nil
}

// build makes a mount and returns it detached. The sources of m are open.
func (t *mountThread) build(m mount) (int, error) {
	if m.Kind == mountBind {
		return m.FD, nil
	}
	target := m.Target
	m.Target = workTarget
	var s script
	s.place(&m)
	if err := s.Run(); err != nil {
		for dir := range s.made { // left by an overlay that failed
			for unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) == nil {
			}
		}
		return -1, fmt.Errorf("make the mount for %s: %w", target, err)
	}
	defer unix.Unmount(workTarget, unix.MNT_DETACH)
	fd, err := unix.OpenTree(unix.AT_FDCWD, workTarget, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("detach mount for %s: %w", target, err)
	}
	return fd, nil
}

// inside runs work in the sandbox's mount and IPC namespaces.
func (t *mountThread) inside(b *box, work func() error) error {
	if b.mnt == nil || b.ipc == nil {
		return errors.New("the sandbox's mounts were not meant to be changed")
	}
	return t.visit(b.mnt, func() error {
		err := unix.Setns(int(b.ipc.Fd()), unix.CLONE_NEWIPC)
		if err == nil {
			err = work()
		}
		if back := unix.Setns(t.ipc, unix.CLONE_NEWIPC); back != nil {
			t.lost = true
		}
		return err
	})
}

// visit runs work in a mount namespace.
func (t *mountThread) visit(mnt *os.File, work func() error) error {
	if err := unix.Setns(int(mnt.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter mount namespace: %w", err)
	}
	err := work()
	if back := unix.Setns(t.mnt, unix.CLONE_NEWNS); back != nil {
		t.lost = true
	}
	return err
}

// put moves a detached mount to its target, whose path must not contain a symbolic link. It makes
// missing directories as the sandbox's own user. A mount without a descriptor is just a directory.
func put(fd int, m *mount, u guestUser) error {
	dir, flags := m.Target, uint64(unix.O_DIRECTORY)
	if m.File {
		dir, flags = filepath.Dir(dir), 0
	}
	if err := makeDirs(dir, u); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	if fd < 0 {
		return nil
	}
	if m.File {
		if err := asUser(u, m.makeTarget); err != nil {
			return fmt.Errorf("make %s: %w", m.Target, err)
		}
	}
	at, err := unix.Openat2(unix.AT_FDCWD, m.Target, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return fmt.Errorf("open %s: %w", m.Target, err)
	}
	defer unix.Close(at)
	if err := unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("move mount to %s: %w", m.Target, err)
	}
	return nil
}

// makeDirs makes the missing parts of a directory as the sandbox's user. The root is read-only for
// everybody inside; a writable view of it exists only during this call, in no namespace.
func makeDirs(dir string, u guestUser) error {
	var missing []string
	at := dir
	for ; at != "/"; at = filepath.Dir(at) {
		var st unix.Stat_t
		err := unix.Lstat(at, &st)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.ENOENT) {
			return err
		}
		missing = append(missing, at)
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Reverse(missing)
	return asUser(u, func() error {
		for i, dir := range missing {
			err := unix.Mkdir(dir, 0o755)
			if errors.Is(err, unix.EROFS) {
				return inRoot(func(root int) error {
					for _, dir := range missing[i:] {
						if err := unix.Mkdirat(root, strings.TrimPrefix(dir, "/"), 0o755); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// removeDir is the reverse of makeDirs, for a mount point and its empty parents. It stops at a
// directory that is not empty, is a mount, or must not be changed.
func removeDir(dir string, u guestUser) {
	_ = asUser(u, func() error {
		for ; dir != "/"; dir = filepath.Dir(dir) {
			err := unix.Rmdir(dir)
			if errors.Is(err, unix.EROFS) {
				err = inRoot(func(root int) error {
					return unix.Unlinkat(root, strings.TrimPrefix(dir, "/"), unix.AT_REMOVEDIR)
				})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// inRoot calls work with a writable view of the root's own file system, without the mounts on it.
func inRoot(work func(root int) error) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	attr := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return err
	}
	return work(fd)
}

// asUser runs work with the file permissions of the sandbox's user.
func asUser(u guestUser, work func() error) error {
	if !u.Dropped {
		return work()
	}
	// Raw calls change this thread only, unlike the functions for ids in package syscall.
	if _, _, errno := unix.RawSyscall(unix.SYS_SETFSGID, uintptr(u.OutGID), 0, 0); errno != 0 {
		return errno
	}
	defer unix.RawSyscall(unix.SYS_SETFSGID, 0, 0, 0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETFSUID, uintptr(u.OutUID), 0, 0); errno != 0 {
		return errno
	}
	defer unix.RawSyscall(unix.SYS_SETFSUID, 0, 0, 0)
	return work()
}

// openAll opens every source with the host's rights. For the mounts in owned, which the host named,
// it maps the files' owner to the guest's user by id-mapped mounts.
func (m *ownerMaps) openAll(mounts []mount, owned []int, id identity, openTree opener) error {
	mapped := map[int]bool{}
	for _, i := range owned {
		mapped[i] = true
	}
	for i := range mounts {
		p := &mounts[i]
		if p.Kind != mountBind && p.Kind != mountOverlay {
			continue
		}
		o := treeOptions{readOnly: p.ReadOnly || p.Kind == mountOverlay, device: p.Device, noFollow: p.Pinned}
		var err error
		if mapped[i] {
			if o.userNS, err = m.get(cmp.Or(p.OwnerOf, p.Source), id); err != nil {
				return err
			}
		}
		fd, err := openTree(p.Source, o)
		if err != nil {
			if p.Optional {
				p.Kind = mountDir // use a private, empty cache instead
				continue
			}
			return fmt.Errorf("open %s: %w", p.Source, err)
		}
		p.FD = fd
		if p.Kind != mountOverlay {
			continue
		}
		if fd, err = openTree(p.Upper, treeOptions{}); err != nil {
			return fmt.Errorf("open %s: %w", p.Upper, err)
		}
		p.UpperFD = fd
		for _, dir := range p.Below {
			if fd, err = openTree(dir, treeOptions{readOnly: true}); err != nil {
				return fmt.Errorf("open %s: %w", dir, err)
			}
			p.BelowFDs = append(p.BelowFDs, fd)
		}
	}
	return nil
}
