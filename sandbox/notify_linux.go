//go:build amd64 || arm64

package sandbox

import (
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A refused call is evidence only if the kernel says so. The seccomp filter sends
// the calls it refuses, and connect, to a listener: the sandbox's own supervisor,
// which lives under the same walls and is billed to the same limits as the
// command, so that a command that tries forever keeps nobody else busy. Calls
// that are not refused never come here, except connect, whose address only the
// caller's memory shows.
//
// The listener's word decides for calls that the filter refuses, and it decides
// by the registers alone, which the caller cannot change any more. What it reads
// from the caller's memory may be changed while it looks: that is for the record
// only, and such a call is always continued for the kernel and the mounts to
// decide. When the listener is gone, waiting calls fail.
//
// Not seen: names that do not resolve (there is no resolver to ask), datagrams
// sent without connect, reads of files that do not exist inside, and, without
// Config.TraceWrites, writes that a read-only mount refuses. clone3, io_uring and
// openat2, which programs try as a matter of course, are refused unrecorded.

// notice is the kernel's struct seccomp_notif: a call that waits for its answer.
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

// notices answers the calls sent to a listener and keeps what was refused, by
// command.
type notices struct {
	fd      int
	options filterOptions
	rules   *rules               // Landlock's, where they are all that keeps files apart
	command func(pid int) uint64 // whose process it is; 0 is nobody's

	mu sync.Mutex
	by map[uint64]*denials
}

// watchNotices answers until the sandbox ends. It returns nil without a listener.
func watchNotices(sp *spec, command func(int) uint64) *notices {
	listener := sp.Notify
	if listener <= 0 {
		return nil
	}
	unix.CloseOnExec(listener)
	// Answers are awaited: whoever waits runs on this processor next (Linux 6.6).
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	n := &notices{fd: listener, options: sp.filter(), command: command, by: map[uint64]*denials{}}
	if !sp.Root {
		n.rules = sp.Landlock
	}
	// The runtime's poller waits for the next call, so that an idle sandbox does
	// not hold a thread for it.
	if err := unix.SetNonblock(listener, true); err != nil {
		return nil
	}
	f := os.NewFile(uintptr(listener), "seccomp")
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	go func() {
		defer f.Close()
		for {
			err := raw.Read(func(uintptr) bool { return n.waiting() })
			if err != nil || !n.next() {
				return
			}
		}
	}()
	return n
}

// waiting reports whether a call is there; receiving would block otherwise.
func (n *notices) waiting() bool {
	p := []unix.PollFd{{Fd: int32(n.fd), Events: unix.POLLIN}}
	got, err := unix.Poll(p, 0)
	return err == nil && got > 0
}

// next answers one call; false means that there will be none any more.
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
	d, refused := n.judge(&c)
	v := verdict{id: c.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if refused != 0 {
		v.flags, v.errno = 0, -int32(refused)
	}
	if d != nil {
		if owner := n.command(int(c.pid)); n.valid(c.id) {
			n.note(owner, *d)
		}
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(n.fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&v)))
	return true
}

// valid reports whether the call still waits, and so its pid is still its own.
func (n *notices) valid(id uint64) bool {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(n.fd), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&id)))
	return errno == 0
}

// judge says what becomes of a call: refused is its error, or 0 to let the
// kernel go on with it; the denial is what to record of it, if anything.
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
	case unix.SYS_SOCKET:
		d.Wall, d.Errno, d.Rule = WallNetwork, refusedSocket(n.options.sockets), socketRuleText(n.options.sockets, c.args[0])
	}
	return d, d.Errno
}

// idSetter reports calls that would set a set-id bit. It must say of every call
// that the filter sends what the filter's own test says.
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

// callName is the name of a call that the filter may send.
func callName(nr uint32) string {
	for _, list := range [][]sysCall{forbidden, forbiddenHere, changing,
		{{unix.SYS_CLONE, "clone"}, {unix.SYS_IOCTL, "ioctl"}, {unix.SYS_SOCKET, "socket"}, {unix.SYS_FCHMOD, "fchmod"}}} {
		for _, c := range list {
			if c.nr == nr {
				return c.name
			}
		}
	}
	return pathArgs[nr].call
}

func (n *notices) note(command uint64, d Denial) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.by[command]
	if l == nil {
		if len(n.by) >= maxDenials { // of commands that ended without being asked about
			return
		}
		l = &denials{}
		n.by[command] = l
	}
	l.add(d)
}

// take returns what was refused to a command and forgets it.
func (n *notices) take(command uint64) []Denial {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.by[command]
	delete(n.by, command)
	if l == nil {
		return nil
	}
	return l.list
}
