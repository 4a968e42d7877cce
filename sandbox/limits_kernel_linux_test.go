package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"golang.org/x/sys/unix"
)

// holders are ways to hold memory that is in no process's resident set. Each takes about one MiB
// per call, or more, and returns what keeps it.
var holders = map[string]func() (any, error){
	"stream sockets": func() (any, error) { return fillPair(unix.SOCK_STREAM, 4096, false) },
	"packets":        func() (any, error) { return fillPair(unix.SOCK_SEQPACKET, 4096, false) },
	"datagrams":      func() (any, error) { return fillPair(unix.SOCK_DGRAM, 60000, false) },
	"tiny packets":   func() (any, error) { return fillPair(unix.SOCK_SEQPACKET, 1, false) },
	"dead sender":    func() (any, error) { return fillPair(unix.SOCK_STREAM, 4096, true) },
	"dead packets":   func() (any, error) { return fillPair(unix.SOCK_SEQPACKET, 1, true) },
	"sockets in flight": func() (any, error) {
		a, err := fillPair(unix.SOCK_STREAM, 4096, false)
		if err != nil {
			return nil, err
		}
		return park(a[0], a[1])
	},
	"tcp": fillTCP,
	"udp": fillUDP,
	"anonymous files": func() (any, error) {
		fd, err := filledFile()
		return fd, err
	},
	"files in flight": func() (any, error) {
		fd, err := filledFile()
		if err != nil {
			return nil, err
		}
		return park(fd)
	},
	"read-only files in flight": func() (any, error) {
		fd, err := filledFile()
		if err != nil {
			return nil, err
		}
		again, err := unix.Open(fmt.Sprint("/proc/self/fd/", fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
		return park(again)
	},
	"mapped and closed": func() (any, error) {
		fd, err := filledFile()
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd)
		return unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED) // one page, never touched
	},
	"unlinked files": func() (any, error) {
		fd, err := unix.Open("/dev/shm", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, err
		}
		if _, err := unix.Write(fd, make([]byte, 1<<20)); err != nil {
			return nil, err
		}
		return park(fd)
	},
}

