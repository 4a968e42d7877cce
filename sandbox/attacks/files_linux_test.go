package attacks_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Evidence: sandbox · 200 attacks that work outside fail inside
func TestAttackFiles(t *testing.T) {
	t.Parallel()
	runAttacks(t, "files")
}

// canary is the path that must not be touched.
func canary(b *bed) string { return filepath.Join(b.out, "canary") }

func canaryArg(b *bed) []string { return []string{canary(b), b.out} }

func init() {
	attacks["files"] = []attack{
		{name: "write by absolute path", prog: "write", args: canaryArg, bit: canaryHurt, does: "appends to a file of the host's"},
		{name: "write by dots", prog: "write", bit: canaryHurt, does: "climbs out of the workspace by ..",
			args: func(b *bed) []string {
				rel, err := filepath.Rel(b.dir, canary(b))
				if err != nil {
					b.t.Fatal(err)
				}
				return []string{rel}
			}},
		{name: "read a secret", prog: "sh", want: "status 1", bit: secretOut, does: "copies a readable file of the host's out through the workspace",
			args: func(b *bed) []string { return []string{`cat "$1" > loot`, canary(b)} }},
		{name: "symlink to a file", prog: "sh", bit: canaryHurt, does: "writes through a symbolic link that it made",
			args: func(b *bed) []string { return []string{`ln -s "$1" l && echo x >> l`, canary(b)} }},
		{name: "symlink to a directory", prog: "sh", bit: canaryHurt, does: "makes a file below a symbolic link that it made",
			args: func(b *bed) []string { return []string{`ln -s "$1" d && echo x > d/new`, b.out} }},
		{name: "symlink chain", prog: "sh", bit: canaryHurt, does: "writes through links that lead to links by ..",
			args: func(b *bed) []string {
				rel, _ := filepath.Rel(b.dir, b.out)
				return []string{`mkdir s && ln -s .. s/up && ln -s "s/up/$1" a && ln -s a/canary z && echo x >> z`, rel}
			}},
		{name: "hard link", prog: attackProgram("hardlink", hardlink), args: canaryArg, bit: canaryHurt, want: "ENOENT|EPERM|EXDEV", does: "links a file of the host's into the workspace and writes it there"},
		{name: "rename out", prog: attackProgram("rename-out", func(a []string) error {
			return errors.Join(os.WriteFile("mine", nil, 0o644), os.Rename("mine", a[1]+"/moved"))
		}), args: canaryArg, bit: canaryHurt, want: "ENOENT|EXDEV", does: "moves a file beside the canary"},
		{name: "exchange", prog: attackProgram("exchange", func(a []string) error {
			err := os.WriteFile("mine", []byte("x"), 0o644)
			return errors.Join(err, unix.Renameat2(unix.AT_FDCWD, "mine", unix.AT_FDCWD, a[0], unix.RENAME_EXCHANGE))
		}), args: canaryArg, bit: canaryHurt, want: "ENOENT|EXDEV", does: "exchanges a file with the canary"},
		{name: "rename an ancestor", prog: "sh", bit: func(b *bed) string { return noLonger(b.dir) }, alone: true,
			does: "moves the workspace itself away from where the host looks for it",
			args: func(b *bed) []string {
				up := filepath.Dir(b.dir)
				return []string{`cd / && mv "$1" "$1.gone"`, up}
			}},
		{name: "swap in the way", prog: attackProgram("swap", swapRace), args: canaryArg, bit: canaryHurt, want: "ok",
			does: "exchanges a directory with a symbolic link while it writes through it"},
		{name: "proc self root", prog: "write", bit: canaryHurt, does: "goes by /proc/self/root",
			args: func(b *bed) []string { return []string{"/proc/self/root" + canary(b)} }},
		{name: "proc self cwd", prog: "write", bit: canaryHurt, does: "goes by /proc/self/cwd and ..",
			args: func(b *bed) []string {
				rel, _ := filepath.Rel(b.dir, canary(b))
				return []string{"/proc/self/cwd/" + rel}
			}},
		{name: "roots of all processes", prog: attackProgram("proc-roots", procRoots), args: canaryArg, bit: canaryHurt, want: "EACCES|ENOENT|EPERM",
			does: "goes by the root and the directory of every process it sees"},
		{name: "descriptors of all processes", prog: attackProgram("proc-fds", procFDs), bit: canaryHurt,
			does: "opens for writing what other processes hold open for reading",
			args: func(b *bed) []string { b.victim(); return canaryArg(b) }},
		{name: "inherited descriptors", prog: attackProgram("inherited", inherited), args: canaryArg, bit: canaryHurt,
			does:      "climbs from every directory that it was born with",
			noControl: "the test gives its own programs no directories; isolation of descriptors is what is tested"},
		{name: "memory of a host process", prog: attackProgram("proc-mem", procMem), bit: victimHurt, want: "ENOENT|EACCES|ESRCH",
			does: "writes /proc/PID/mem",
			args: func(b *bed) []string { v := b.victim(); return []string{v.pid(), v.addr} }},
		{name: "memory by process_vm_writev", prog: attackProgram("vm-writev", vmWritev), bit: victimHurt, want: "EPERM",
			does: "writes another process's memory by system call",
			args: func(b *bed) []string { v := b.victim(); return []string{v.pid(), v.addr} }},
		{name: "descriptor over a socket", prog: attackProgram("fd-passing", fdPassing), bit: canaryHurt, want: "ENOENT|ECONNREFUSED",
			does: "asks a socket of the host's for a directory's descriptor",
			args: func(b *bed) []string { return []string{b.handsOut()} }},
		{name: "descriptor by pidfd", prog: attackProgram("pidfd-getfd", pidfdGetfd), bit: canaryHurt, want: "EPERM|ESRCH",
			does: "takes a descriptor out of a host process",
			args: func(b *bed) []string { v := b.victim(); return []string{v.pid(), v.fd, canary(b)} }},
		{name: "device node", prog: attackProgram("mknod", func(a []string) error {
			return unix.Mknod("null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
		}), root: true, want: "EPERM|EACCES", does: "makes a device node", bit: func(b *bed) string { return there(filepath.Join(b.dir, "null")) }},
		{name: "disk node", prog: attackProgram("mknod-disk", mknodDisk), root: true, want: "EPERM|EACCES",
			does: "makes a node for the disk its directory is on", args: func(b *bed) []string { return []string{b.dir} },
			bit: func(b *bed) string { return there(filepath.Join(b.dir, "disk")) }},
		{name: "kernel log", prog: attackProgram("kmsg", func(a []string) error {
			f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = fmt.Fprintf(f, "<7>luthier: %s\n", a[0])
			return err
		}), args: func(b *bed) []string { return []string{b.secret} }, root: true, want: "ENOENT|EACCES|EPERM|EROFS", bit: inKernelLog, does: "writes to the kernel's log"},
		{name: "memory device", prog: attackProgram("devices", devices0), want: "ENOENT|EACCES|EPERM", root: true, bit: claimed, does: "opens disks, memory, KVM and loop control"},
		{name: "handle of a file", prog: attackProgram("by-handle", byHandle), root: true, want: "EPERM", bit: secretOut,
			does: "opens a host file by its handle, past all paths",
			args: func(b *bed) []string {
				h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, canary(b), 0)
				if err != nil {
					b.t.Skipf("no handles here: %v", err)
				}
				return []string{b.dir, strconv.Itoa(int(h.Type())), hex.EncodeToString(h.Bytes())}
			}},
		{name: "chroot and climb", prog: attackProgram("chroot-climb", chrootClimb), args: canaryArg, root: true, want: "EPERM", bit: canaryHurt,
			does: "climbs out of a chroot that it entered with a foot outside"},
		{name: "mount over the canary", prog: attackProgram("mount-over", func(a []string) error {
			return unix.Mount("none", a[1], "tmpfs", 0, "size=64k")
		}), args: canaryArg, root: true, want: "EPERM|ENOENT", does: "mounts over a host directory", bit: func(b *bed) string {
			b.undo = append(b.undo, func() { _ = unix.Unmount(b.out, unix.MNT_DETACH) })
			return noLonger(canary(b))
		}},
		{name: "bind a directory in", prog: attackProgram("bind", bindIn), args: canaryArg, root: true, want: "EPERM|ENOENT", bit: func(b *bed) string {
			b.undo = append(b.undo, func() { _ = unix.Unmount(filepath.Join(b.dir, "in"), unix.MNT_DETACH) })
			return secretOut(b)
		}, does: "mounts a host directory into the workspace, by the old calls and the new"},
		{name: "own program", prog: attackProgram("self-write", selfWrite), want: "EROFS|EACCES|ETXTBSY|status 1|status 2", bit: programHurt,
			does: "writes to the program it was started from, which is the host's",
			args: func(b *bed) []string {
				if b.sb == nil {
					b.copyProgram()
				}
				return nil
			}},
		{name: "supervisor's program", prog: attackProgram("exe-of", func(a []string) error {
			f, err := os.OpenFile("/proc/"+a[0]+"/exe", os.O_RDONLY, 0)
			if err != nil {
				return err
			}
			return f.Close()
		}), want: "EACCES|EPERM", bit: claimed, does: "opens the program of the sandbox's first process, to write to it later",
			args: func(b *bed) []string {
				if b.sb == nil {
					return []string{b.victim().pid()}
				}
				return []string{"1"}
			}},
		{name: "host's temporary directory", prog: "sh", want: "ok", does: "leaves a file in /tmp",
			args: func(b *bed) []string { return []string{`echo x > "/tmp/luthier-$1"`, b.secret} },
			bit:  func(b *bed) string { return b.gone("/tmp/luthier-" + b.secret) }},
		{name: "host's shared memory directory", prog: "sh", want: "ok", does: "leaves a file in /dev/shm",
			args: func(b *bed) []string { return []string{`echo x > "/dev/shm/luthier-$1"`, b.secret} },
			bit:  func(b *bed) string { return b.gone("/dev/shm/luthier-" + b.secret) }},
		{name: "file capabilities", prog: attackProgram("setcap", func([]string) error {
			// Version 2, effective, all of the first 32 capabilities.
			v := []byte{1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
			return errors.Join(os.WriteFile("cap", nil, 0o755), unix.Setxattr("cap", "security.capability", v, 0))
		}), root: true, want: "EPERM", does: "puts capabilities on a file", bit: func(b *bed) string {
			n, err := unix.Getxattr(filepath.Join(b.dir, "cap"), "security.capability", make([]byte, 64))
			if err != nil {
				return ""
			}
			return fmt.Sprintf("%d bytes of capabilities", n)
		}},
		{name: "immutable file", prog: attackProgram("chattr", func([]string) error {
			f, err := os.Create("fixed")
			if err != nil {
				return err
			}
			defer f.Close()
			return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, unix.STATX_ATTR_IMMUTABLE)
		}), root: true, want: "EPERM|ENOTTY", does: "leaves a file that the host cannot remove", bit: immutableLeft},
		{name: "kernel's own settings", prog: attackProgram("core-pattern", func([]string) error {
			f, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			return f.Close()
		}), root: true, want: "EROFS|EACCES|EPERM", bit: claimed, does: "opens the setting that names a program for the kernel to run as root"},
		{name: "kernel's trigger", prog: "write", args: func(*bed) []string { return []string{"/proc/sysrq-trigger"} }, bit: claimed,
			noControl: "it could restart the machine", does: "writes to /proc/sysrq-trigger"},
		{name: "change of owner", prog: attackProgram("chown", func(a []string) error {
			return errors.Join(os.WriteFile("mine", nil, 0o644), os.Chown("mine", 12345, 12345))
		}), root: true, want: "EPERM|EINVAL", does: "gives a file to another user of the host", bit: func(b *bed) string {
			var st unix.Stat_t
			if unix.Stat(filepath.Join(b.dir, "mine"), &st) == nil && st.Uid == 12345 {
				return "the file belongs to user 12345"
			}
			return ""
		}},
	}
}

