package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// change carries out an order to change a sandbox's mounts. Meanwhile only the supervisor may run
// inside; with Verify, that is checked.
func (d *brokerd) change(o *mountOrder) error {
	if o == nil {
		return errors.New("broker: incomplete order")
	}
	b := d.box(o.Key)
	if b == nil {
		return fmt.Errorf("broker: change mounts: %w", os.ErrProcessDone)
	}
	var again *os.File
	_ = d.mounter.do(func(*mountThread) error {
		again = b.takeRetained(o)
		return nil
	})
	if again != nil {
		defer again.Close()
	} else if err := d.openFor(o.Add, o.Owned, o.User.identity()); err != nil {
		closeMounts(o.Add)
		return err
	}
	return d.mounter.do(func(t *mountThread) error {
		// From here on each descriptor is closed once it is used.
		select {
		case <-b.gone:
			closeMounts(o.Add)
			return fmt.Errorf("broker: change mounts: %w", os.ErrProcessDone)
		default:
		}
		if err := t.prepare(); err != nil {
			closeMounts(o.Add)
			return err
		}
		fds := make([]int, 0, len(o.Add))
		defer func() {
			for _, fd := range fds {
				if fd >= 0 {
					unix.Close(fd)
				}
			}
		}()
		for i, m := range o.Add {
			fd := -1
			var err error
			if again != nil {
				fd, err = unix.FcntlInt(again.Fd(), unix.F_DUPFD_CLOEXEC, 3)
			} else if m.Kind != mountDir { // plain directories are made at their target
				fd, err = t.build(m)
			}
			if err != nil {
				closeMounts(o.Add[i+1:])
				return err
			}
			fds = append(fds, fd)
		}
		return t.inside(b, func() error { return b.apply(o, fds) })
	})
}

// takeRetained returns the retained mount if it is exactly what o adds. Otherwise it closes the
// retained mount, since others may now use its directories.
func (b *box) takeRetained(o *mountOrder) *os.File {
	if b.retained == nil || len(o.Add) == 0 {
		return nil
	}
	f, same := b.retained, len(o.Add) == 1 && o.Add[0].Key != "" && o.Add[0].Key == b.retainedKey
	b.retained, b.retainedKey = nil, ""
	if same && refresh(f) == nil {
		return f
	}
	f.Close()
	return nil
}

// refresh makes a file system drop its cached name lookups, so that changes the host has since made
// below an overlay become visible.
func refresh(mnt *os.File) error {
	fs, err := unix.Fspick(int(mnt.Fd()), "", unix.FSPICK_CLOEXEC|unix.FSPICK_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	return unix.FsconfigReconfigure(fs)
}

// openFor opens the sources of mounts with the host's rights: the unprivileged user of a root host
// could not reach them by their paths.
func (d *brokerd) openFor(mounts []mount, owned []int, id identity) error {
	if id.dropped {
		return d.owners.openAll(mounts, owned, id, d.disks.open)
	}
	return openSources(mounts, d.disks.open)
}

// closeMounts closes the sources of mounts that will not be made.
func closeMounts(mounts []mount) {
	for i := range mounts {
		m := &mounts[i]
		for _, fd := range append([]int{m.FD, m.UpperFD}, m.BelowFDs...) {
			if fd > 2 {
				unix.Close(fd)
			}
		}
		m.FD, m.UpperFD, m.BelowFDs = 0, 0, nil
	}
}

// apply does the part of the change that happens inside.
func (b *box) apply(o *mountOrder, fds []int) error {
	if o.Verify {
		if err := b.verifyQuiet(); err != nil {
			return err
		}
	}
	for _, dir := range o.Empty {
		if err := b.stillEmpty(dir); err != nil {
			return err
		}
	}
	if b.retained == nil && b.retainedAt != "" { // it was taken out: for the same place or for nothing
		if len(o.Add) != 1 || o.Add[0].Target != b.retainedAt {
			removeDir(b.retainedAt, o.User)
		}
		b.retainedAt = ""
	}
	for _, target := range o.Drop {
		kept := false
		if target == o.Retain {
			if fd, err := unix.OpenTree(unix.AT_FDCWD, target, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW); err == nil {
				b.retained, b.retainedKey, kept = os.NewFile(uintptr(fd), "retained"), o.As, true
			}
		}
		if err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("unmount %s: %w", target, err)
		}
		switch {
		case kept && !slices.ContainsFunc(renewed, func(dir string) bool { return within(target, dir) }):
			b.retainedAt = target // keep the directory that it was mounted on
		case slices.Contains(o.Forget, target):
			removeDir(target, o.User)
		}
	}
	for i, m := range o.Add {
		if err := put(fds[i], &m, o.User); err != nil {
			return err
		}
	}
	if !o.Verify {
		return nil
	}
	now, err := fingerprint(b.pid)
	if err != nil {
		return err
	}
	if b.baseline == "" {
		b.baseline = now
		b.empty = map[string]string{}
		for _, dir := range renewed {
			b.empty[dir] = fingerprintOf(dir)
		}
	}
	if now != b.baseline {
		return fmt.Errorf("the sandbox is not as it was: %s", firstDifference(b.baseline, now))
	}
	return nil
}

// stillEmpty checks that a directory inside is unchanged since before its first use.
func (b *box) stillEmpty(dir string) error {
	if b.empty[dir] == "" || fingerprintOf(dir) != b.empty[dir] {
		return fmt.Errorf("%s: something is left: %w", dir, os.ErrExist)
	}
	return nil
}

