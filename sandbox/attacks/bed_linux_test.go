package attacks_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// victim is a host process that attacks aim at. It holds the canary open, has the secret in its
// environment and a text in its memory, and returns that text on request.
type victim struct {
	cmd   *exec.Cmd
	ask   io.WriteCloser
	tell  *bufio.Scanner
	addr  string // of the text
	fd    string // of the canary
	about []string
}

const victimText = "what the victim holds"

func init() {
	helpers["victim"] = func(a []string) error {
		// If only children may be traced on this host, this process allows any tracer.
		_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
		page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return err
		}
		copy(page, victimText)
		fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		fmt.Println(uintptr(unsafe.Pointer(&page[0])), fd)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(string(page[:len(victimText)]))
		}
		return nil
	}
}

// victim starts a victim process for this run.
func (b *bed) victim() *victim {
	b.t.Helper()
	if v, ok := b.state["victim"].(*victim); ok {
		return v
	}
	v := &victim{cmd: exec.Command(self(b.t), canary(b), b.secret)}
	v.cmd.Env = append(os.Environ(), helperEnv+"=victim", "VICTIM_KEY="+b.secret)
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := v.cmd.StdinPipe()
	out, err2 := v.cmd.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		b.t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.undo = append(b.undo, func() {
		in.Close()
		_ = v.cmd.Process.Kill()
		_ = v.cmd.Wait()
	})
	v.ask, v.tell = in, bufio.NewScanner(out)
	if !v.tell.Scan() {
		b.t.Fatal("the victim did not start")
	}
	v.about = strings.Fields(v.tell.Text())
	v.addr, v.fd = v.about[0], v.about[1]
	b.state["victim"] = v
	return v
}

func (v *victim) pid() string { return strconv.Itoa(v.cmd.Process.Pid) }

// victimHurt checks whether the victim is alive and still holds the same text.
func victimHurt(b *bed) string {
	v := b.victim()
	if stopped(v.cmd.Process.Pid) {
		return "the victim is stopped"
	}
	if _, err := io.WriteString(v.ask, "\n"); err != nil {
		return "the victim is dead"
	}
	if !v.tell.Scan() {
		return "the victim is dead"
	}
	if got := v.tell.Text(); got != victimText {
		return fmt.Sprintf("the victim holds %q", got)
	}
	return ""
}

// stopped reports whether /proc/PID/stat shows the process as stopped.
func stopped(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "T") || strings.HasPrefix(rest, "t")
}

// listen opens a listener on the host that counts its callers, and returns its address.
func (b *bed) listen(network, addr string) string {
	b.t.Helper()
	count := new(atomic.Int64)
	b.state["count"] = count
	if strings.HasPrefix(network, "udp") || strings.HasPrefix(network, "ip4") || network == "unixgram" {
		return b.receive(network, addr, count)
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		b.t.Skipf("this host cannot listen on %s %s: %v", network, addr, err)
	}
	b.undo = append(b.undo, func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			c.Close()
		}
	}()
	if network == "unix" && !strings.HasPrefix(addr, "@") {
		_ = os.Chmod(addr, 0o777)
	}
	return l.Addr().String()
}

// receive counts datagrams.
func (b *bed) receive(network, addr string, count *atomic.Int64) string {
	b.t.Helper()
	c, err := net.ListenPacket(network, addr)
	if err != nil {
		b.t.Skipf("this host cannot receive on %s %s: %v", network, addr, err)
	}
	b.undo = append(b.undo, func() { c.Close() })
	go func() {
		for buf := make([]byte, 4096); ; {
			if _, _, err := c.ReadFrom(buf); err != nil {
				return
			}
			count.Add(1)
		}
	}()
	return c.LocalAddr().String()
}

// reached reports that someone connected to the listener. A caller connects before its program
// ends, so only the count may lag behind.
func reached(b *bed) string {
	count, ok := b.state["count"].(*atomic.Int64)
	if !ok {
		return ""
	}
	wait := 100 * time.Millisecond
	if b.sb == nil {
		wait = time.Minute // a connection is expected
	}
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if n := count.Load(); n > 0 {
			return fmt.Sprintf("the host's listener was reached %d times", n)
		}
	}
	return ""
}

// handsOut opens a socket on the host that passes the place outside to whoever asks.
func (b *bed) handsOut() string {
	path := filepath.Join(b.out, "host-sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		b.t.Fatal(err)
	}
	b.undo = append(b.undo, func() { l.Close() })
	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			if d, err := os.Open(b.out); err == nil {
				_, _, _ = c.WriteMsgUnix([]byte("x"), unix.UnixRights(int(d.Fd())), nil)
				d.Close()
			}
			c.Close()
		}
	}()
	return path
}

// shortDir makes a directory outside with a name short enough for a socket below /proc/self/root.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
