package attacks_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/proctree"
)

// Evidence: sandbox · 200 attacks that work outside fail inside
func TestAttackPrivileges(t *testing.T) {
	t.Parallel()
	runAttacks(t, "privileges")
}

// nobody is the user of controls that try to get from an ordinary user to root.
var nobody = &syscall.Credential{Uid: 65534, Gid: 65534}

// setsID returns an attack that leaves a file which runs as its owner.
func setsID(name, does, want string, f func() error) attack {
	prog := attackProgram("set-id: "+name, func([]string) error { return f() })
	return attack{name: name, does: does, prog: prog, want: want, bit: setIDLeft}
}

func init() {
	attacks["privileges"] = append([]attack{
		setsID("set-id by chmod", "chmod 4755", "EPERM", func() error {
			return errors.Join(os.WriteFile("f", nil, 0o755), unix.Chmod("f", 0o4755))
		}),
		setsID("set-id by fchmod", "fchmod 2755", "EPERM", func() error {
			f, err := os.Create("f")
			return errors.Join(err, unix.Fchmod(int(f.Fd()), 0o2755))
		}),
		setsID("set-id by fchmodat2", "the newer call, of which filters may not know", "EPERM", func() error {
			p, _ := unix.BytePtrFromString("f")
			err := os.WriteFile("f", nil, 0o755)
			_, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, ^uintptr(99), uintptr(unsafe.Pointer(p)), 0o4755, 0, 0, 0)
			return errors.Join(err, errnoErr(errno))
		}),
		setsID("set-id by open", "creates the file with the bit", "EPERM", func() error {
			fd, err := unix.Open("f", unix.O_CREAT|unix.O_WRONLY, 0o6755)
			return errors.Join(err, unix.Close(fd))
		}),
		setsID("set-id by creat", "creates by the oldest call", "EPERM|ENOSYS", func() error {
			p, _ := unix.BytePtrFromString("f")
			_, _, errno := unix.Syscall(archCreat, uintptr(unsafe.Pointer(p)), 0o4755, 0)
			return errnoErr(errno)
		}),
		setsID("set-id by openat2", "creates with the mode behind a pointer", "ENOSYS", func() error {
			fd, err := unix.Openat2(unix.AT_FDCWD, "f", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
			return errors.Join(err, unix.Close(fd))
		}),
		setsID("set-id by a nameless file", "makes a nameless file with the bit and names it", "EPERM", func() error {
			fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY, 0o4755)
			if err != nil {
				return err
			}
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, "f", unix.AT_SYMLINK_FOLLOW)
		}),
		setsID("set-id by mknod", "makes a plain file by mknod", "EPERM", func() error {
			return unix.Mknod("f", unix.S_IFREG|0o4755, 0)
		}),
		setsID("set-id directory", "makes a directory whose group is inherited", "EPERM", func() error {
			return errors.Join(os.Mkdir("d", 0o755), unix.Chmod("d", 0o2755))
		}),
		{name: "become root", does: "tries every call that changes who it is, then reads /etc/shadow", root: true, want: "EPERM|EACCES|EINVAL|ENOENT",
			prog: attackProgram("become-root", becomeRoot), bit: secretOut,
			args: func(b *bed) []string {
				text, err := os.ReadFile("/etc/shadow")
				line, _, _ := bytes.Cut(text, []byte("\n"))
				if err != nil || len(line) == 0 {
					b.t.Skip("this host has no /etc/shadow")
				}
				b.secret = string(line)
				return nil
			}},
		{name: "root's program", does: "runs a set-user-id program of root's", root: true, as: nobody, want: "ok", prog: "who-am-i", bit: rootAppeared,
			args: func(b *bed) []string {
				b.armed(func(p string) error { return os.Chmod(p, 0o755|os.ModeSetuid) })
				return nil
			}},
		{name: "program with capabilities", does: "runs a program that brings capabilities", root: true, as: nobody, want: "ok|EPERM", prog: attackProgram("who-am-i", whoAmI), bit: rootAppeared,
			args: func(b *bed) []string {
				b.armed(func(p string) error {
					// Version 2, effective; CAP_NET_ADMIN.
					v := []byte{1, 0, 0, 2, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
					return unix.Setxattr(p, "security.capability", v, 0)
				})
				return nil
			}},
		{name: "keyring", does: "reads a key from the user's keyring", prog: attackProgram("key", readKey), want: "EPERM", bit: secretOut,
			args: func(b *bed) []string { return []string{b.key()} }},
		{name: "io_uring", does: "sets up a ring, by which calls pass the filter", prog: "iouring", want: "status 1", bit: claimed},
		{name: "another machine's program", does: "runs a program of 32 bits, whose calls have other numbers", prog: attackProgram("elf32", runELF32), want: "SIGSYS", bit: func(b *bed) string { return there(filepath.Join(b.dir, "by32")) },
			needs: func() string { return needs386() }},
		{name: "32-bit call", does: "makes a 32-bit call from a 64-bit program", prog: attackProgram("int80", int80), want: "SIGSYS", bit: claimed, needs: needs386},
		{name: "x32 call", does: "makes a call with the x32 bit", prog: attackProgram("x32", func([]string) error {
			_, _, errno := unix.RawSyscall(unix.SYS_GETPID|0x40000000, 0, 0, 0)
			if errno == unix.ENOSYS {
				return nil // passed on to the kernel, which has no such call
			}
			return errnoErr(errno)
		}), want: "SIGSYS", bit: claimed, needs: needs386},
		{name: "typing into the terminal", does: "puts characters into the host terminal's input", prog: attackProgram("type", typeInto), root: true, want: "EPERM", bit: typed,
			args: func(b *bed) []string { b.terminal(); return nil }},
		{name: "console calls", does: "asks the console to paste", prog: attackProgram("tioclinux", ioctlOn(unix.TIOCLINUX)), want: "EPERM", bit: gotThrough,
			args: func(b *bed) []string { b.terminal(); return nil }},
		{name: "line discipline", does: "loads a line discipline into the kernel", prog: attackProgram("tiocsetd", ioctlOn(unix.TIOCSETD)), want: "EPERM", bit: gotThrough,
			args: func(b *bed) []string { b.terminal(); return nil }},
		{name: "own terminal", does: "types into a terminal that it made", prog: "tiocsti", root: true, want: "status 1", bit: claimed},
		{name: "higher priority", does: "runs before everyone else", prog: attackProgram("nice", func([]string) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -10) }), root: true, want: "EACCES|EPERM", bit: claimed},
		{name: "real time", does: "runs without ever yielding", prog: attackProgram("fifo", func([]string) error {
			param := int32(1)
			_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, 0, 1 /* SCHED_FIFO */, uintptr(unsafe.Pointer(&param)))
			return errnoErr(errno)
		}), root: true, want: "EPERM", bit: claimed},
		{name: "more of everything", does: "raises its own limits", prog: attackProgram("setrlimit", func([]string) error {
			const many = 9000 // above the sandbox's limit, below the host's
			return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: many, Max: many})
		}), root: true, want: "EPERM", bit: claimed},
		{name: "spared by the killer", does: "tells the kernel to kill others first", prog: attackProgram("oom", func([]string) error {
			return os.WriteFile("/proc/self/oom_score_adj", []byte("-500"), 0)
		}), root: true, want: "EACCES|EPERM", bit: func(b *bed) string {
			if b.sb == nil && b.ending == "EACCES" {
				b.t.Skip("this host's root may not do that either")
			}
			return claimed(b)
		}},
		{name: "host's name", does: "renames the machine, to what it is called already", prog: attackProgram("hostname", func([]string) error {
			var u unix.Utsname
			if err := unix.Uname(&u); err != nil {
				return err
			}
			return unix.Sethostname(u.Nodename[:bytes.IndexByte(u.Nodename[:], 0)])
		}), root: true, want: "EPERM", bit: claimed},
		{name: "core file", does: "has the kernel write its memory where it died", prog: "sh", want: "SIGSEGV|status 139", bit: func(b *bed) string {
			found, _ := filepath.Glob(filepath.Join(b.dir, "core*"))
			if len(found) > 0 {
				return found[0] + " was left"
			}
			return ""
		}, args: func(*bed) []string { return []string{"ulimit -c unlimited; kill -SEGV $$"} }, needs: func() string {
			text, _ := os.ReadFile("/proc/sys/kernel/core_pattern")
			if !strings.HasPrefix(string(text), "core") {
				return "this host's core files go elsewhere"
			}
			return ""
		}},
	}, calls()...)
}

