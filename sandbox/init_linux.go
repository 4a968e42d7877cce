package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
)

// birthPatience is the time that an init process gets to set up its isolation.
const birthPatience = time.Minute

// wallIn writes all calls that an init process makes before it serves. The probes later show which
// of them succeeded.
func (s *script) wallIn(sp *spec, id identity) (probes wallProbes) {
	s.Must("leave the session", unix.SYS_SETSID)
	s.Wait()
	probes.sysv = s.limitSystemV(sp.Limits)
	if id.dropped {
		s.Must("drop groups", unix.SYS_SETGROUPS, initproc.N(0), initproc.N(0))
		s.Must("change group", unix.SYS_SETRESGID, initproc.N(id.inGID), initproc.N(id.inGID), initproc.N(id.inGID))
		s.Must("change user", unix.SYS_SETRESUID, initproc.N(id.inUID), initproc.N(id.inUID), initproc.N(id.inUID))
	}
	s.setCapabilities(append([]uintptr{unix.CAP_SYS_RESOURCE}, setupCaps...))
	s.enterRoot(sp)
	s.limitCounted()
	probes.maxPID = s.limitPIDs(sp.Limits)
	s.maskProc()
	s.dropPrivileges()
	probes.rules = s.addLandlock(sp)
	s.setLimits(sp.Limits)
	probes.written = s.tryToWrite()
	s.Must("hide memory", unix.SYS_PRCTL, initproc.N(unix.PR_SET_DUMPABLE), initproc.N(0))
	// Last: from here on refused calls are sent to a listener, and wait for its answer.
	s.installFilter(sp.filter())
	return probes
}

// wallProbes are the bits of the answer that report the results of calls that may fail.
type wallProbes struct {
	maxPID  uint64
	sysv    uint64   // System V objects are limited
	rules   uint64   // Landlock restricts writes to their places
	written []uint64 // one for each directory of shouldBeReadOnly, and one for openSetting
}

func (s *script) setCapabilities(caps []uintptr) {
	var data [2]unix.CapUserData
	for _, c := range caps {
		data[c/32].Effective |= 1 << (c % 32)
		data[c/32].Permitted |= 1 << (c % 32)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	s.Must("set capabilities", unix.SYS_CAPSET, initproc.Value(&s.Script, &hdr), initproc.Value(&s.Script, &data))
}

// limitPIDs limits the PIDs of the namespace; this holds even if the count of a user's processes
// does not. It needs Linux 6.14; on older kernels the setting is the host's own, and the write is
// refused without effect.
func (s *script) limitPIDs(l Limits) uint64 {
	if l.Processes <= 0 {
		return 0
	}
	return s.writeFile(pidMax, strconv.FormatInt(maxPIDs(l), 10))
}

// limitCounted sets limits for the sandbox's user namespace on resources that the kernel also
// counts for the user who made the sandbox. Without them one sandbox could use up all of the host's
// share.
func (s *script) limitCounted() {
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		s.writeFile("/proc/sys/user/"+name, counted[name])
	}
}

// counted lists the limits of a sandbox's user namespace. The host's own limit of inotify instances
// is 128 by default.
var counted = map[string]string{
	"max_inotify_instances": "32",
}

// limitSystemV limits the System V objects of the IPC namespace, which by default has practically
// no limit. Only the machine's root may write these settings, in a namespace that maps no root of
// its own. If the host is root, the process is that root until it changes its user.
func (s *script) limitSystemV(l Limits) (probe uint64) {
	if l.SharedMemory < 0 {
		return 0
	}
	for _, o := range systemV(l) {
		probe |= s.writeFile("/proc/sys/kernel/"+o.name, o.value)
	}
	return probe
}

// sysctl is a setting of /proc/sys.
type sysctl struct{ name, value string }

