package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch  = unix.AUDIT_ARCH_X86_64
	foreignBit = 0x40000000 // set in x32 calls
)

// modeArgs lists calls that set a file's mode, with the argument that holds it.
var modeArgs = []struct{ nr, arg uint32 }{
	{unix.SYS_CHMOD, 1}, {unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2},
	{unix.SYS_CREAT, 1}, {unix.SYS_MKNOD, 1}, {unix.SYS_MKNODAT, 2}, {unix.SYS_MKDIR, 1}, {unix.SYS_MKDIRAT, 2},
}

// openArgs lists calls that may create a file, with the arguments for flags and mode.
var openArgs = []struct{ nr, flags, mode uint32 }{{unix.SYS_OPEN, 1, 2}, {unix.SYS_OPENAT, 2, 3}}

// forbiddenHere lists forbidden calls that only this architecture has.
var forbiddenHere = []sysCall{
	{unix.SYS_IOPL, "iopl"}, {unix.SYS_IOPERM, "ioperm"}, {unix.SYS_MODIFY_LDT, "modify_ldt"}, {unix.SYS_USELIB, "uselib"},
}

// changing lists calls that change files by name, besides those above.
var changing = []sysCall{
	{unix.SYS_UNLINK, "unlink"}, {unix.SYS_UNLINKAT, "unlinkat"}, {unix.SYS_RMDIR, "rmdir"},
	{unix.SYS_RENAME, "rename"}, {unix.SYS_RENAMEAT, "renameat"}, {unix.SYS_RENAMEAT2, "renameat2"},
	{unix.SYS_LINK, "link"}, {unix.SYS_LINKAT, "linkat"}, {unix.SYS_SYMLINK, "symlink"}, {unix.SYS_SYMLINKAT, "symlinkat"},
	{unix.SYS_TRUNCATE, "truncate"},
}

// pathArgs locates the path in calls that change files: the argument with the directory that it is
// relative to, or -1, and the argument with the path.
var pathArgs = map[uint32]pathArg{
	unix.SYS_OPEN: {"open", -1, 0}, unix.SYS_OPENAT: {"openat", 0, 1}, unix.SYS_CREAT: {"creat", -1, 0},
	unix.SYS_CHMOD: {"chmod", -1, 0}, unix.SYS_FCHMODAT: {"fchmodat", 0, 1}, unix.SYS_FCHMODAT2: {"fchmodat2", 0, 1},
	unix.SYS_MKNOD: {"mknod", -1, 0}, unix.SYS_MKNODAT: {"mknodat", 0, 1},
	unix.SYS_MKDIR: {"mkdir", -1, 0}, unix.SYS_MKDIRAT: {"mkdirat", 0, 1},
	unix.SYS_UNLINK: {"unlink", -1, 0}, unix.SYS_UNLINKAT: {"unlinkat", 0, 1}, unix.SYS_RMDIR: {"rmdir", -1, 0},
	unix.SYS_RENAME: {"rename", -1, 1}, unix.SYS_RENAMEAT: {"renameat", 2, 3}, unix.SYS_RENAMEAT2: {"renameat2", 2, 3},
	unix.SYS_LINK: {"link", -1, 1}, unix.SYS_LINKAT: {"linkat", 2, 3},
	unix.SYS_SYMLINK: {"symlink", -1, 1}, unix.SYS_SYMLINKAT: {"symlinkat", 1, 2},
	unix.SYS_TRUNCATE: {"truncate", -1, 0},
}
