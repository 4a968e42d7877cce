//go:build amd64 || arm64

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
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

// hasFilter says that this architecture has a filter.
const hasFilter = true

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retKill  = unix.SECCOMP_RET_KILL_PROCESS
)

func retErrno(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// Modes with these bits make a file run as another user or group.
const setIDBits = 0o6000

// cloneNamespaces are the flags of clone(2) that make namespaces.
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

// on runs body for one system call. The accumulator holds the number before and
// after; body must return or fall through to allow.
func (p *program) on(nr uint32, body func(*program)) {
	var b program
	body(&b)
	b.ret(retAllow)
	p.ifEqual(nr, uint8(len(b)))
	*p = append(*p, b...)
}

// deny answers the calls with e.
func (p *program) deny(e unix.Errno, nrs ...uint32) {
	for _, nr := range nrs {
		p.ifEqual(nr, 1)
		p.ret(retErrno(e))
	}
}

// denyMode refuses a call whose argument arg has a set-id bit.
func (p *program) denyMode(nr, arg uint32) {
	p.on(nr, func(b *program) {
		b.load(offArg(arg))
		b.ifAny(setIDBits, 1)
		b.ret(retErrno(unix.EPERM))
	})
}

// denyCreate is denyMode for open, whose mode counts only with flags that create.
func (p *program) denyCreate(nr, flags, mode uint32) {
	p.on(nr, func(b *program) {
		b.load(offArg(flags))
		b.ifAny(unix.O_CREAT|(unix.O_TMPFILE&^unix.O_DIRECTORY), 3)
		b.load(offArg(mode))
		b.ifAny(setIDBits, 1)
		b.ret(retErrno(unix.EPERM))
	})
}

// buildFilter writes the filter of this architecture. noSockets also refuses
// sockets altogether, where no network namespace confines them.
func buildFilter(noSockets bool) program {
	var p program
	p.load(offArch)
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	p.ret(retKill)
	p.load(offNr)
	if foreignBit != 0 {
		p.op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, foreignBit, 0, 1)
		p.ret(retKill)
	}
	// Its arguments are behind a pointer; every libc falls back to clone.
	p.deny(unix.ENOSYS, unix.SYS_CLONE3)
	p.on(unix.SYS_CLONE, func(b *program) {
		b.load(offArg(0))
		b.ifAny(cloneNamespaces, 1)
		b.ret(retErrno(unix.EPERM))
	})
	p.deny(unix.EPERM, forbidden...)
	// As if the kernel had none: programs then do without.
	p.deny(unix.ENOSYS, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_OPENAT2)
	p.on(unix.SYS_IOCTL, func(b *program) {
		b.load(offArg(1))
		for _, req := range []uint32{unix.TIOCSTI, unix.TIOCLINUX} {
			b.ifEqual(req, 1)
			b.ret(retErrno(unix.EPERM))
		}
	})
	for nr, arg := range modeArgs {
		p.denyMode(nr, arg)
	}
	for nr, args := range openArgs {
		p.denyCreate(nr, args[0], args[1])
	}
	p.sockets(noSockets)
	p.ret(retAllow)
	return p
}

// sockets lets through only families that namespaces confine.
func (p *program) sockets(none bool) {
	if none {
		p.deny(unix.EACCES, unix.SYS_SOCKET)
		return
	}
	p.on(unix.SYS_SOCKET, func(b *program) {
		b.load(offArg(0))
		for _, family := range []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6} {
			b.ifEqual(family, 1)
			b.ret(retAllow)
		}
		b.ifEqual(unix.AF_NETLINK, 3)
		b.load(offArg(2))
		b.ifEqual(unix.NETLINK_ROUTE, 1)
		b.ret(retAllow)
		b.ret(retErrno(unix.EAFNOSUPPORT))
	})
}

// forbidden are calls that no build needs and that reach into the kernel, into
// other processes or out of the namespaces.
var forbidden = []uint32{
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
}

// installFilter puts the calling thread, and what it executes, under the filter.
func installFilter(noSockets bool) error {
	p := buildFilter(noSockets)
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}
