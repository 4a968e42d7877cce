//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/memfiles"
)

// A refused call is recorded only on the kernel's word. The seccomp filter sends the calls it
// refuses, and connect, to a listener: the broker that made the sandbox, or the host if there is a
// supervisor. Calls that are not refused never come here, except connect, whose address only the
// caller's memory shows.
//
// The listener decides about calls that the filter refuses, and it decides by the registers alone,
// which the caller can no longer change. What it reads from the caller's memory may change while it
// reads. It is therefore used only for the record, and such a call is always continued, so that the
// kernel and the mounts decide. If the listener is gone, waiting calls fail.
//
// Not seen: names that do not resolve (there is no resolver to ask), datagrams sent without
// connect, reads of files that do not exist inside, and, without Config.TraceWrites, writes that a
// read-only mount refuses. clone3, io_uring and openat2, which programs routinely try, are refused
// without a record.

// notice is the kernel's struct seccomp_notif: a call that waits for an answer.
type notice struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// verdict is the kernel's struct seccomp_notif_resp.
type verdict struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// notices answers the calls sent to a listener.
type notices struct {
	fd      int
	options filterOptions
	rules   *rules // Landlock's rules, if nothing else separates the files
	// owner finds the command that a process belongs to, and returns the function that records a
	// denial for it.
	owner func(pid int) func(Denial)
	// mayWrite returns why a call could not change the path, or 0.
	mayWrite func(c *notice, path string) unix.Errno
	files    *memfiles.Files // makes anonymous files, if the filter sends for them
}

// watch answers until the sandbox ends. It takes over the listener.
func (n *notices) watch(listener int) (over <-chan struct{}, err error) {
	n.fd = listener
	unix.CloseOnExec(listener)
	// Whoever waits for an answer runs next on this processor (Linux 6.6).
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	// The runtime's poller waits for the next call, so that an idle sandbox does not occupy a
	// thread.
	if err := unix.SetNonblock(listener, true); err != nil {
		unix.Close(listener)
		return nil, os.NewSyscallError("fcntl", err)
	}
	f := os.NewFile(uintptr(listener), "seccomp")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer f.Close()
		for {
			over := false
			err := raw.Read(func(uintptr) (ready bool) {
				ready, over = n.waiting()
				return ready || over
			})
			if err != nil || over || !n.next() {
				return
			}
		}
	}()
	return done, nil
}

// waiting reports whether a call is waiting, since receiving would otherwise block, and whether no
// more can come because all processes that could make one are gone.
func (n *notices) waiting() (ready, over bool) {
	p := []unix.PollFd{{Fd: int32(n.fd), Events: unix.POLLIN}}
	if got, err := unix.Poll(p, 0); err != nil || got == 0 {
		return false, false
	}
	return p[0].Revents&unix.POLLIN != 0, p[0].Revents&(unix.POLLHUP|unix.POLLNVAL) != 0
}

// next answers one call; it returns false if no more can come.
func (n *notices) next() bool {
	var c notice
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(n.fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&c)))
	switch errno {
	case 0:
	case unix.EINTR, unix.ENOENT, unix.EAGAIN: // its caller was killed
		return true
	default:
		return false
	}
	if c.nr == unix.SYS_MEMFD_CREATE && n.files != nil {
		n.makeFile(&c)
		return true
	}
	if lowersCore(&c) {
		n.send(&verdict{id: c.id}) // the call returns with success, and the kernel has changed nothing
		return true
	}
	d, refused := n.judge(&c)
	v := verdict{id: c.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if refused != 0 {
		v.flags, v.errno = 0, -int32(refused)
	}
	if d != nil {
		if record := n.owner(int(c.pid)); n.valid(c.id) {
			record(*d)
		}
	}
	n.send(&v)
	return true
}

func (n *notices) send(v *verdict) {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(n.fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(v)))
}

// addition is the kernel's struct seccomp_notif_addfd.
type addition struct {
	id       uint64
	flags    uint32
	source   uint32
	target   uint32
	newFlags uint32
}