// gotThrough reports that the filter did not refuse a call, whatever the terminal answered.
func gotThrough(b *bed) string {
	if b.ending != "EPERM" && b.ending != "timeout" {
		return "the call reached the terminal: " + b.ending
	}
	return ""
}

func becomeRoot([]string) error {
	if unix.Geteuid() != 0 {
		_, _, e1 := unix.Syscall(unix.SYS_SETUID, 0, 0, 0)
		_, _, e2 := unix.Syscall(unix.SYS_SETRESUID, 0, 0, 0)
		zero := int32(0)
		_, _, e3 := unix.Syscall(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&zero)), 0)
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		all := [2]unix.CapUserData{{Effective: ^uint32(0), Permitted: ^uint32(0)}, {}}
		e4 := unix.Capset(&hdr, &all[0])
		if e1 != 0 && e2 != 0 && e3 != 0 && e4 != nil {
			return e1
		}
	}
	return copyTo("/etc/shadow", "loot")
}

// armed puts a copy of this binary, with extra privileges, into the workspace.
func (b *bed) armed(arm func(path string) error) {
	path := filepath.Join(b.dir, "program")
	b.copySelf(path)
	if err := arm(path); err != nil {
		b.t.Fatal(err)
	}
	b.state["program"] = path
}

func whoAmI([]string) error {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	fmt.Printf("euid=%d egid=%d caps=%s.\n", unix.Geteuid(), unix.Getegid(), strings.TrimLeft(proctree.ParseStatus(text)["CapEff"], "0"))
	return nil
}

