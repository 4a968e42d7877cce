package initproc

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"golang.org/x/sys/unix"
)

// in returns the value of a line of /proc/PID/status.
func in(t *testing.T, pid int, key string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("no %s", key)
	return ""
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

// running starts a shell script and waits until it runs.
func (g *guest) running(id uint64, script string) {
	g.t.Helper()
	g.start(Command{ID: id, Paths: []string{"/bin/sh"}, Args: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}}, nil)
	if a, _ := g.answer(); a.Event != Started || a.ID != id {
		g.t.Fatalf("%+v", a)
	}
}

// serves checks that commands can still run.
func (g *guest) serves(id uint64) {
	g.t.Helper()
	g.start(Command{ID: id, Paths: []string{"/bin/true"}, Args: []string{"true"}}, nil)
	for {
		a, _ := g.answer()
		if a.ID != id {
			continue // the end of another command
		}
		if a.Event == Started {
			continue
		}
		if a.Event != Exited || a.Wait != 0 {
			g.t.Fatalf("%+v", a)
		}
		return
	}
}

// TestSignalsFromInside checks that signals from inside neither reach the init process nor
// accumulate in it.
func TestSignalsFromInside(t *testing.T) {
	g := fork1(t, nil)
	g.answer()
	g.running(1, `s=1; while [ $s -lt 65 ]; do kill -$s 1; kill -$s 1; s=$((s+1)); done; exit 7`)
	if a, _ := g.answer(); a.Event != Exited || syscall.WaitStatus(a.Wait).ExitStatus() != 7 {
		t.Fatalf("%+v", a)
	}
	g.serves(2)
	if got := in(t, g.p.PID, "ShdPnd"); strings.Trim(got, "0") != "" {
		t.Errorf("signals %s are pending", got)
	}
	if got, want := in(t, g.p.PID, "SigBlk"), "0000000000010000"; got != want {
		t.Errorf("signals %s are blocked, want %s", got, want)
	}
	for _, set := range []string{"SigIgn", "SigCgt"} {
		if got := in(t, g.p.PID, set); strings.Trim(got, "0") != "" {
			t.Errorf("%s is %s", set, got)
		}
	}
}

// TestChildStoppedBeforeExec checks that the init process does not wait for a child that was
// stopped before it became its command, as by a process that stops every process it finds.
func TestChildStoppedBeforeExec(t *testing.T) {
	tier.Normal(t)
	g := fork1(t, nil)
	g.answer()
	g.running(1, `while :; do kill -STOP -1; done`)
	time.Sleep(10 * time.Millisecond)
	// Looking for its program in so many places takes a child a while, during which it is stopped.
	givenUp := false
	for try := uint64(0); try < 20 && !givenUp; try++ {
		g.start(Command{ID: 10 + try, Paths: manyPaths(), Args: []string{"true"}}, nil)
		a, _ := g.answer()
		for a.Event == Exited {
			a, _ = g.answer()
		}
		givenUp = a.Event == Failed && a.Errno == unix.ETIMEDOUT
		if a.ID != 10+try || !givenUp && a.Event != Started {
			t.Fatalf("%+v", a)
		}
	}
	if !givenUp {
		t.Error("control: no child was stopped for long")
	}
	// Most children that take less time are made to continue.
	g.start(Command{ID: 3, Paths: []string{"/bin/true"}, Args: []string{"true"}}, nil)
	for {
		if a, _ := g.answer(); a.ID == 3 {
			break
		}
	}
	g.ask(Reset(100))
	for {
		if a, _ := g.answer(); a.Event == Done && a.ID == 100 {
			break
		}
	}
	g.serves(101)
}

// manyPaths returns so many paths that a child needs about a second to try them.
func manyPaths() []string {
	return strings.Split(strings.Repeat("/x ", 1_300_000)+"/bin/true", " ")
}

