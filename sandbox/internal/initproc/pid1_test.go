package initproc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain restarts a test binary that is linked with the C library, as under the race detector,
// with the environment of a broker.
func TestMain(m *testing.M) {
	name, value, _ := strings.Cut(Env, "=")
	if os.Getenv(name) != value {
		os.Setenv(name, value)
		if exe, err := os.Executable(); err == nil {
			_ = syscall.Exec(exe, os.Args, os.Environ())
		}
	}
	os.Exit(m.Run())
}

// guest is an init process under test.
type guest struct {
	t    testing.TB
	p    *Process
	host *os.File
}

// fork1 makes a guest in a PID namespace.
func fork1(t testing.TB, write func(s *Script)) *guest {
	t.Helper()
	parent, err := NewParent()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(parent.Close)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &Script{}
	s.Must("leave the session", unix.SYS_SETSID)
	s.Wait()
	if write != nil {
		write(s)
	}
	p, err := parent.Fork(s, fds[1], unix.CLONE_NEWUSER|unix.CLONE_NEWPID)
	unix.Close(fds[1])
	if err != nil {
		unix.Close(fds[0])
		t.Skipf("no namespaces here: %v", err)
	}
	g := &guest{t, p, os.NewFile(uintptr(fds[0]), "host")}
	t.Cleanup(func() {
		g.host.Close()
		var ws unix.WaitStatus
		if err := waitFor(p.PID, &ws); err != nil {
			t.Errorf("wait: %v", err)
		}
		if ws.Signaled() {
			t.Errorf("the first process ended by %v", ws.Signal())
		}
		p.Scripted()
	})
	if _, err := g.host.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	return g
}

func waitFor(pid int, ws *unix.WaitStatus) error {
	for {
		if _, err := unix.Wait4(pid, ws, 0, nil); err != unix.EINTR {
			return err
		}
	}
}

func (g *guest) answer() (Answer, []int) {
	g.t.Helper()
	unix.SetsockoptTimeval(int(g.host.Fd()), unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 20})
	b, oob := make([]byte, 512), make([]byte, 64)
	n, on, err := 0, 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, on, _, _, err = unix.Recvmsg(int(g.host.Fd()), b, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	a, err := ParseAnswer(b[:n])
	if err != nil {
		g.t.Fatalf("%d bytes: %v", n, err)
	}
	var fds []int
	if msgs, _ := unix.ParseSocketControlMessage(oob[:on]); len(msgs) > 0 {
		fds, _ = unix.ParseUnixRights(&msgs[0])
	}
	return a, fds
}

func (g *guest) ask(m *Message) {
	g.t.Helper()
	var fds []int
	for _, f := range m.Files {
		fds = append(fds, int(f.Fd()))
	}
	if err := unix.Sendmsg(int(g.host.Fd()), m.Bytes, unix.UnixRights(fds...), nil, 0); err != nil {
		g.t.Fatal(err)
	}
	m.Close()
}

func (g *guest) start(c Command, out *os.File) {
	g.t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	defer null.Close()
	if out == nil {
		out = null
	}
	c.Files = [3]*os.File{null, out, out}
	if c.Dir == "" {
		c.Dir = "/"
	}
	m, err := c.Encode()
	if err != nil {
		g.t.Fatal(err)
	}
	g.ask(m)
}

