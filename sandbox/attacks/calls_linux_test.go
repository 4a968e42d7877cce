package attacks_test

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are system calls into parts of the kernel that no build needs. Their arguments are chosen
// to have no effect; what matters is who answers: the filter, or (outside) the kernel's own code
// behind it.
func calls() []attack {
	none := unsafe.Pointer(unsafe.StringData("/nonexistent\x00"))
	tmpfs := unsafe.Pointer(unsafe.StringData("tmpfs\x00"))
	user := unsafe.Pointer(unsafe.StringData("user\x00"))
	for i := range badArgument {
		badArgument[i] = 0x7f
	}
	ptr := func(p unsafe.Pointer) uintptr { return uintptr(p) }
	const all = ^uintptr(0)
	table := []struct {
		name string
		root bool
		nr   uintptr
		args [5]uintptr
	}{
		{"bpf", true, unix.SYS_BPF, [5]uintptr{all, ptr(unsafe.Pointer(&badArgument)), 8}},
		{"perf_event_open", false, unix.SYS_PERF_EVENT_OPEN, [5]uintptr{0, 0, all, all, 0}},
		{"userfaultfd", false, unix.SYS_USERFAULTFD, [5]uintptr{1}},
		{"fanotify_init", true, unix.SYS_FANOTIFY_INIT, [5]uintptr{0x7fffffff, 0}},
		{"init_module", true, unix.SYS_INIT_MODULE, [5]uintptr{0, 0, 0}},
		{"delete_module", true, unix.SYS_DELETE_MODULE, [5]uintptr{ptr(none), 0}},
		{"reboot with wrong numbers", true, unix.SYS_REBOOT, [5]uintptr{1, 2, 3, 0}},
		{"swapon", true, unix.SYS_SWAPON, [5]uintptr{ptr(none), 0}},
		{"settimeofday", false, unix.SYS_SETTIMEOFDAY, [5]uintptr{ptr(unsafe.Pointer(&badArgument)), 0}},
		{"clock_settime", false, unix.SYS_CLOCK_SETTIME, [5]uintptr{99, ptr(unsafe.Pointer(&badArgument))}},
		{"unshare of nothing", false, unix.SYS_UNSHARE, [5]uintptr{0}},
		{"setns", false, unix.SYS_SETNS, [5]uintptr{all, 0}},
		{"pivot_root", true, unix.SYS_PIVOT_ROOT, [5]uintptr{ptr(none), ptr(none)}},
		{"fsopen", true, unix.SYS_FSOPEN, [5]uintptr{ptr(tmpfs), 0}},
		{"open_tree", true, unix.SYS_OPEN_TREE, [5]uintptr{all - 99, ptr(none), 1}},
		{"mount_setattr", false, unix.SYS_MOUNT_SETATTR, [5]uintptr{all, ptr(none), 0, ptr(unsafe.Pointer(&badArgument)), 1}},
		{"umount", true, unix.SYS_UMOUNT2, [5]uintptr{ptr(none), 0}},
		{"name_to_handle_at", false, unix.SYS_NAME_TO_HANDLE_AT, [5]uintptr{all - 99, ptr(none), ptr(unsafe.Pointer(&badArgument)), ptr(unsafe.Pointer(&badArgument)), 0}},
		{"add_key", false, unix.SYS_ADD_KEY, [5]uintptr{ptr(user), 0, 0, 0, 12345678}},
		{"request_key", false, unix.SYS_REQUEST_KEY, [5]uintptr{ptr(user), ptr(none), 0, 0}},
		{"kcmp", false, unix.SYS_KCMP, [5]uintptr{uintptr(os.Getpid()), uintptr(os.Getpid()), 99, 0, 0}},
		{"process_madvise", false, unix.SYS_PROCESS_MADVISE, [5]uintptr{all, 0, 0, 0, 0}},
		{"syslog", true, unix.SYS_SYSLOG, [5]uintptr{10, 0, 0}},
		{"move_pages", false, unix.SYS_MOVE_PAGES, [5]uintptr{0, 0, 0, 0, 0}},
		{"iopl", false, archIOPL, [5]uintptr{0}},
		{"modify_ldt", false, archLDT, [5]uintptr{0, 0, 0}},
	}
	var out []attack
	for _, c := range table {
		prog := attackProgram("call "+c.name, func([]string) error {
			_, _, errno := unix.Syscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], 0)
			return errnoErr(errno)
		})
		a := attack{name: "call " + c.name, does: "reaches into the kernel", prog: prog, root: c.root, want: "EPERM|ENOSYS", bit: func(b *bed) string {
			if b.sb == nil && b.ending == "ENOSYS" {
				b.t.Skip("this kernel has no such call")
			}
			if b.ending == "EPERM" || b.ending == "ENOSYS" {
				return ""
			}
			return "the kernel's own code answered: " + b.ending
		}}
		if c.nr == noSuchCall {
			a.needs = func() string { return "this processor has no such call" }
		}
		out = append(out, a)
	}
	return out
}

// badArgument is an argument that no call accepts. It is not on the heap, since only numbers refer
// to it.
var badArgument [512]byte

// noSuchCall stands for a call that exists only on other processors.
const noSuchCall = 1 << 20