// TestParentEndsBeforeExec checks that the end of the parent does not wait for a child either.
func TestParentEndsBeforeExec(t *testing.T) {
	g := fork1(t, nil)
	g.answer()
	g.start(Command{ID: 1, Paths: manyPaths(), Args: []string{"true"}}, nil)
	task := "/proc/" + strconv.Itoa(g.p.PID) + "/task/" + strconv.Itoa(g.p.PID) + "/children"
	soon(t, "birth", func() bool {
		b, err := os.ReadFile(task)
		if err != nil {
			t.Skip(err)
		}
		for _, child := range strings.Fields(string(b)) {
			pid, _ := strconv.Atoi(child)
			_ = unix.Kill(pid, unix.SIGSTOP)
		}
		return len(b) > 0
	})
	begun := time.Now()
	g.host.Close()
	soon(t, "the end", func() bool {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(g.p.PID) + "/stat")
		return err == nil && strings.Contains(string(b), ") Z ")
	})
	t.Logf("gone after %v", time.Since(begun))
}

// TestOrphansWithoutEnd checks that an endless stream of orphans does not delay requests.
func TestOrphansWithoutEnd(t *testing.T) {
	g := fork1(t, nil)
	g.answer()
	for id := uint64(1); id <= 4; id++ {
		g.running(id, `while :; do (: & : & : & : &); done`)
	}
	for id := uint64(10); id < 20; id++ {
		g.serves(id)
	}
	g.ask(Reset(100))
	for {
		if a, _ := g.answer(); a.Event == Done && a.ID == 100 {
			break
		}
	}
	g.serves(101)
}

// TestDeathInScript checks that a process that dies in the middle of its script releases its slot,
// and leaves nothing in the fork server.
func TestDeathInScript(t *testing.T) {
	parent := newParent(t)
	before := descriptors(t, parent.pid)
	for i := range 3 * nslots {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := &Script{}
		s.Wait()
		for range 300 {
			s.May(unix.SYS_CLOSE, s.File(fds[1]))
		}
		s.Must("never come here", unix.SYS_READ, N(firstFile), s.Bytes(make([]byte, 8)), N(1))
		p, err := parent.Fork(s, fds[1], unix.CLONE_NEWUSER|unix.CLONE_NEWPID)
		unix.Close(fds[1])
		if err != nil {
			unix.Close(fds[0])
			t.Skipf("no namespaces here: %v", err)
		}
		wantExit := false
		switch i % 3 {
		case 0:
			err = unix.Kill(p.PID, unix.SIGKILL)
		case 1:
			_, err = unix.Write(fds[0], []byte{1})
			unix.Kill(p.PID, unix.SIGKILL)
		case 2: // the parent has disappeared
			wantExit = true
		}
		unix.Close(fds[0])
		var ws unix.WaitStatus
		if waitErr := waitFor(p.PID, &ws); errors.Join(err, waitErr) != nil {
			t.Fatal(err, waitErr)
		}
		if wantExit && ws.ExitStatus() != 125 {
			t.Errorf("%d: ended by %v", i, ws)
		}
		p.Scripted()
	}
	if n := descriptors(t, parent.pid); n != before {
		t.Errorf("the fork server has %d descriptors, had %d", n, before)
	}
	if n := len(parent.free); n != nslots {
		t.Errorf("%d slots are free", n)
	}
}