// makeFile answers memfd_create with a file that the broker keeps too. The name is only for show.
func (n *notices) makeFile(c *notice) {
	name := peek(c.pid, c.args[0], make([]byte, maxFileName+1))
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	fd, errno := n.files.Make(string(name[:min(len(name), maxFileName)]), int(uint32(c.args[1])))
	if errno == 0 {
		defer unix.Close(fd)
		a := addition{id: c.id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, source: uint32(fd)}
		if c.args[1]&unix.MFD_CLOEXEC != 0 {
			a.newFlags = unix.O_CLOEXEC
		}
		unsignalled(func() {
			_, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(n.fd), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&a)))
		})
		if errno == 0 {
			return // the call has returned with the descriptor
		}
	}
	n.send(&verdict{id: c.id, errno: -int32(errno)})
}

// unsignalled calls do on a thread that no signal interrupts. The kernel marks a call as answered
// before it adds the descriptor; if a signal of Go's scheduler interrupts that, the call returns 0,
// which its caller takes for a new file and which is its standard input.
func unsignalled(do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i]--
	}
	if unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before) == nil {
		defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	}
	do()
}

// maxFileName is the longest name of an anonymous file.
const maxFileName = 249

// valid reports whether the call still waits, and its PID therefore still belongs to the caller.
func (n *notices) valid(id uint64) bool {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(n.fd), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&id)))
	return errno == 0
}

// judge decides about a call. refused is the error it gets, or 0 to let the kernel continue it; d
// is the denial to record, if any.
func (n *notices) judge(c *notice) (d *Denial, refused unix.Errno) {
	nr := uint32(c.nr)
	if nr == unix.SYS_CONNECT && n.options.sockets == socketsConfined {
		return n.connecting(c), 0
	}
	if name, ok := idSetter(nr, &c.args); ok {
		return &Denial{Call: name, Path: n.path(c), Errno: unix.EPERM, Wall: WallPrivileges,
			Rule: "no file may get a set-user-id or set-group-id bit"}, unix.EPERM
	}
	if _, ok := pathArgs[nr]; ok && n.options.writes {
		return n.changing(c), 0
	}
	if nr == unix.SYS_FCHMOD && n.options.writes {
		return nil, 0
	}
	d = &Denial{Call: callName(nr), Errno: unix.EPERM, Wall: WallSyscalls, Rule: "the system call has no place in a build"}
	switch nr {
	case unix.SYS_CLONE:
		d.Rule = "no new namespaces"
	case unix.SYS_IOCTL:
		d.Rule = "no characters into a terminal's input, no line disciplines"
	case unix.SYS_MEMFD_CREATE: // nobody makes them here, so they are not counted
		return nil, 0
	case unix.SYS_PRLIMIT64, unix.SYS_SETRLIMIT:
		d.Wall, d.Errno, d.Rule = WallLimits, coreRefusal, "the limit of core dumps stays: with another one the kernel would start the host's core handler"
	case unix.SYS_SOCKET:
		d.Wall, d.Errno, d.Rule = WallNetwork, refusedSocket(n.options.sockets), socketRuleText(n.options.sockets, c.args[0])
	}
	return d, d.Errno
}

// idSetter reports calls that would set a set-id bit. For every call that the filter sends, it must
// decide as the filter's own test does.
func idSetter(nr uint32, args *[6]uint64) (string, bool) {
	for _, m := range modeArgs {
		if m.nr == nr {
			return callName(nr), args[m.arg]&setIDBits != 0
		}
	}
	for _, m := range openArgs {
		if m.nr == nr {
			creates := args[m.flags]&(unix.O_CREAT|(unix.O_TMPFILE&^unix.O_DIRECTORY)) != 0
			return callName(nr), creates && args[m.mode]&setIDBits != 0
		}
	}
	return "", false
}

// callName returns the name of a call that the filter may send.
func callName(nr uint32) string {
	for _, list := range [][]sysCall{forbidden, forbiddenHere, changing,
		{{unix.SYS_CLONE, "clone"}, {unix.SYS_IOCTL, "ioctl"}, {unix.SYS_SOCKET, "socket"}, {unix.SYS_FCHMOD, "fchmod"},
			{unix.SYS_PRLIMIT64, "prlimit64"}, {unix.SYS_SETRLIMIT, "setrlimit"}}} {
		for _, c := range list {
			if c.nr == nr {
				return c.name
			}
		}
	}
	return pathArgs[nr].call
}
