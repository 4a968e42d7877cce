package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// change carries out an order to change a sandbox's mounts. Nothing but the
// supervisor may run inside meanwhile; where the order is to verify, that is
// looked at.
func (d *brokerd) change(o *mountOrder) error {
	if o == nil {
		return errors.New("broker: incomplete order")
	}
	d.mu.Lock()
	b := d.boxes[o.Key]
	d.mu.Unlock()
	if b == nil {
		return fmt.Errorf("broker: change mounts: %w", os.ErrProcessDone)
	}
	if err := d.openFor(o); err != nil {
		closeMounts(o.Add)
		return err
	}
	return d.mounter.do(func(t *mountThread) error {
		// From here on descriptors are closed one by one as they are used.
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
			if m.Kind != mountDir { // a directory is made where it belongs
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

// openFor opens the sources of what is added, as the host sees them.
func (d *brokerd) openFor(o *mountOrder) error {
	if id := o.User.identity(); id.dropped {
		return d.owners.openAll(o.Add, o.Owned, id, func(fd int) int { return fd })
	}
	return openSources(o.Add)
}

// closeMounts closes the sources of mounts that will not be made.
func closeMounts(mounts []mount) {
	for _, m := range mounts {
		for _, fd := range append([]int{m.FD, m.UpperFD}, m.BelowFDs...) {
			if fd > 2 {
				unix.Close(fd)
			}
		}
	}
}

// apply is the part that happens inside.
func (b *box) apply(o *mountOrder, fds []int) error {
	if o.Verify {
		if err := verifyQuiet(); err != nil {
			return err
		}
	}
	for _, target := range o.Drop {
		if err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("unmount %s: %w", target, err)
		}
		if slices.Contains(o.Forget, target) {
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
	now, err := fingerprint()
	if err != nil {
		return err
	}
	if b.baseline == "" {
		b.baseline = now
	}
	if now != b.baseline {
		return fmt.Errorf("the sandbox is not as it was: %s", firstDifference(b.baseline, now))
	}
	return nil
}

// verifyQuiet looks, with the kernel's eyes rather than the supervisor's, for
// what outlives the processes of a sandbox. Any doubt is an error.
func verifyQuiet() error {
	pids, err := numbered("/proc")
	if err != nil {
		return err
	}
	if !slices.Equal(pids, []string{"1"}) {
		return fmt.Errorf("processes %v still run", pids)
	}
	for _, kind := range []string{"shm", "sem", "msg"} {
		b, err := os.ReadFile("/proc/sysvipc/" + kind)
		if err != nil {
			return err
		}
		if bytes.Count(b, []byte("\n")) > 1 { // below the heading
			return fmt.Errorf("System V objects (%s) are left", kind)
		}
	}
	return noQueues()
}

// noQueues looks for POSIX message queues, which are seen only where their file
// system is mounted; here, in no namespace.
func noQueues() error {
	ctx, err := unix.Fsopen("mqueue", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.ENODEV) {
		return nil // a kernel without them
	}
	if err != nil {
		return fmt.Errorf("open message queues: %w", err)
	}
	defer unix.Close(ctx)
	if err := unix.FsconfigCreate(ctx); err != nil {
		return fmt.Errorf("open message queues: %w", err)
	}
	mnt, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return fmt.Errorf("open message queues: %w", err)
	}
	defer unix.Close(mnt)
	dir, err := unix.Openat(mnt, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
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

// fingerprint is what one lease could change for the next: the mounts, and what
// commands inherit of the supervisor, which runs as their user and so can be
// given other limits, priorities and processors by them.
func fingerprint() (string, error) {
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
	for _, name := range []string{"limits", "oom_score_adj"} {
		b, err := os.ReadFile("/proc/1/" + name)
		if err != nil {
			return "", err
		}
		out = append(out, strings.Split(strings.TrimSpace(string(b)), "\n")...)
	}
	tasks, err := numbered("/proc/1/task")
	if err != nil {
		return "", err
	}
	var threads []string
	for _, task := range tasks {
		s, err := threadPrint(filepath.Join("/proc/1/task", task))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		threads = append(threads, s)
	}
	slices.Sort(threads)
	out = append(out, slices.Compact(threads)...)
	return strings.Join(out, "\n"), nil
}

// threadPrint is what a thread's children inherit of its scheduling.
func threadPrint(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return "", err
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // from the third field on
	if len(f) < 39 {
		return "", fmt.Errorf("%s/stat: %d fields", dir, len(f))
	}
	st, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("thread nice %s real-time %s policy %s processors %s",
		f[16], f[37], f[38], parseStatus(st)["Cpus_allowed"]), nil
}

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

// firstDifference shows what changed, for whoever wonders why a sandbox was not
// used again.
func firstDifference(a, b string) string {
	old, now := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(old), len(now)) {
		if old[i] != now[i] {
			return fmt.Sprintf("%q, was %q", now[i], old[i])
		}
	}
	return fmt.Sprintf("%d facts, were %d", len(now), len(old))
}