// systemV returns the limits of an IPC namespace. Semaphores and messages take the kernel's memory;
// their limits are the long-standing defaults of most systems.
func systemV(l Limits) []sysctl {
	pages := max(l.SharedMemory/int64(os.Getpagesize()), 1)
	return []sysctl{
		{"shmall", strconv.FormatInt(pages, 10)},          // of all segments together, in pages
		{"shmmax", strconv.FormatInt(l.SharedMemory, 10)}, // of one segment
		{"sem", "250 32000 100 128"},                      // per set, in total, per call; number of sets
		{"msgmni", "128"},                                 // number of queues, of 16 KiB each
	}
}

func (s *script) setLimits(l Limits) {
	for _, r := range rlimits {
		if v, ok := r.wanted(l); ok {
			lim := unix.Rlimit{Cur: v, Max: v}
			s.Must("set "+r.name, unix.SYS_PRLIMIT64, initproc.N(0), initproc.N(r.which), initproc.Value(&s.Script, &lim), initproc.N(0))
		}
	}
}

// dropPrivileges irrevocably gives up all capabilities.
func (s *script) dropPrivileges() {
	s.Must("set no_new_privs", unix.SYS_PRCTL, initproc.N(unix.PR_SET_NO_NEW_PRIVS), initproc.N(1), initproc.N(0), initproc.N(0), initproc.N(0))
	s.Must("clear ambient capabilities", unix.SYS_PRCTL, initproc.N(unix.PR_CAP_AMBIENT), initproc.N(unix.PR_CAP_AMBIENT_CLEAR_ALL), initproc.N(0), initproc.N(0), initproc.N(0))
	for c := range s.caps {
		// EINVAL: c is above the kernel's last capability
		s.MustBut(unix.EINVAL, "drop capability "+strconv.Itoa(c), unix.SYS_PRCTL, initproc.N(unix.PR_CAPBSET_DROP), initproc.N(c), initproc.N(0), initproc.N(0), initproc.N(0))
	}
	s.setCapabilities(nil)
}

// knownCaps returns the number of capabilities that the kernel knows, or the largest possible
// number if that cannot be found out.
func knownCaps() int {
	const most = 64
	b, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return most
	}
	last, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || last < unix.CAP_LAST_CAP || last >= most {
		return most
	}
	return last + 1
}

// tryToWrite tries to write in directories in which nothing should be writable.
func (s *script) tryToWrite() (bits []uint64) {
	for _, dir := range shouldBeReadOnly {
		name := s.String(dir + "/.luthier-write-probe")
		fd := s.May(unix.SYS_OPENAT, here, name, initproc.N(unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC), initproc.N(0o600))
		bits = append(bits, s.Probe())
		s.May(unix.SYS_CLOSE, fd)
		s.May(unix.SYS_UNLINKAT, here, name, initproc.N(0))
	}
	fd := s.May(unix.SYS_OPENAT, here, s.String(openSetting), initproc.N(unix.O_WRONLY|unix.O_CLOEXEC))
	bits = append(bits, s.Probe())
	s.May(unix.SYS_CLOSE, fd)
	return bits
}