func newParent(t *testing.T) *Parent {
	t.Helper()
	p, err := NewParent()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// tryFork makes a process that runs s, and ends it.
func tryFork(t *testing.T, parent *Parent, s *Script) error {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	p, err := parent.Fork(s, fds[1], unix.CLONE_NEWUSER|unix.CLONE_NEWPID)
	unix.Close(fds[1])
	if err != nil {
		return err
	}
	defer p.Scripted()
	g := &guest{t: t, p: p, host: os.NewFile(uintptr(fds[0]), "host")}
	fds[0] = -1
	a, _ := g.answer()
	g.host.Close()
	if err := waitFor(p.PID, nil); err != nil {
		t.Fatal(err)
	}
	if a.Event != Ready {
		return s.Explain(&a)
	}
	return nil
}

// TestNurseryDeath checks that killing a fork server kills no other process, and is reported.
func TestNurseryDeath(t *testing.T) {
	g := fork1(t, nil)
	g.answer()
	parent := g.p.p
	if err := unix.Kill(parent.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := tryFork(t, parent, &Script{}); !errors.Is(err, ErrForkServer) {
			t.Fatalf("Fork: %v", err)
		}
	}
	g.serves(1)
	if err := tryFork(t, newParent(t), &Script{}); err != nil {
		t.Error(err)
	}
}

// TestTooManyFiles checks that if descriptors cannot be sent, only that process fails: a script
// that lacks one would take another in its place.
func TestTooManyFiles(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, tt := range []struct {
		name  string
		files int
		limit uint64 // of the fork server's descriptors
		bad   bool   // the last of the files is not open
		want  error
	}{
		{"received few", 20, 10, false, unix.EMFILE},
		{"received some of many", 600, 400, false, unix.EMFILE},
		{"sent none", 20, 0, true, unix.EBADF},
		{"sent some", 600, 0, true, unix.EBADF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parent := newParent(t)
			if err := tryFork(t, parent, &Script{}); err != nil {
				t.Skip(err)
			}
			var old unix.Rlimit
			if err := unix.Prlimit(parent.pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
				t.Fatal(err)
			}
			if tt.limit > 0 {
				now := unix.Rlimit{Cur: tt.limit, Max: old.Max}
				if err := unix.Prlimit(parent.pid, unix.RLIMIT_NOFILE, &now, nil); err != nil {
					t.Fatal(err)
				}
			}
			s := &Script{}
			for range tt.files {
				s.File(int(r.Fd()))
			}
			if tt.bad {
				s.File(1 << 20)
			}
			if err := tryFork(t, parent, s); !errors.Is(err, tt.want) || errors.Is(err, ErrForkServer) {
				t.Errorf("Fork: %v, want %v", err, tt.want)
			}
			if err := unix.Prlimit(parent.pid, unix.RLIMIT_NOFILE, &old, nil); err != nil {
				t.Fatal(err)
			}
			s = &Script{}
			s.Must("write", unix.SYS_WRITE, s.File(int(w.Fd())), s.String("x"), N(1))
			if err := tryFork(t, parent, s); err != nil {
				t.Errorf("the next one: %v", err)
			}
			if n := descriptors(t, parent.pid); n != 4 {
				t.Errorf("the fork server has %d descriptors", n)
			}
		})
	}
}

// TestCloseInTheMiddle closes the parent while a process runs its script, and forks afterwards.
func TestCloseInTheMiddle(t *testing.T) {
	parent := newParent(t)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &Script{}
	s.Wait()
	p, err := parent.Fork(s, fds[1], unix.CLONE_NEWUSER|unix.CLONE_NEWPID)
	unix.Close(fds[1])
	g := &guest{t: t, p: p, host: os.NewFile(uintptr(fds[0]), "host")}
	defer g.host.Close()
	if err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	parent.Close()
	if err := tryFork(t, parent, &Script{}); !errors.Is(err, ErrForkServer) {
		t.Errorf("Fork: %v", err)
	}
	if parent.slots == nil {
		t.Error("the script was taken away")
	}
	if _, err := g.host.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if a, _ := g.answer(); a.Event != Ready {
		t.Errorf("%+v", a)
	}
	p.Scripted()
	if parent.slots != nil {
		t.Error("the scripts are still mapped")
	}
	g.serves(1)
	g.host.Close()
	if err := waitFor(p.PID, nil); err != nil {
		t.Error(err)
	}
}

// TestCommandHasNoDescriptors checks that a command has only its standard files open.
func TestCommandHasNoDescriptors(t *testing.T) {
	g := fork1(t, nil)
	g.answer()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 {
		g.start(Command{ID: 1, Paths: []string{"/bin/sh"}, Args: []string{"sh", "-c", `for f in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$f ] && printf $f; done; echo`}}, w)
		g.answer()
		g.answer()
	}
	w.Close()
	b := make([]byte, 64)
	n, _ := r.Read(b)
	if got := string(b[:n]); got != "012\n012\n" {
		t.Errorf("open: %q", got)
	}
	soon(t, "the close of what came with requests", func() bool { return descriptors(t, g.p.PID) == 5 })
}
