//go:build amd64 || arm64

package sandbox

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
)

// The filter is a classic BPF program over struct seccomp_data (see the
// kernel's seccomp_filter.rst): nr at 0, arch at 4, arguments from 16 on, each
// eight bytes, little endian on every architecture supported here.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16
)

func offArg(n uint32) uint32 { return offArg0 + 8*n }

// hasFilter reports whether this architecture has a filter.
const hasFilter = true

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retKill  = unix.SECCOMP_RET_KILL_PROCESS
)

func retErrno(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// A mode with any of these bits makes a file run as another user or group.
const setIDBits = 0o6000

// cloneNamespaces lists the flags of clone(2) that make namespaces.
const cloneNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// program assembles a filter.
type program []unix.SockFilter

func (p *program) op(code uint16, k uint32, jt, jf uint8) {
	*p = append(*p, unix.SockFilter{Code: code, K: k, Jt: jt, Jf: jf})
}

func (p *program) load(off uint32) { p.op(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, off, 0, 0) }
func (p *program) ret(k uint32)    { p.op(unix.BPF_RET|unix.BPF_K, k, 0, 0) }

// ifEqual skips the next n instructions unless the accumulator is k.
func (p *program) ifEqual(k uint32, n uint8) {
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, n)
}

// ifAny skips the next n instructions unless the accumulator has a bit of mask.
func (p *program) ifAny(mask uint32, n uint8) {
	p.op(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, mask, 0, n)
}

// on runs body for one system call. The accumulator holds the call's number before and after; body
// must return, or fall through to allow the call.
func (p *program) on(nr uint32, body func(*program)) {
	var b program
	body(&b)
	b.ret(retAllow)
	p.ifEqual(nr, uint8(len(b)))
	*p = append(*p, b...)
}

// refuse refuses the calls with EPERM, and records them if there is a listener.
func (p *program) refuse(o filterOptions, calls []sysCall) {
	for _, c := range calls {
		p.ifEqual(c.nr, 1)
		p.ret(o.refusal(unix.EPERM))
	}
}

// deny answers the calls with e and records nothing: programs routinely try these calls and do
// without.
func (p *program) deny(e unix.Errno, nrs ...uint32) {
	for _, nr := range nrs {
		p.ifEqual(nr, 1)
		p.ret(retErrno(e))
	}
}

// denyMode refuses a call whose argument arg has a set-id bit.
func (p *program) denyMode(o filterOptions, nr, arg uint32) {
	p.on(nr, func(b *program) {
		b.load(offArg(arg))
		b.ifAny(setIDBits, 1)
		b.ret(o.refusal(unix.EPERM))
		if o.notify && o.writes {
			b.ret(retNotify)
		}
	})
}

// denyCreate is denyMode for open, whose mode counts only with flags that create a file.
func (p *program) denyCreate(o filterOptions, nr, flags, mode uint32) {
	p.on(nr, func(b *program) {
		b.load(offArg(flags))
		b.ifAny(unix.O_CREAT|(unix.O_TMPFILE&^unix.O_DIRECTORY), 3)
		b.load(offArg(mode))
		b.ifAny(setIDBits, 1)
		b.ret(o.refusal(unix.EPERM))
		if o.notify && o.writes {
			b.load(offArg(flags))
			b.ifAny(openWrites, 1)
			b.ret(retNotify)
		}
	})
}

// openWrites lists the flags of an open that could change something.
const openWrites = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// retNotify passes the call to the listener, see watch in denials_notify_linux.go.
const retNotify = unix.SECCOMP_RET_USER_NOTIF

// filterOptions are the differences between filters.
type filterOptions struct {
	sockets socketRule
	notify  bool // a listener gets the refused calls, and decides as the filter would
	files   bool // it also makes anonymous files
	writes  bool // it also gets calls that may change files, which it allows
}

// refusal returns the filter's result for error e, by way of the listener if there is one.
func (o filterOptions) refusal(e unix.Errno) uint32 {
	if o.notify {
		return retNotify
	}
	return retErrno(e)
}

// socketRule defines which sockets can be made.
type socketRule int

const (
	// socketsConfined allows the families that a network namespace confines, and Unix sockets. It
	// excludes AF_VSOCK, for example, which no namespace confines.
	socketsConfined socketRule = iota
	// socketsUnix allows only Unix sockets: the network is the host's.
	socketsUnix
	// socketsNone is for tiers at which the host's Unix sockets would be reachable.
	socketsNone
)