// birth forks a sandbox's init process and returns when it has set up its isolation. control is the
// host's end of its socket.
func (d *brokerd) birth(o *spawnOrder, by *initproc.Parent) (b *box, control *os.File, f *facts, err error) {
	sp, id := o.Spec, o.User.identity()
	defer func() { closeMounts(sp.Mounts) }()
	if err := d.openFor(sp.Mounts, o.Owned, id); err != nil {
		return nil, nil, nil, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, nil, os.NewSyscallError("socketpair", err)
	}
	// Use the poller: a thread blocked in a system call makes the runtime keep checking for its
	// end.
	_ = unix.SetNonblock(fds[0], true)
	control = os.NewFile(uintptr(fds[0]), "control")
	b = &box{gone: make(chan struct{}), user: o.User, tell: os.NewFile(uintptr(fds[1]), "control")}
	s := script{filters: &d.filters, caps: d.caps}
	probes := s.wallIn(sp, id)
	d.forkServers.births.RLock()
	p, err := by.Fork(&s.Script, fds[1], cloneFlags(sp))
	if err != nil {
		d.forkServers.births.RUnlock()
		closeFiles([]*os.File{control, b.tell})
		return nil, nil, nil, explainClone(err)
	}
	defer p.Scripted()
	b.pid = p.PID
	fd, err := unix.PidfdOpen(p.PID, 0) // it is our child and has not been waited for
	if err == nil {
		b.fd, err = newPidfd(fd)
	}
	if err != nil {
		_ = unix.Kill(p.PID, unix.SIGKILL)
		closeFiles([]*os.File{control, b.tell})
		for { // otherwise its PID could be reused, and it may still use the script's memory
			if _, waitErr := unix.Wait4(p.PID, nil, 0, nil); waitErr != unix.EINTR {
				break
			}
		}
		d.forkServers.births.RUnlock()
		return nil, nil, nil, err
	}
	d.adopt(b)
	d.forkServers.births.RUnlock()
	// The process has not run anything yet, so everything it does is done as its user and in its
	// control groups.
	if err = b.prepare(o, id, control); err == nil {
		f, err = b.ready(control, &s, sp, id, probes)
	}
	if err != nil {
		_ = b.fd.Kill()
		control.Close()
		<-b.gone // the script's memory is in use until then
		return nil, nil, nil, err
	}
	return b, control, f, nil
}

// cloneFlags returns the namespaces that an init process is created in.
func cloneFlags(sp *spec) uintptr {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP)
	if sp.HostNet {
		flags &^= unix.CLONE_NEWNET
	}
	return flags
}

// prepare maps the process's user, puts it into control groups, and lets it go on.
func (b *box) prepare(o *spawnOrder, id identity, control *os.File) error {
	dir := "/proc/" + strconv.Itoa(b.pid) + "/"
	write := func(name, text string) error { return os.WriteFile(dir+name, []byte(text), 0) }
	err := write("uid_map", fmt.Sprintf("%d %d 1\n", id.inUID, id.outUID))
	if err == nil && !id.dropped {
		err = write("setgroups", "deny")
	}
	if err == nil {
		err = write("gid_map", fmt.Sprintf("%d %d 1\n", id.inGID, id.outGID))
	}
	if err != nil {
		return fmt.Errorf("map the sandbox's user: %w", err)
	}
	if err := b.enter(o.Cgroups); err != nil {
		return err
	}
	_, err = control.Write([]byte{1})
	return err
}

// ready waits until the process reports that its isolation is set up, and checks it.
func (b *box) ready(control *os.File, s *script, sp *spec, id identity, probes wallProbes) (*facts, error) {
	if err := control.SetReadDeadline(time.Now().Add(birthPatience)); err != nil {
		return nil, err
	}
	body, oob := make([]byte, 256), make([]byte, unix.CmsgSpace(4))
	n, oobn, err := receiveFrom(control, body, oob)
	if err != nil {
		return nil, fmt.Errorf("wait for the first process: %w", err)
	}
	files, err := rights(oob[:oobn])
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errors.New("the first process ended during set-up")
	}
	a, err := initproc.ParseAnswer(body[:n])
	if err == nil && a.Event == initproc.Refused {
		err = s.Explain(&a)
	}
	if err != nil {
		closeFiles(files)
		return nil, err
	}
	if len(files) > 0 {
		if err := b.watchNotices(sp, files[0]); err != nil {
			return nil, err
		}
	}
	if sp.Watch > 0 {
		if err := b.watchMemory(sp.Watch, !sp.HostNet); err != nil {
			return nil, err
		}
	}
	return b.observe(sp, id, &a, probes, len(files) > 0)
}

// receiveFrom waits for a message on a non-blocking socket.
func receiveFrom(f *os.File, body, oob []byte) (n, oobn int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	waitErr := raw.Read(func(fd uintptr) bool {
		for {
			n, oobn, _, _, err = unix.Recvmsg(int(fd), body, oob, unix.MSG_CMSG_CLOEXEC)
			if err != unix.EINTR {
				return err != unix.EAGAIN
			}
		}
	})
	if waitErr != nil {
		err = waitErr
	}
	return n, oobn, err
}