func hardlink(a []string) error {
	if err := os.Link(a[0], "hard"); err != nil {
		return err
	}
	return os.WriteFile("hard", []byte("x"), 0o644)
}

// swapRace has one thread exchange d and the link while another writes through d. At the end it
// takes turns, so that at least one write goes through the link.
func swapRace(a []string) error {
	if err := errors.Join(os.Mkdir("d", 0o755), os.WriteFile("d/canary", nil, 0o644), os.Symlink(a[1], "l")); err != nil {
		return err
	}
	exchange := func() { _ = unix.Renameat2(unix.AT_FDCWD, "d", unix.AT_FDCWD, "l", unix.RENAME_EXCHANGE) }
	poke := func() {
		if f, err := os.OpenFile("d/canary", os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = f.WriteString("x")
			f.Close()
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			exchange()
		}
	}()
	for racing := true; racing; {
		poke()
		select {
		case <-done:
			racing = false
		default:
		}
	}
	for range 2 {
		exchange()
		poke()
	}
	return nil
}

func procRoots(a []string) error {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	last := error(unix.ENOENT)
	for _, d := range dirs {
		for _, way := range []string{"/root", "/cwd" + strings.Repeat("/..", 20)} {
			f, openErr := os.OpenFile(d+way+a[0], os.O_WRONLY|os.O_APPEND, 0)
			if openErr != nil {
				last = openErr
				continue
			}
			_, err = f.WriteString("x")
			return errors.Join(err, f.Close())
		}
	}
	return last
}

