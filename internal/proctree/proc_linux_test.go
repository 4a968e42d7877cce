package proctree

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	rest := " S 12 34 56 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 789 10 11"
	for _, tt := range []struct {
		name, in string
		want     Stat
		bad      bool
	}{
		{name: "plain", in: "42 (sleep)" + rest, want: Stat{42, "sleep", 'S', 12, 34, 56, 789}},
		{name: "spaces and parentheses", in: "42 (a) S 1 (b)" + rest, want: Stat{42, "a) S 1 (b", 'S', 12, 34, 56, 789}},
		{name: "newline", in: "42 (a\nb)" + rest + "\n", want: Stat{42, "a\nb", 'S', 12, 34, 56, 789}},
		{name: "empty name", in: "42 ()" + rest, want: Stat{42, "", 'S', 12, 34, 56, 789}},
		{name: "empty", in: "", bad: true},
		{name: "no name", in: "42 sleep" + rest, bad: true},
		{name: "no pid", in: "(sleep)" + rest, bad: true},
		{name: "zero", in: "0 (x)" + rest, bad: true},
		{name: "cut", in: "42 (sleep) S 12 34", bad: true},
		{name: "not a number", in: "42 (sleep)" + strings.Replace(rest, "34", "x", 1), bad: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseStat([]byte(tt.in))
			if (err != nil) != tt.bad {
				t.Fatalf("error %v", err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (sleep) S 12 34 56 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 789 10 11"))
	f.Add([]byte("1 (a) b (c) Z 0 0 0"))
	f.Add([]byte(") ("))
	if b, err := os.ReadFile("/proc/self/stat"); err == nil {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseStat(b)
		if err == nil && (s.PID < 1 || !strings.Contains(string(b), "("+s.Comm+")")) {
			t.Errorf("%q gives %+v", b, s)
		}
	})
}

func TestReadSelf(t *testing.T) {
	s, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if s.PID != os.Getpid() || s.PPID != os.Getppid() || s.Start == 0 {
		t.Errorf("%+v", s)
	}
	all, err := List()
	if err != nil || len(all) < 2 {
		t.Errorf("%d processes, %v", len(all), err)
	}
}

// start runs a shell script in its own process tree.
func start(t *testing.T, marker, script string) (*exec.Cmd, *Tree) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = NewGroup()
	cmd.Env = append(os.Environ(), marker)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tree, err := Track(cmd.Process, marker)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, tree
}

func running(t *testing.T, arg string) int {
	t.Helper()
	all, err := List()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range all {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(s.PID) + "/cmdline")
		if s.State != 'Z' && strings.HasPrefix(string(b), "sleep\x00"+arg+"\x00") {
			n++
		}
	}
	return n
}

func await(t *testing.T, arg string, want int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); running(t, arg) != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d processes sleep %s, want %d", running(t, arg), arg, want)
		}
	}
}

func TestKillFindsTheWholeTree(t *testing.T) {
	for i, tt := range []struct {
		script string
		n      int
	}{
		{"sleep N & sleep N; true", 2},
		{"setsid sleep N & sleep N; true", 2},
		{"(setsid sh -c 'setsid sleep N & sleep N' &); sleep N; true", 3}, // orphaned, still has the marker
		{"setsid env -i sleep N & sleep N; true", 2},                      // lost the marker, still has its parent
	} {
		arg := strconv.Itoa(70000 + os.Getpid()*10 + i)
		other, _ := start(t, "PROC_TEST=other"+arg+";", "exec sleep 1"+arg)
		cmd, tree := start(t, "PROC_TEST="+arg+";", strings.ReplaceAll(tt.script, "N", arg))
		await(t, arg, tt.n)
		if err := tree.Kill(); err != nil {
			t.Error(err)
		}
		if n := running(t, arg); n != 0 {
			t.Errorf("%q left %d", tt.script, n)
		}
		_ = cmd.Wait()
		tree.Ended()
		if code, sig := Status(cmd.ProcessState); sig != syscall.SIGKILL || code != 137 {
			t.Errorf("%q: status %d, signal %v", tt.script, code, sig)
		}
		if running(t, "1"+arg) != 1 {
			t.Error("a process of another tree was killed")
		}
		_ = other.Process.Kill()
		_ = other.Wait()
	}
}