// buildFilter builds the filter of this architecture.
func buildFilter(o filterOptions) program {
	var p program
	p.load(offArch)
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	p.ret(retKill)
	p.load(offNr)
	if foreignBit != 0 {
		p.op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, foreignBit, 0, 1)
		p.ret(retKill)
	}
	// The arguments of clone3 are behind a pointer; every libc falls back to clone.
	p.deny(unix.ENOSYS, unix.SYS_CLONE3)
	p.on(unix.SYS_CLONE, func(b *program) {
		b.load(offArg(0))
		b.ifAny(cloneNamespaces, 1)
		b.ret(o.refusal(unix.EPERM))
	})
	p.refuse(o, forbidden)
	p.refuse(o, forbiddenHere)
	// Answer as a kernel without these calls: programs then do without.
	p.deny(unix.ENOSYS, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_OPENAT2)
	p.on(unix.SYS_IOCTL, func(b *program) {
		b.load(offArg(1))
		for _, req := range forbiddenIoctls {
			b.ifEqual(req, 1)
			b.ret(o.refusal(unix.EPERM))
		}
	})
	p.keepCoreLimit(o)
	if o.notify && o.files {
		p.ifEqual(unix.SYS_MEMFD_CREATE, 1)
		p.ret(retNotify)
	}
	for _, m := range modeArgs {
		p.denyMode(o, m.nr, m.arg)
	}
	for _, m := range openArgs {
		p.denyCreate(o, m.nr, m.flags, m.mode)
	}
	if o.notify && o.writes {
		for _, c := range changing {
			p.ifEqual(c.nr, 1)
			p.ret(retNotify)
		}
	}
	p.sockets(o)
	p.ret(retAllow)
	return p
}

// forbiddenIoctls lists requests that put characters into a terminal's input or load line
// disciplines into the kernel.
var forbiddenIoctls = []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD}

// keepCoreLimit refuses every change of RLIMIT_CORE. The limit that setLimits sets is one byte.
// Only with this value does the kernel not start the host's core handler, as root, on a command's
// core dump; with zero it does. The listener lets a wish for no core dumps succeed without effect.
func (p *program) keepCoreLimit(o filterOptions) {
	p.on(unix.SYS_PRLIMIT64, func(b *program) {
		b.load(offArg(1))
		b.ifEqual(unix.RLIMIT_CORE, 6)
		b.load(offArg(2)) // a new limit is set if the pointer is non-null in either half
		b.ifAny(^uint32(0), 1)
		b.ret(o.refusal(coreRefusal))
		b.load(offArg(2) + 4)
		b.ifAny(^uint32(0), 1)
		b.ret(o.refusal(coreRefusal))
	})
	p.on(unix.SYS_SETRLIMIT, func(b *program) {
		b.load(offArg(0))
		b.ifEqual(unix.RLIMIT_CORE, 1)
		b.ret(o.refusal(coreRefusal))
	})
}

// coreRefusal is the error for a change of RLIMIT_CORE. It means that the system does not support
// the value: gpg then goes on with a warning, and ends if the change is not permitted.
const coreRefusal = unix.EINVAL

// sockets allows only families that namespaces confine.
func (p *program) sockets(o filterOptions) {
	families := []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}
	switch o.sockets {
	case socketsUnix:
		families = families[:1]
	case socketsNone:
		families = nil
	}
	p.on(unix.SYS_SOCKET, func(b *program) {
		b.load(offArg(0))
		for _, family := range families {
			b.ifEqual(family, 1)
			b.ret(retAllow)
		}
		if o.sockets == socketsConfined {
			b.ifEqual(unix.AF_NETLINK, 3)
			b.load(offArg(2))
			b.ifEqual(unix.NETLINK_ROUTE, 1)
			b.ret(retAllow)
		}
		b.ret(o.refusal(refusedSocket(o.sockets)))
	})
	p.on(unix.SYS_SOCKETPAIR, func(b *program) { // families other than Unix make pairs too
		b.load(offArg(0))
		b.ifEqual(unix.AF_UNIX, 1)
		b.ret(retAllow)
		b.ret(retErrno(unix.EAFNOSUPPORT))
	})
	if o.notify && o.sockets == socketsConfined {
		p.ifEqual(unix.SYS_CONNECT, 1)
		p.ret(retNotify)
	}
}

// refusedSocket returns the error for a refused socket, one that programs handle: the family is not
// supported, or no socket is available.
func refusedSocket(r socketRule) unix.Errno {
	if r == socketsConfined {
		return unix.EAFNOSUPPORT
	}
	return unix.EACCES
}

// sysCall is a system call with its name.
type sysCall struct {
	nr   uint32
	name string
}