// verifyQuiet asks the kernel, not the supervisor, for objects that outlive the processes of a
// sandbox. Any doubt is an error.
func (b *box) verifyQuiet() error {
	pids, err := numbered("/proc")
	if err != nil {
		return err
	}
	if !slices.Equal(pids, []string{"1"}) {
		return fmt.Errorf("processes %v still run", pids)
	}
	for _, c := range []struct {
		kind    string
		nr, cmd uintptr
		used    int // offset of the object count in struct shminfo, seminfo or msginfo
	}{
		{"shm", unix.SYS_SHMCTL, 14 /* SHM_INFO */, 0},
		{"sem", unix.SYS_SEMCTL, 19 /* SEM_INFO */, 7 * 4}, // semusz
		{"msg", unix.SYS_MSGCTL, 12 /* MSG_INFO */, 0},     // msgpool
	} {
		var info [128]byte
		args := [4]uintptr{0, c.cmd, uintptr(unsafe.Pointer(&info)), 0}
		if c.kind == "sem" {
			args = [4]uintptr{0, 0, c.cmd, uintptr(unsafe.Pointer(&info))}
		}
		if _, _, errno := unix.Syscall6(c.nr, args[0], args[1], args[2], args[3], 0, 0); errno != 0 {
			return os.NewSyscallError(c.kind+"ctl", errno)
		}
		if n := *(*int32)(unsafe.Pointer(&info[c.used])); n != 0 {
			return fmt.Errorf("%d System V objects (%s) are left", n, c.kind)
		}
	}
	return b.noQueues()
}

// noQueues looks for POSIX message queues. They are visible only if their file system is mounted;
// this mount is in no namespace.
func (b *box) noQueues() error {
	if b.queues == nil {
		fs, err := unix.Fsopen("mqueue", unix.FSOPEN_CLOEXEC)
		if errors.Is(err, unix.ENODEV) {
			return nil // the kernel does not support them
		}
		if err != nil {
			return fmt.Errorf("open message queues: %w", err)
		}
		defer unix.Close(fs)
		if err := unix.FsconfigCreate(fs); err != nil {
			return fmt.Errorf("open message queues: %w", err)
		}
		mnt, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
		if err != nil {
			return fmt.Errorf("open message queues: %w", err)
		}
		b.queues = os.NewFile(uintptr(mnt), "mqueue")
	}
	dir, err := unix.Openat(int(b.queues.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("read message queues: %w", err)
	}
	f := os.NewFile(uintptr(dir), "mqueue")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("read message queues: %w", err)
	}
	if len(names) > 0 {
		return fmt.Errorf("%d message queues are left", len(names))
	}
	return nil
}

// fingerprint describes what one lease could change for the next: the mounts, and what commands
// inherit from the supervisor. The supervisor runs as their user, so commands can change its
// limits, priorities and processors. It has one thread; pid is its number as the caller sees it.
func fingerprint(pid int) (string, error) {
	var out []string
	info, err := os.ReadFile("/proc/1/mountinfo")
	if err != nil {
		return "", err
	}
	var mounts []string
	for line := range strings.Lines(string(info)) {
		// id parent dev root target options ... - type source super-options
		f := strings.Fields(line)
		if len(f) < 10 {
			return "", fmt.Errorf("mountinfo line %q", line)
		}
		dash := slices.Index(f, "-")
		if dash < 0 || dash+1 >= len(f) {
			return "", fmt.Errorf("mountinfo line %q", line)
		}
		mounts = append(mounts, "mount "+f[4]+" "+f[5]+" "+f[dash+1])
	}
	slices.Sort(mounts)
	out = append(out, mounts...)
	adj, err := os.ReadFile("/proc/1/oom_score_adj")
	if err != nil {
		return "", err
	}
	out = append(out, "oom_score_adj "+strings.TrimSpace(string(adj)))
	for which := range rlimitCount {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, which, nil, &now); err != nil {
			return "", fmt.Errorf("read limit %d: %w", which, err)
		}
		out = append(out, fmt.Sprintf("limit %d: %d of %d", which, now.Cur, now.Max))
	}
	attr, err := unix.SchedGetAttr(pid, 0)
	if err != nil {
		return "", fmt.Errorf("read scheduling: %w", err)
	}
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &cpus); err != nil {
		return "", fmt.Errorf("read processors: %w", err)
	}
	io, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, 1 /* IOPRIO_WHO_PROCESS */, uintptr(pid), 0)
	if errno != 0 {
		return "", os.NewSyscallError("ioprio_get", errno)
	}
	out = append(out, fmt.Sprintf("policy %d flags %d nice %d priority %d slack %d disks %d processors %x",
		attr.Policy, attr.Flags, attr.Nice, attr.Priority, attr.Runtime, io, cpus))
	return strings.Join(out, "\n"), nil
}

// rlimitCount is the number of limits that Linux has.
const rlimitCount = 16

// numbered lists the entries of a directory whose names are numbers.
func numbered(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(n string) bool {
		_, err := strconv.Atoi(n)
		return err != nil
	}), nil
}

// firstDifference returns what changed, to explain why a sandbox was not reused.
func firstDifference(a, b string) string {
	old, now := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(old), len(now)) {
		if old[i] != now[i] {
			return fmt.Sprintf("%q, was %q", now[i], old[i])
		}
	}
	return fmt.Sprintf("%d facts, were %d", len(now), len(old))
}
