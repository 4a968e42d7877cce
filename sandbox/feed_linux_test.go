package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"golang.org/x/sys/unix"
)

func init() {
	// Each step must fail for a command whose input is a file of the host.
	helpers["misuse-input"] = func([]string) error {
		var reached []string
		for name, step := range map[string]func() error{
			"write":    func() error { _, err := unix.Write(0, []byte("\x1b]52;c;ZXZpbA==\x07")); return err },
			"truncate": func() error { return unix.Ftruncate(0, 0) },
			"chdir":    func() error { return unix.Fchdir(0) },
			"openat":   func() error { return openIn(0, "victim") },
			"attributes": func() error {
				_, err := unix.IoctlGetTermios(0, unix.TCGETS)
				return err
			},
			"exclusive": func() error { return unix.IoctlSetInt(0, unix.TIOCEXCL, 0) },
			"input":     func() error { return unix.IoctlSetPointerInt(0, unix.TIOCSTI, 'x') },
			"terminal":  func() error { return unix.IoctlSetInt(0, unix.TIOCSCTTY, 1) },
			"send":      func() error { return unix.Send(0, []byte("x"), unix.MSG_NOSIGNAL) },
			"seek":      func() error { _, err := unix.Seek(0, 0, 0); return err },
		} {
			if step() == nil {
				reached = append(reached, name)
			}
		}
		_, _ = unix.FcntlInt(0, unix.F_SETFL, unix.O_NONBLOCK|unix.O_APPEND) // of a pipe of its own
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = unix.Flock(0, unix.LOCK_EX)
		if len(reached) == 0 {
			return errors.New("nothing")
		}
		fmt.Println(reached)
		return nil
	}
}

func openIn(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// openTerminal returns the two ends of a terminal.
func openTerminal(t *testing.T) (user, term *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	user = os.NewFile(uintptr(fd), "user")
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	term, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { term.Close() })
	return user, term
}

// TestInputIsNoDescriptorOfTheHost checks that a command can do nothing but read with its standard
// input, whatever file of the host it comes from: it cannot write to a terminal or a file, leave
// its root by a directory, or change flags, offset and locks that the host shares.
//
// Evidence: sandbox · A command holds no descriptor of the host's terminal or files
func TestInputIsNoDescriptorOfTheHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "victim", "precious")
	openFile := func(name string, flags int) func(*testing.T) *os.File {
		return func(t *testing.T) *os.File {
			f, err := os.OpenFile(name, flags, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		}
	}
	inputs := map[string]func(*testing.T) *os.File{
		"terminal": func(t *testing.T) *os.File {
			user, term := openTerminal(t)
			if _, err := user.WriteString("typed\n\x04"); err != nil {
				t.Fatal(err)
			}
			return term
		},
		"file":      openFile(filepath.Join(dir, "victim"), os.O_RDWR),
		"read-only": openFile(filepath.Join(dir, "victim"), os.O_RDONLY),
		"directory": openFile(dir, os.O_RDONLY),
		"null":      openFile(os.DevNull, os.O_RDWR),
		"pipe": func(t *testing.T) *os.File {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			w.Close()
			t.Cleanup(func() { r.Close() })
			return r
		},
		"socket": func(t *testing.T) *os.File {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			mine, theirs := os.NewFile(uintptr(fds[0]), "mine"), os.NewFile(uintptr(fds[1]), "theirs")
			if err := unix.Shutdown(fds[0], unix.SHUT_WR); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { mine.Close(); theirs.Close() })
			return theirs
		},
	}
	isolated(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		for name, input := range inputs {
			t.Run(name, func(t *testing.T) {
				f := input(t)
				before := flagsOf(t, f)
				exit := mustExec(t, sb, Cmd{Args: []string{self(t)}, Env: []string{helperEnv + "=misuse-input"}, Stdin: f, Timeout: time.Minute})
				if exit.Code != 1 {
					t.Errorf("%v: %s%s", exit, exit.Stdout, exit.Stderr)
				}
				if after := flagsOf(t, f); after != before {
					t.Errorf("flags %#x, were %#x", after, before)
				}
				if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
					t.Error("the command locks the file")
				}
				exit = mustExec(t, sb, Cmd{Args: []string{"sh", "-c", "readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2"}, Stdin: input(t)})
				if links := strings.Fields(exit.Stdout.String()); len(links) != 3 || slices.ContainsFunc(links, func(l string) bool { return !strings.HasPrefix(l, "pipe:") }) {
					t.Errorf("standard files are %q", links)
				}
			})
		}
		if got := read(t, filepath.Join(dir, "victim")); got != "precious" {
			t.Errorf("the file is now %q", got)
		}
	})
}

func flagsOf(t *testing.T, f *os.File) (flags int) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return flags
}

// TestTerminalAsInput checks that a command gets what is typed, and that nothing typed after its
// end is taken from the host.
func TestTerminalAsInput(t *testing.T) {
	if !tier.Long() {
		t.Skip("failed once on a busy machine, the reason is not found yet: " + tier.Env + "=1")
	}
	t.Parallel()
	tiers(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		user, term := openTerminal(t)
		p, err := sb.Start(t.Context(), Cmd{Args: []string{"sh", "-c", "read x; echo got $x"}, Stdin: term})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := user.WriteString("first\n"); err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Stdout.String() != "got first\n" {
			t.Errorf("%v, %v: %q", exit, err, exit.Stdout)
		}
		if _, err := user.WriteString("second\n"); err != nil {
			t.Fatal(err)
		}
		fd := int(term.Fd())
		eventually(t, "what was typed after the end being there", func() bool {
			n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
			return n == 1
		})
		b := make([]byte, 64)
		if n, err := syscall.Read(fd, b); err != nil || string(b[:n]) != "second\n" {
			t.Errorf("%q, %v", b[:max(n, 0)], err)
		}
	})
}

// TestInputOfSilentFile checks that a command that does not read, and one that is killed, end while
// nothing comes from the file, and that the descriptors by which it was read are closed.
func TestInputOfSilentFile(t *testing.T) {
	tiers(t, func(t *testing.T, cfg Config) {
		sb := open(t, cfg)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		for range 50 {
			mustExec(t, sb, Cmd{Args: []string{"true"}, Stdin: r})
		}
		if exit := mustExec(t, sb, Cmd{Args: []string{"cat"}, Stdin: r, Timeout: 20 * time.Millisecond}); !exit.TimedOut {
			t.Error(exit)
		}
		eventually(t, "the end of all readers", func() bool {
			r.Close()
			_, err := w.Write([]byte("x"))
			return errors.Is(err, syscall.EPIPE)
		})
	})
}