func procFDs(a []string) error {
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err != nil || to != a[0] {
			continue
		}
		if f, err := os.OpenFile(fd, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, err = f.WriteString("x")
			return errors.Join(err, f.Close())
		}
	}
	return errors.New("no process holds it")
}

func inherited(a []string) error {
	for fd := range 256 {
		for _, way := range []string{a[0], strings.TrimPrefix(a[0], "/"), strings.Repeat("../", 20) + a[0]} {
			got, err := unix.Openat(fd, strings.TrimPrefix(way, "/"), unix.O_WRONLY|unix.O_APPEND, 0)
			if err == nil {
				_, err = unix.Write(got, []byte("x"))
				return err
			}
		}
	}
	return errors.New("none leads there")
}

func procMem(a []string) error {
	f, err := os.OpenFile("/proc/"+a[0]+"/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	addr, _ := strconv.ParseInt(a[1], 10, 64)
	_, err = f.WriteAt([]byte("overwritten"), addr)
	return err
}

func vmWritev(a []string) error {
	pid, _ := strconv.Atoi(a[0])
	addr, _ := strconv.ParseUint(a[1], 10, 64)
	text := []byte("overwritten")
	local := []unix.Iovec{{Base: &text[0], Len: uint64(len(text))}}
	_, err := unix.ProcessVMWritev(pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(text)}}, 0)
	return err
}