// forbidden lists calls that no build needs and that reach into the kernel, into other processes or
// out of the namespaces.
var forbidden = []sysCall{
	{unix.SYS_UNSHARE, "unshare"}, {unix.SYS_SETNS, "setns"},
	{unix.SYS_MOUNT, "mount"}, {unix.SYS_UMOUNT2, "umount2"}, {unix.SYS_PIVOT_ROOT, "pivot_root"}, {unix.SYS_CHROOT, "chroot"},
	{unix.SYS_FSOPEN, "fsopen"}, {unix.SYS_FSCONFIG, "fsconfig"}, {unix.SYS_FSMOUNT, "fsmount"}, {unix.SYS_FSPICK, "fspick"},
	{unix.SYS_MOVE_MOUNT, "move_mount"}, {unix.SYS_OPEN_TREE, "open_tree"}, {unix.SYS_OPEN_TREE_ATTR, "open_tree_attr"},
	{unix.SYS_MOUNT_SETATTR, "mount_setattr"},
	{unix.SYS_PTRACE, "ptrace"}, {unix.SYS_PROCESS_VM_READV, "process_vm_readv"}, {unix.SYS_PROCESS_VM_WRITEV, "process_vm_writev"},
	{unix.SYS_KCMP, "kcmp"}, {unix.SYS_PIDFD_GETFD, "pidfd_getfd"}, {unix.SYS_PROCESS_MADVISE, "process_madvise"},
	{unix.SYS_ADD_KEY, "add_key"}, {unix.SYS_REQUEST_KEY, "request_key"}, {unix.SYS_KEYCTL, "keyctl"},
	{unix.SYS_BPF, "bpf"}, {unix.SYS_PERF_EVENT_OPEN, "perf_event_open"}, {unix.SYS_USERFAULTFD, "userfaultfd"},
	{unix.SYS_FANOTIFY_INIT, "fanotify_init"},
	{unix.SYS_NAME_TO_HANDLE_AT, "name_to_handle_at"}, {unix.SYS_OPEN_BY_HANDLE_AT, "open_by_handle_at"},
	{unix.SYS_INIT_MODULE, "init_module"}, {unix.SYS_FINIT_MODULE, "finit_module"}, {unix.SYS_DELETE_MODULE, "delete_module"},
	{unix.SYS_KEXEC_LOAD, "kexec_load"}, {unix.SYS_KEXEC_FILE_LOAD, "kexec_file_load"}, {unix.SYS_REBOOT, "reboot"},
	{unix.SYS_SWAPON, "swapon"}, {unix.SYS_SWAPOFF, "swapoff"}, {unix.SYS_ACCT, "acct"},
	{unix.SYS_QUOTACTL, "quotactl"}, {unix.SYS_QUOTACTL_FD, "quotactl_fd"}, {unix.SYS_SYSLOG, "syslog"}, {unix.SYS_VHANGUP, "vhangup"},
	{unix.SYS_SETTIMEOFDAY, "settimeofday"}, {unix.SYS_CLOCK_SETTIME, "clock_settime"},
	{unix.SYS_CLOCK_ADJTIME, "clock_adjtime"}, {unix.SYS_ADJTIMEX, "adjtimex"},
	{unix.SYS_SETHOSTNAME, "sethostname"}, {unix.SYS_SETDOMAINNAME, "setdomainname"},
	{unix.SYS_MIGRATE_PAGES, "migrate_pages"}, {unix.SYS_MOVE_PAGES, "move_pages"},
	{unix.SYS_LOOKUP_DCOOKIE, "lookup_dcookie"}, {unix.SYS_NFSSERVCTL, "nfsservctl"},
}

// installFilter applies the filter to the calling thread and what it executes. With o.notify it
// returns the listener's descriptor, or -1 if the kernel does not provide one: then the filter
// itself refuses the calls, and nothing is recorded.
func installFilter(o filterOptions) (listener int, err error) {
	if o.notify {
		// A call that waits for its answer must not be restarted by every signal (the Go runtime
		// sends many); kernels before 5.19 do not know the flag.
		for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 0} {
			if fd, errno := setFilter(o, flags|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER); errno == 0 {
				return fd, nil
			}
		}
		// A process can have only one listener, and may already have one, for example inside
		// another sandbox.
		o.notify = false
	}
	if _, errno := setFilter(o, 0); errno != 0 {
		return -1, errno
	}
	return -1, nil
}

func setFilter(o filterOptions, flags uintptr) (int, unix.Errno) {
	p := buildFilter(o)
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	return int(fd), errno
}

// installFilter applies the seccomp filter to the process, with a listener if the kernel provides
// one; the function installFilter explains the three tries.
func (s *script) installFilter(o filterOptions) {
	noted := s.filter(o)
	flags := func(f uintptr) []initproc.Arg {
		return []initproc.Arg{initproc.N(unix.SECCOMP_SET_MODE_FILTER), initproc.N(f), noted}
	}
	first := s.May(unix.SYS_SECCOMP, flags(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)...)
	s.Else(2)
	second := s.May(unix.SYS_SECCOMP, flags(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)...)
	s.Else(1)
	o.notify = false
	s.Must("seccomp", unix.SYS_SECCOMP, initproc.N(unix.SECCOMP_SET_MODE_FILTER), initproc.N(0), s.filter(o))
	s.Pass(first, second)
}

// filter adds a filter to the script's data.
func (s *script) filter(o filterOptions) initproc.Arg {
	p := s.filters.get(o)
	code := s.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&p[0])), len(p)*int(unsafe.Sizeof(p[0]))))
	prog := unix.SockFprog{Len: uint16(len(p))}
	arg := initproc.Value(&s.Script, &prog)
	s.Link(arg, unsafe.Offsetof(prog.Filter), code)
	return arg
}

// filterCache caches filters: there are few, and every sandbox needs some.
type filterCache struct{ m sync.Map } // of program by filterOptions

func (c *filterCache) get(o filterOptions) program {
	if p, ok := c.m.Load(o); ok {
		return p.(program)
	}
	p := buildFilter(o)
	c.m.Store(o, p)
	return p
}