func rootAppeared(b *bed) string {
	if strings.Contains(b.told, "euid=0 ") || strings.Contains(b.told, "egid=0 ") || strings.Contains(b.told, "caps=") && !strings.Contains(b.told, "caps=.") {
		return "it ran as " + b.told
	}
	return ""
}

// key stores the secret under a name in the user's keyring.
func (b *bed) key() string {
	name := "luthier-" + uniqueSleep()
	id, err := unix.AddKey("user", name, []byte(b.secret), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		b.t.Skipf("this host has no keyrings: %v", err)
	}
	_ = unix.KeyctlSetperm(id, 0x3f3f0000)
	b.undo = append(b.undo, func() {
		_, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	})
	return name
}

func readKey(a []string) error {
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", a[0], 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 128)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, buf, 0)
	if err != nil {
		return err
	}
	fmt.Println(string(buf[:n]))
	return nil
}

// terminal makes a pty of the host the program's input.
func (b *bed) terminal() {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		b.t.Skipf("no terminals here: %v", err)
	}
	b.undo = append(b.undo, func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	slave, err2 := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err := errors.Join(err, err2); err != nil {
		b.t.Skipf("no terminals here: %v", err)
	}
	b.undo = append(b.undo, func() { slave.Close() })
	b.state["stdin"] = slave
}

func typeInto([]string) error {
	for _, c := range []byte("evil\n") {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c))); errno != 0 {
			return errno
		}
	}
	return nil
}

// typed counts the bytes waiting in the terminal's input.
func typed(b *bed) string {
	n, err := unix.IoctlGetInt(int(b.state["stdin"].(*os.File).Fd()), unix.TIOCINQ)
	if err == nil && n > 0 {
		return fmt.Sprintf("%d characters wait in the terminal", n)
	}
	return ""
}

func ioctlOn(req uintptr) func([]string) error {
	return func([]string) error {
		arg := [8]byte{3} // paste, or a line discipline that few kernels have
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, req, uintptr(unsafe.Pointer(&arg)))
		return errnoErr(errno)
	}
}
