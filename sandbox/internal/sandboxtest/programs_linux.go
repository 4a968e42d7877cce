package sandboxtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/proctree"
)

// Programs returns the programs that attack what a sandbox protects, by name. Each returns nil if
// it reached its goal, and otherwise the error with which it was refused.
func Programs() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"dial": func(a []string) error {
			c, err := net.DialTimeout(a[0], a[1], 3*time.Second)
			if err == nil {
				c.Close()
			}
			return err
		},
		"read": func(a []string) error { _, err := os.ReadFile(a[0]); return err },
		"write": func(a []string) error {
			f, err := os.OpenFile(a[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
			if err != nil {
				return err
			}
			_, err = f.WriteString("x")
			return errors.Join(err, f.Close())
		},
		"xattr": func(a []string) error {
			b := make([]byte, 64)
			n, err := unix.Getxattr(a[0], a[1], b)
			if err == nil && string(b[:max(n, 0)]) != a[2] {
				err = fmt.Errorf("%q", b[:n])
			}
			return err
		},
		"set-xattr": func(a []string) error { return unix.Setxattr(a[0], a[1], []byte(a[2]), 0) },
		"remove":    func(a []string) error { return os.Remove(a[0]) },
		"signal": func(a []string) error {
			pid, _ := strconv.Atoi(a[0])
			return syscall.Kill(pid, 0)
		},
		"environ": func(a []string) error { // of any process of another test or user
			paths, _ := filepath.Glob("/proc/[0-9]*/environ")
			for _, p := range paths {
				if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), a[0]) && !strings.Contains(p, "/"+strconv.Itoa(os.Getpid())+"/") {
					return nil
				}
			}
			return errors.New("not found in any environment")
		},
		"setuid": func(a []string) error {
			if err := os.WriteFile(a[0], []byte("x"), 0o755); err != nil {
				return nil // not what is tested: report the goal as reached
			}
			fi, err := os.Stat(a[0])
			if err != nil {
				return err
			}
			err = syscall.Chmod(a[0], 0o4755)
			if err == nil {
				return nil
			}
			fd, err := unix.Open(a[0]+".new", unix.O_CREAT|unix.O_WRONLY, 0o6755)
			if err == nil {
				unix.Close(fd)
				fi, err = os.Stat(a[0] + ".new")
				if err == nil && fi.Mode()&(os.ModeSetuid|os.ModeSetgid) == 0 {
					err = errors.New("bits dropped")
				}
			}
			return err
		},
		"unshare": func([]string) error { return unix.Unshare(unix.CLONE_NEWUSER) },
		"mount":   func(a []string) error { return unix.Mount("none", a[0], "tmpfs", 0, "") },
		"chroot":  func(a []string) error { return unix.Chroot(a[0]) },
		"keyctl": func([]string) error {
			_, err := unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_SESSION_KEYRING, 1, 0, 0)
			return err
		},
		"iouring": func([]string) error {
			var params [120]byte
			fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
			if errno != 0 {
				return errno
			}
			return unix.Close(int(fd))
		},
		"userfaultfd": func([]string) error {
			fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, 1, 0, 0) // user mode only
			if errno != 0 {
				return errno
			}
			return unix.Close(int(fd))
		},
		"vsock": func([]string) error {
			fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		},
		"packet": func([]string) error {
			fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		},
		"tiocsti": func([]string) error {
			fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			c := byte('x')
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
			if errno == unix.EPERM {
				return errno // the filter's answer; a kernel without TIOCSTI returns EIO
			}
			return nil
		},
		"caps": func([]string) error {
			b, err := os.ReadFile("/proc/self/status")
			if err != nil {
				return err
			}
			st := proctree.ParseStatus(b)
			for _, k := range []string{"CapEff", "CapPrm", "CapInh", "CapAmb"} {
				if strings.Trim(st[k], "0") != "" {
					return nil
				}
			}
			if st["NoNewPrivs"] != "1" {
				return nil
			}
			return errors.New("none")
		},
		"ptrace-supervisor": func([]string) error {
			f, err := os.OpenFile("/proc/1/mem", os.O_RDWR, 0)
			if err == nil {
				f.Close()
				return nil
			}
			_, err = os.Readlink("/proc/1/exe")
			return err
		},
		"loopback": func([]string) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer l.Close()
			go func() {
				if c, err := l.Accept(); err == nil {
					fmt.Fprint(c, "hello")
					c.Close()
				}
			}()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				return err
			}
			b := make([]byte, 5)
			_, err = c.Read(b)
			if err == nil && string(b) != "hello" {
				err = errors.New("wrong answer")
			}
			return errors.Join(err, c.Close())
		},
		"unix-socket": func([]string) error {
			l, err := net.Listen("unix", filepath.Join(os.TempDir(), "s"))
			if err != nil {
				return err
			}
			return l.Close()
		},
		"many-processes": func(a []string) error {
			n, _ := strconv.Atoi(a[0])
			for range n {
				if _, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "30"}, &syscall.ProcAttr{}); err != nil {
					return err
				}
			}
			return nil
		},
		"shm": func(a []string) error {
			n, _ := strconv.Atoi(a[0])
			return os.WriteFile("/dev/shm/big", make([]byte, n), 0o600)
		},
		"descriptors": func([]string) error { // fewer than ten are open
			d, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				return err
			}
			for _, e := range d {
				if fd, _ := strconv.Atoi(e.Name()); fd > 2 {
					link, err := os.Readlink("/proc/self/fd/" + e.Name())
					if err == nil && !strings.HasPrefix(link, "/proc/") && !strings.HasPrefix(link, "anon_inode:") {
						return fmt.Errorf("descriptor %d is %s", fd, link)
					}
				}
			}
			return nil
		},
		// deep makes nested directories, with a file and links in the innermost one.
		"deep": func(a []string) error {
			depth, err := strconv.Atoi(a[0])
			if err != nil {
				return err
			}
			for range depth {
				if err := errors.Join(syscall.Mkdir(a[1], 0o755), syscall.Chdir(a[1])); err != nil {
					return err
				}
			}
			return errors.Join(os.WriteFile("bottom", []byte("text\n"), 0o644), os.Symlink("/etc", "out"), os.Symlink("bottom", "in"))
		},
	}
}