// fillPair fills the buffers of connected sockets, and closes the sender on request.
func fillPair(kind, size int, dead bool) ([]int, error) {
	var all []int
	for range 4 {
		p, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		_ = unix.SetsockoptInt(p[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 1<<20)
		b := make([]byte, size)
		for err == nil {
			_, err = unix.Write(p[0], b)
		}
		if dead {
			unix.Close(p[0])
			p[0] = p[1]
		}
		all = append(all, p[0], p[1])
	}
	return all, nil
}

// park sends descriptors into a socket that nobody reads, and closes them here.
func park(fds ...int) (any, error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Sendmsg(p[0], []byte("x"), unix.UnixRights(fds...), nil, unix.MSG_DONTWAIT); err != nil {
		return nil, err
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	return p, nil
}

func filledFile() (int, error) {
	fd, err := unix.MemfdCreate("hoard", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	_, err = unix.Write(fd, make([]byte, 1<<20))
	return fd, err
}

func fillTCP() (any, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return nil, err
	}
	if err := c.(*net.TCPConn).SetWriteBuffer(256 << 10); err != nil { // whatever this host allows by itself
		return nil, err
	}
	_ = c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
	_, err = c.Write(make([]byte, 16<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("the buffers hold everything: %v", err)
	}
	return []any{l, c}, nil
}

func fillUDP() (any, error) {
	var all []any
	for range 8 {
		r, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		c, err := net.Dial("udp4", r.LocalAddr().String())
		if err != nil {
			return nil, err
		}
		for range 8 {
			_, _ = c.Write(make([]byte, 50000))
		}
		all = append(all, r, c)
	}
	return all, nil
}

func init() {
	helpers["hold"] = func(a []string) error { // in as many steps, not faster than the watch looks
		n, err := strconv.Atoi(a[1])
		if err != nil {
			return err
		}
		var all []any
		for range n {
			kept, err := holders[a[0]]()
			if err != nil {
				return err
			}
			all = append(all, kept)
		}
		fmt.Println("held", len(all))
		if len(a) > 2 {
			time.Sleep(map[string]time.Duration{"wait": time.Minute, "rest": 2 * watchEvery}[a[2]])
		}
		runtime.KeepAlive(all)
		return nil
	}
	helpers["files-come-and-go"] = func([]string) error {
		for range 400 {
			fd, err := filledFile()
			if err != nil {
				return err
			}
			if err := unix.Close(fd); err != nil {
				return err
			}
		}
		fd, err := unix.MemfdCreate("name", unix.MFD_ALLOW_SEALING)
		if err != nil {
			return err
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_GROW); err != nil {
			return err
		}
		to, err := os.Readlink(fmt.Sprint("/proc/self/fd/", fd))
		if err != nil || to != "/memfd:name (deleted)" {
			return fmt.Errorf("%q, %v", to, err)
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags != 0 {
			return fmt.Errorf("flags %d, %v", flags, err)
		}
		return unix.Fchmod(fd, 0o600)
	}
}

// watched returns a sandbox whose memory is watched from outside, without a control group.
func watched(t *testing.T, limit int64) Sandbox {
	t.Helper()
	cfg := walled(t, TierNamespaces)
	cfg, err := cfg.withDir(t).normalize()
	if err != nil {
		t.Fatal(err)
	}
	ws, err := openWorkspace(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Limits.MemoryTotal = limit
	r, err := raiseWatched(t, &cfg, ws)
	if err != nil {
		_ = ws.remove()
		t.Skipf("this host does not grant the tier: %v", err)
	}
	sb := newLocal(ws, r.plan.env, r.iso, r.run)
	t.Cleanup(func() { sb.Close() })
	return sb
}

// largestBuffer returns the most that one socket of this host can hold. A socket whose sender is
// gone counts as if it held that much, because the kernel does not tell what it holds.
func largestBuffer(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/net/core/wmem_max")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return 2 * n
}

// TestMemoryOfTheKernel checks that memory in socket buffers, and in files that no process has
// open, counts towards the limit of the whole sandbox if no control group can be made.
//
// Evidence: sandbox · Memory in sockets and in descriptors in flight counts towards the total
func TestMemoryOfTheKernel(t *testing.T) {
	tier.Normal(t)
	const limit, quiet = 96 << 20, 48 << 20 // the rest is for the helper process itself
	sb := watched(t, limit)
	for _, name := range slices.Sorted(maps.Keys(holders)) {
		exit := mustExec(t, sb, Cmd{Args: []string{self(t), name, "300", "wait"}, Env: []string{helperEnv + "=hold"}, Timeout: 50 * time.Second})
		if exit.Exceeded != ExceededMemory {
			t.Errorf("%s: %v: %s%s", name, exit, exit.Stdout, exit.Stderr)
		}
		eventually(t, "a sandbox that can be used again", func() bool {
			return mustExec(t, sb, Cmd{Args: []string{"sleep", "0.1"}}).Success()
		})
	}
	// What is within the limit goes on, and what was released does not count.
	for _, name := range slices.Sorted(maps.Keys(holders)) {
		steps := 3
		if strings.HasPrefix(name, "dead ") {
			if steps = int(quiet / (4 * largestBuffer(t))); steps == 0 {
				continue
			}
		}
		exit := mustExec(t, sb, Cmd{Args: []string{self(t), name, strconv.Itoa(min(steps, 3)), "rest"}, Env: []string{helperEnv + "=hold"}})
		if !exit.Success() {
			t.Errorf("%s within the limit: %v: %s%s", name, exit, exit.Stdout, exit.Stderr)
		}
	}
	exit := mustExec(t, sb, Cmd{Args: []string{self(t)}, Env: []string{helperEnv + "=files-come-and-go"}})
	if !exit.Success() || len(exit.Denials) > 0 {
		t.Errorf("files that come and go: %v, %v: %s", exit, exit.Denials, exit.Stderr)
	}
}

// TestFilesOfAnInterruptedBroker sends signals to the threads of the broker, as Go's scheduler
// does, while it makes anonymous files for a command. Each call must return a new file.
func TestFilesOfAnInterruptedBroker(t *testing.T) {
	tier.Normal(t)
	sb := watched(t, 96<<20)
	stop, stopped := make(chan struct{}), make(chan struct{})
	broker := theBrokerOf(t, os.Getpid())
	go func() {
		defer close(stopped)
		for {
			threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", broker))
			for _, path := range threads {
				tid, _ := strconv.Atoi(filepath.Base(path))
				_ = unix.Tgkill(broker, tid, unix.SIGURG) // it may have ended
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for range 4 {
		exit := mustExec(t, sb, Cmd{Args: []string{self(t)}, Env: []string{helperEnv + "=files-come-and-go"}})
		if !exit.Success() {
			t.Errorf("%v: %s", exit, exit.Stderr)
		}
	}
	close(stop)
	<-stopped
}

func init() {
	// Lists what of /proc, besides processes, and of /sys can be opened for writing.
	helpers["writable-settings"] = func([]string) error {
		own := fmt.Sprintf("/proc/%d", os.Getpid())
		for _, root := range []string{"/proc", "/sys"} {
			_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return nil
				}
				name := strings.TrimPrefix(path, "/proc/")
				if path != root && root == "/proc" && (strings.Trim(name, "0123456789") == "" || path == own) {
					return fs.SkipDir
				}
				if d.IsDir() {
					if fd, err := unix.Open(path+"/luthier-probe", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600); err == nil {
						unix.Close(fd)
						fmt.Println(path)
					}
					return nil
				}
				if fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
					var st unix.Stat_t
					if unix.Fstat(fd, &st) == nil && st.Rdev != unix.Mkdev(1, 3) { // /dev/null hides a file
						fmt.Println(path)
					}
					unix.Close(fd)
				}
				return nil
			})
		}
		return nil
	}
}

// TestSettingsAreReadOnly checks that no setting of the kernel can be opened for writing inside,
// that its mount says so where the sandbox has its own /proc, and that what the kernel shows of all
// the machine's memory and timers is hidden.
//
// Evidence: sandbox · Kernel settings in /proc are read-only
func TestSettingsAreReadOnly(t *testing.T) {
	t.Parallel()
	for _, tier := range []Tier{TierNamespaces, TierHostNet, TierBubblewrap, TierLandlock} {
		t.Run(tier.String(), func(t *testing.T) {
			sb := open(t, walled(t, tier))
			exit := mustExec(t, sb, Cmd{Args: []string{self(t)}, Env: []string{helperEnv + "=writable-settings"}})
			if out := exit.Stdout.String(); !exit.Success() || out != "" {
				t.Errorf("%v: can be opened for writing:\n%s%s", exit, out, exit.Stderr)
			}
			if tier == TierLandlock {
				return
			}
			for _, name := range procReadOnly {
				if _, err := os.Lstat(name); err != nil {
					continue
				}
				if opts := optionsOf(sh(t, sb, "cat /proc/self/mountinfo"), name); !strings.HasPrefix(opts, "ro,") {
					t.Errorf("%s is mounted with %q", name, opts)
				}
			}
			for _, name := range procHidden {
				if _, err := os.Lstat(name); err == nil && sh(t, sb, "cat "+name+" || true") != "" {
					t.Errorf("%s can be read", name)
				}
			}
		})
	}
}

// optionsOf returns the options of the last mount at a path.
func optionsOf(mountinfo, path string) (opts string) {
	for line := range strings.Lines(mountinfo) {
		if f := strings.Fields(line); len(f) > 5 && f[4] == path {
			opts = f[5]
		}
	}
	return opts
}