// fdPassing asks the socket for a directory and makes a file in it.
func fdPassing(a []string) error {
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(s, &unix.SockaddrUnix{Name: a[0]}); err != nil {
		return err
	}
	oob := make([]byte, 64)
	_, n, _, _, err := unix.Recvmsg(s, make([]byte, 1), oob, 0)
	if err != nil {
		return err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(msgs) == 0 {
		return errors.Join(err, io.ErrUnexpectedEOF)
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil {
		return err
	}
	fd, err := unix.Openat(fds[0], "new", unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func pidfdGetfd(a []string) error {
	pid, _ := strconv.Atoi(a[0])
	fd, _ := strconv.Atoi(a[1])
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	got, err := unix.PidfdGetfd(p, fd, 0)
	if err != nil {
		return err
	}
	f, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(got), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return err
}

func mknodDisk(a []string) error {
	var st unix.Stat_t
	if err := unix.Stat(a[0], &st); err != nil {
		return err
	}
	if err := unix.Mknod("disk", unix.S_IFBLK|0o666, int(st.Dev)); err != nil {
		return err
	}
	f, err := os.Open("disk")
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.ReadFull(f, make([]byte, 512))
	return err
}

// devices0 opens devices that bypass every file system.
func devices0([]string) error {
	last := error(unix.ENOENT)
	disks, _ := filepath.Glob("/dev/[svx]d[a-z]")
	for _, d := range append(disks, "/dev/mem", "/dev/kvm", "/dev/loop-control", "/dev/fuse", "/dev/vsock", "/dev/tty0") {
		f, err := os.OpenFile(d, os.O_RDONLY, 0)
		if err == nil {
			return f.Close()
		}
		if !errors.Is(err, unix.ENOENT) {
			last = err
		}
	}
	return last
}

func byHandle(a []string) error {
	dir, err := unix.Open(a[0], unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	kind, _ := strconv.Atoi(a[1])
	raw, _ := hex.DecodeString(a[2])
	fd, err := unix.OpenByHandleAt(dir, unix.NewFileHandle(int32(kind), raw), unix.O_RDONLY)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stderr, os.NewFile(uintptr(fd), "loot"))
	return err
}

func chrootClimb(a []string) error {
	if err := errors.Join(os.MkdirAll("jail", 0o755), unix.Chroot("jail")); err != nil {
		return err
	}
	f, err := os.OpenFile(strings.Repeat("../", 40)+a[0], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return err
}

func bindIn(a []string) error {
	if err := os.Mkdir("in", 0o755); err != nil {
		return err
	}
	if err := unix.Mount(a[1], "in", "", unix.MS_BIND, ""); err == nil {
		return copyTo("in/canary", "loot")
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, a[1], unix.OPEN_TREE_CLONE)
	if err != nil {
		return err
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, "in", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	return copyTo("in/canary", "loot")
}

func copyTo(from, to string) error {
	b, err := os.ReadFile(from)
	return errors.Join(err, os.WriteFile(to, b, 0o644))
}

// selfWrite has a shell append to this program after this program has ended.
func selfWrite([]string) error {
	fd, err := unix.Open("/proc/self/exe", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	if err := unix.Dup3(fd, 9, 0); err != nil {
		return err
	}
	script := `for i in 1 2 3 4 5; do echo x >> /proc/self/fd/9 && exit 0; sleep 0.1; done; exit 1`
	return syscall.Exec("/bin/sh", []string{"sh", "-c", script}, os.Environ())
}

// copyProgram lets the control attack a copy of this binary.
func (b *bed) copyProgram() {
	path := filepath.Join(b.out, "host-program")
	b.copySelf(path)
	fi, err := os.Stat(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.state["program"], b.state["size"] = path, fi.Size()
}

// copySelf has another process write the copy. If this process started another program while it had
// the file open for writing, the file could not be executed for a while.
func (b *bed) copySelf(path string) {
	if out, err := exec.Command("cp", self(b.t), path).CombinedOutput(); err != nil {
		b.t.Fatalf("%v %s", err, out)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		b.t.Fatal(err)
	}
}

func programHurt(b *bed) string {
	fi, err := os.Stat(b.program())
	if err != nil {
		return err.Error()
	}
	if size, ok := b.state["size"].(int64); ok && fi.Size() != size {
		return fmt.Sprintf("the program has %d bytes, not %d", fi.Size(), size)
	}
	if b.ending == "ok" {
		return "the shell says so"
	}
	return ""
}

// gone reports that path was made, and removes it.
func (b *bed) gone(path string) string {
	why := there(path)
	_ = os.Remove(path)
	return why
}

func inKernelLog(b *bed) string {
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil)
	if err != nil {
		b.t.Skipf("cannot read the kernel's log: %v", err)
	}
	buf := make([]byte, n)
	n, _ = unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, buf)
	if strings.Contains(string(buf[:max(n, 0)]), b.secret) {
		return "the kernel's log has it"
	}
	return ""
}

func immutableLeft(b *bed) string {
	f, err := os.Open(filepath.Join(b.dir, "fixed"))
	if err != nil {
		return ""
	}
	defer f.Close()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil && flags&unix.STATX_ATTR_IMMUTABLE != 0 {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags&^unix.STATX_ATTR_IMMUTABLE)
		return "the file is immutable"
	}
	return ""
}
