package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch  = unix.AUDIT_ARCH_X86_64
	foreignBit = 0x40000000 // x32 calls carry it
)

// modeArgs are calls that set a file's mode, with the argument it is in.
var modeArgs = map[uint32]uint32{
	unix.SYS_CHMOD: 1, unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2,
	unix.SYS_CREAT: 1, unix.SYS_MKNOD: 1, unix.SYS_MKNODAT: 2, unix.SYS_MKDIR: 1, unix.SYS_MKDIRAT: 2,
}

// openArgs are calls that may create a file, with their flags and mode.
var openArgs = map[uint32][2]uint32{unix.SYS_OPEN: {1, 2}, unix.SYS_OPENAT: {2, 3}}