// TestEndedTreeLeavesNumbersAlone: after its root was waited for, a tree neither signals nor kills
// by PID.
func TestEndedTreeLeavesNumbersAlone(t *testing.T) {
	cmd, tree := start(t, "PROC_TEST=ended;", "true")
	_ = cmd.Wait()
	tree.Ended()
	if err := tree.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal: %v", err)
	}
	self, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	all := []Stat{{PID: cmd.Process.Pid, PPID: 1, Start: self.Start + 1e6}, self}
	if in := tree.members(all); len(in) != 0 {
		t.Errorf("members of an ended tree: %v", in)
	}
}

func TestKillMarkedIsExact(t *testing.T) {
	arg := strconv.Itoa(90000 + os.Getpid())
	a, _ := start(t, "PROC_TEST=x.1;", "exec sleep "+arg)
	b, _ := start(t, "PROC_TEST=x.12;", "exec sleep "+arg)
	await(t, arg, 2)
	if err := KillMarked("PROC_TEST=x.1;"); err != nil {
		t.Error(err)
	}
	_ = a.Wait()
	if n := running(t, arg); n != 1 {
		t.Errorf("%d left, want 1", n)
	}
	if err := KillMarked("PROC_TEST=x."); err != nil {
		t.Error(err)
	}
	_ = b.Wait()
	if n := running(t, arg); n != 0 {
		t.Errorf("%d left, want none", n)
	}
}

// TestMarkIsSeenDuringExec checks that a process's marker is visible at every moment, even during
// exec. Otherwise a kill at that moment would miss the process.
func TestMarkIsSeenDuringExec(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("exec sh \"$0\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", script)
	cmd.Env = append(os.Environ(), "LUTHIER_MARK=x")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	for i := range 3000 {
		if !hasEnv(cmd.Process.Pid, "LUTHIER_MARK=") {
			t.Fatalf("not seen at look %d", i)
		}
	}
}

const unmapsEnv = "unmap your environment"

func TestMain(m *testing.M) {
	if os.Args[0] == unmapsEnv {
		unmapEnv()
	}
	os.Exit(m.Run())
}

// unmapEnv unmaps the memory that holds the environment, reports that and sleeps until it is
// signalled to end.
func unmapEnv() {
	b, err := readStat(os.Getpid())
	if err != nil {
		panic(err)
	}
	begin, err1 := strconv.ParseUint(string(afterName(b)[47]), 10, 64)
	end, err2 := strconv.ParseUint(string(afterName(b)[48]), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		panic(err)
	}
	page := uint64(os.Getpagesize())
	begin, end = begin/page*page, (end+page-1)/page*page
	// The running frames are further down: the arguments, which are long, lie in between.
	if _, _, e := unix.RawSyscall(unix.SYS_MUNMAP, uintptr(begin), uintptr(end-begin), 0); e != 0 {
		panic(e)
	}
	unix.Write(1, []byte{1})
	unix.Read(0, make([]byte, 1))
	unix.Exit(0)
}

// TestEmptyEnvironmentIsNotWaitedFor checks that processes that never show an environment are not
// mistaken for ones in the middle of exec, which would delay every kill.
func TestEmptyEnvironmentIsNotWaitedFor(t *testing.T) {
	for name, cmd := range map[string]*exec.Cmd{
		"started without": {Path: "/bin/sh", Args: []string{"sh", "-c", "echo; read x"}, Env: []string{}},
		"unmapped":        {Path: "/proc/self/exe", Args: []string{unmapsEnv, strings.Repeat("x", 64<<10)}, Env: []string{"A=b"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { cmd.Process.Kill(); cmd.Wait() }()
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if b := environ(cmd.Process.Pid); len(b) > 0 {
				t.Fatalf("the environment is %q, want none", b)
			}
			if l, ok := layoutOf(cmd.Process.Pid); !ok || !l.done() {
				t.Errorf("%+v, %v: the process is taken for one in the middle of exec", l, ok)
			}
		})
	}
}
