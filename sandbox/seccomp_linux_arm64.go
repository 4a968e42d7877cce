package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch  = unix.AUDIT_ARCH_AARCH64
	foreignBit = 0
)

// modeArgs are calls that set a file's mode, with the argument it is in.
var modeArgs = map[uint32]uint32{
	unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_MKNODAT: 2, unix.SYS_MKDIRAT: 2,
}

// openArgs are calls that may create a file, with their flags and mode.
var openArgs = map[uint32][2]uint32{unix.SYS_OPENAT: {2, 3}}