// Evidence: sandbox · The init process starts commands and reports how they end
func TestServe(t *testing.T) {
	g := fork1(t, nil)
	if a, _ := g.answer(); a.Event != Ready {
		t.Fatalf("%+v", a)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	g.start(Command{ID: 7, Paths: []string{"/nonexistent/sh", "/bin/sh"}, Args: []string{"sh", "-c", `echo "$1 $V $$"; exit 3`, "sh", "one"}, Env: []string{"V=two"}}, w)
	w.Close()
	a, _ := g.answer()
	if a.Event != Started || a.ID != 7 || a.PID < 2 {
		t.Fatalf("%+v", a)
	}
	a, _ = g.answer()
	if a.Event != Exited || a.ID != 7 || syscall.WaitStatus(a.Wait).ExitStatus() != 3 || a.RSS == 0 {
		t.Errorf("%+v", a)
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(r); err != nil || out.String() != "one two 2\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestFailures(t *testing.T) {
	g := fork1(t, nil)
	g.answer()
	for _, tt := range []struct {
		c     Command
		stage Stage
		errno syscall.Errno
	}{
		{Command{Paths: []string{"/nonexistent"}}, StageExec, unix.ENOENT},
		{Command{Paths: []string{"/etc/passwd", "/nonexistent"}}, StageExec, unix.EACCES},
		{Command{Paths: []string{"/bin/true"}, Dir: "/nonexistent"}, StageDir, unix.ENOENT},
		{Command{Paths: []string{"/bin/true"}, Dir: "/bin/true"}, StageDir, unix.ENOTDIR},
	} {
		tt.c.Args = []string{"x"}
		g.start(tt.c, nil)
		if a, _ := g.answer(); a.Event != Failed || a.Stage != tt.stage || a.Errno != tt.errno {
			t.Errorf("%+v: %+v", tt.c, a)
		}
	}
}

// TestLargeArguments checks that arguments that do not fit into a frame are sent in a file.
func TestLargeArguments(t *testing.T) {
	g := fork1(t, nil)
	g.answer()
	big := strings.Repeat("x", 100<<10)
	g.start(Command{Paths: []string{"/bin/sh"}, Args: []string{"sh", "-c", "test ${#A} = 102400 && test ${#B} = 102400"}, Env: []string{"A=" + big, "B=" + big}}, nil)
	if a, _ := g.answer(); a.Event != Started {
		t.Fatalf("%+v", a)
	}
	if a, _ := g.answer(); a.Wait != 0 {
		t.Errorf("%+v", a)
	}
}

func TestSignalAndReset(t *testing.T) {
	g := fork1(t, nil)
	g.answer()
	g.start(Command{ID: 1, Paths: []string{"/bin/sleep"}, Args: []string{"sleep", "1000"}}, nil)
	g.answer()
	g.ask(Signal(50, 1, unix.SIGTERM))
	if a, _ := g.answer(); a.Event != Done || a.ID != 50 || a.Errno != 0 {
		t.Errorf("%+v", a)
	}
	if a, _ := g.answer(); a.Event != Exited || syscall.WaitStatus(a.Wait).Signal() != unix.SIGTERM {
		t.Errorf("%+v", a)
	}
	g.ask(Signal(51, 1, unix.SIGTERM))
	if a, _ := g.answer(); a.Errno != unix.ESRCH {
		t.Errorf("%+v", a)
	}
	g.start(Command{ID: 2, Paths: []string{"/bin/sh"}, Args: []string{"sh", "-c", "setsid sleep 1000 & setsid sleep 1000 & kill -STOP $$"}}, nil)
	g.answer()
	time.Sleep(20 * time.Millisecond)
	g.ask(Reset(52))
	if a, _ := g.answer(); a.Event != Exited || a.ID != 2 {
		t.Errorf("%+v", a)
	}
	if a, _ := g.answer(); a.Event != Done || a.ID != 52 || a.Errno != 0 {
		t.Errorf("%+v", a)
	}
}

func TestListen(t *testing.T) {
	g := fork1(t, nil)
	g.answer()
	addr := make([]byte, 16)
	addr[0], addr[4] = unix.AF_INET, 127
	addr[7] = 1
	g.ask(Listen(9, unix.AF_INET, unix.SOCK_STREAM, 16, addr))
	a, fds := g.answer()
	if a.Event != Done || a.Errno != 0 || len(fds) != 1 {
		t.Fatalf("%+v, %v", a, fds)
	}
	defer unix.Close(fds[0])
	if on, err := unix.GetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || on != 1 {
		t.Errorf("%d, %v", on, err)
	}
}

func TestScript(t *testing.T) {
	var bit uint64
	g := fork1(t, func(s *Script) {
		fd := s.Must("open null", unix.SYS_OPENAT, N(unix.AT_FDCWD), s.String("/dev/null"), N(unix.O_RDWR))
		s.Must("write to it", unix.SYS_WRITE, fd, s.String("x"), N(1))
		s.MustBut(unix.ENOENT, "remove nothing", unix.SYS_UNLINKAT, N(unix.AT_FDCWD), s.String("/nonexistent"), N(0))
		s.May(unix.SYS_CLOSE, fd)
		s.Else(1)
		s.Must("be left out", unix.SYS_CLOSE, N(-1))
		s.May(unix.SYS_CLOSE, N(-1))
		s.Probe()
		s.May(unix.SYS_GETPID)
		bit = s.Probe()
	})
	if a, _ := g.answer(); a.Event != Ready || a.Probes != bit {
		t.Errorf("%+v", a)
	}
}

func TestRefusal(t *testing.T) {
	var script *Script
	g := fork1(t, func(s *Script) {
		script = s
		s.Must("do the impossible", unix.SYS_CLOSE, N(-1))
	})
	a, _ := g.answer()
	if a.Event != Refused {
		t.Fatalf("%+v", a)
	}
	if err := script.Explain(&a); err == nil || err.Error() != "do the impossible: bad file descriptor" {
		t.Errorf("%v", err)
	}
}

// TestMemory checks that the parent's memory is gone, and that little new memory is used.
//
// Evidence: sandbox · The init process keeps none of its parent's memory
func TestMemory(t *testing.T) {
	g := fork1(t, nil)
	g.answer()
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(g.p.PID) + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(maps), "[heap]") || strings.Contains(string(maps), "[stack]") || strings.Count(string(maps), "\n") > 12 {
		t.Errorf("still mapped:\n%s", maps)
	}
	rollup, err := os.ReadFile("/proc/" + strconv.Itoa(g.p.PID) + "/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(rollup)) {
		f := strings.Fields(line)
		if f[0] != "Private_Dirty:" {
			continue
		}
		if kib, err := strconv.Atoi(f[1]); err != nil || kib > 256 {
			t.Errorf("a first process has %s KiB of its own", f[1])
		}
	}
}

// TestFiles checks that all files that a script names are passed on, however many there are.
func TestFiles(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	g := fork1(t, func(s *Script) {
		for range 600 {
			s.May(unix.SYS_CLOSE, s.File(int(r.Fd())))
			s.Probe()
			s.probes = s.probes[:min(len(s.probes), 64)]
		}
		s.Must("write", unix.SYS_WRITE, s.File(int(w.Fd())), s.String("text"), N(4))
	})
	w.Close()
	if a, _ := g.answer(); a.Event != Ready || a.Probes != 1<<64-1 {
		t.Fatalf("%+v", a)
	}
	b := make([]byte, 4)
	if _, err := r.Read(b); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestRun(t *testing.T) {
	s := &Script{}
	dir := t.TempDir()
	fd := s.Must("open", unix.SYS_OPENAT, N(unix.AT_FDCWD), s.String(dir+"/x"), N(unix.O_CREAT|unix.O_WRONLY), N(0o600))
	s.Must("write", unix.SYS_WRITE, fd, s.String("text"), N(4))
	s.Must("close", unix.SYS_CLOSE, fd)
	s.Must("close again", unix.SYS_CLOSE, fd)
	if err := s.Run(); err == nil || err.Error() != "close again: bad file descriptor" {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(dir + "/x"); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
}

func BenchmarkStart(b *testing.B) {
	b.ReportAllocs()
	g := fork1(b, nil)
	g.answer()
	for b.Loop() {
		g.start(Command{ID: 1, Paths: []string{"/bin/true"}, Args: []string{"true"}}, nil)
		g.answer()
		g.answer()
	}
}
