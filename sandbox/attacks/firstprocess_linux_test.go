package attacks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/proctree"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// TestAttackFirstProcess attacks the init process of a sandbox, which runs as the same user as
// commands. It is not part of any command: it may end only together with the whole sandbox, and
// then at once.
func TestAttackFirstProcess(t *testing.T) {
	t.Parallel()
	runAttacks(t, "first process")
}

// againstFirst returns an attack after which the sandbox must work as before.
func againstFirst(name, does string, f func([]string) error, want string) attack {
	return attack{name: name, does: does, alone: true, noControl: "process 1 is the machine's", want: want,
		prog: attackProgram("first-"+strings.ReplaceAll(name, " ", "-"), f), bit: firstHurt}
}

// firstHurt checks from outside whether the init process is unchanged and whether the sandbox still
// works.
func firstHurt(b *bed) string {
	if why := sandboxGone(b); why != "" {
		return why
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", firstOf(b)))
	if err != nil {
		return err.Error()
	}
	st := proctree.ParseStatus(text)
	if !strings.HasPrefix(st["State"], "S") && !strings.HasPrefix(st["State"], "R") {
		return "the first process is in the state " + st["State"]
	}
	if strings.Trim(st["ShdPnd"], "0") != "" || !strings.HasPrefix(st["SigQ"], "0/") && b.a.name == "flood" {
		return "signals are heaped up: " + st["ShdPnd"] + " " + st["SigQ"]
	}
	return ""
}

// firstOf returns the PID outside of a sandbox's init process: the nearest ancestor of a command
// that has PID 1 inside.
func firstOf(b *bed) int {
	mark := uniqueSleep()
	p, err := b.sb.Start(b.t.Context(), sandbox.Cmd{Args: []string{"sleep", mark}})
	if err != nil {
		b.t.Fatal(err)
	}
	defer p.Kill()
	var found []string
	eventually(b.t, "start of a command", func() bool { found = processesWith(b.t, mark); return len(found) == 1 })
	pid, _, _ := strings.Cut(found[0], ":")
	for pid != "0" {
		text, err := os.ReadFile("/proc/" + pid + "/status")
		if err != nil {
			b.t.Fatal(err)
		}
		st := proctree.ParseStatus(text)
		if strings.HasSuffix(st["NSpid"], "\t1") {
			first, _ := strconv.Atoi(pid)
			return first
		}
		pid = st["PPid"]
	}
	b.t.Fatal("the command has no first process above it")
	return 0
}

// orEnds returns an attack after which the sandbox must either work or have ended for good, and
// soon: the attacker was free to end it anyway.
func orEnds(name, does string, f func([]string) error) attack {
	a := againstFirst(name, does, f, "")
	a.bit = func(b *bed) string {
		begun := time.Now()
		_, err := b.sb.Exec(b.t.Context(), sandbox.Cmd{Args: []string{"true"}, Timeout: attackTimeout})
		b.t.Logf("afterwards: %v", err)
		if time.Since(begun) > attackTimeout {
			return "the host hangs"
		}
		return ""
	}
	return a
}

func raw(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// sent sends a signal to process 1 in every possible way.
func sent(sig int) {
	var info [128]byte
	*(*int32)(unsafe.Pointer(&info)) = int32(sig)
	*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
	at := uintptr(unsafe.Pointer(&info))
	_ = raw(unix.SYS_KILL, 1, uintptr(sig))
	_ = raw(unix.SYS_TKILL, 1, uintptr(sig))
	_ = raw(unix.SYS_TGKILL, 1, 1, uintptr(sig))
	_ = raw(unix.SYS_RT_SIGQUEUEINFO, 1, uintptr(sig), at)
	_ = raw(unix.SYS_RT_TGSIGQUEUEINFO, 1, 1, uintptr(sig), at)
	if fd, err := unix.PidfdOpen(1, 0); err == nil {
		_ = unix.PidfdSendSignal(fd, syscall.Signal(sig), nil, 0)
		unix.Close(fd)
	}
}

// limitFirst sets a resource limit on process 1.
func limitFirst(which int, n uint64) func([]string) error {
	return func([]string) error {
		lim := unix.Rlimit{Cur: n, Max: n}
		return unix.Prlimit(1, which, &lim, nil)
	}
}

// reachFirst tries every call that shows, changes or borrows another process, and fails if all are
// refused.
func reachFirst([]string) error {
	var got []string
	try := func(name string, err error) {
		if err == nil {
			got = append(got, name)
		}
	}
	for _, name := range []string{"mem", "environ", "maps", "smaps", "smaps_rollup", "numa_maps", "pagemap", "auxv", "syscall", "stack", "io", "personality", "task/1/mem", "task/1/environ", "task/1/maps"} {
		fd, err := unix.Open("/proc/1/"+name, unix.O_RDONLY, 0)
		if err == nil {
			_, err = unix.Read(fd, make([]byte, 16))
			unix.Close(fd)
		}
		try("read "+name, err)
	}
	for _, name := range []string{"mem", "oom_score_adj", "oom_adj", "coredump_filter", "clear_refs", "timerslack_ns", "comm", "loginuid", "uid_map", "setgroups", "attr/current", "sched", "autogroup", "task/1/comm"} {
		fd, err := unix.Open("/proc/1/"+name, unix.O_WRONLY, 0)
		if err == nil { // some of these are granted to every process
			_, err = unix.Write(fd, []byte("1"))
			unix.Close(fd)
		}
		try("write "+name, err)
	}
	for _, name := range []string{"exe", "cwd", "root", "fd/0", "fd/4", "ns/mnt", "ns/user", "task/1/root"} {
		_, err := os.Readlink("/proc/1/" + name)
		try("follow "+name, err)
	}
	for _, name := range []string{"fd", "fdinfo", "map_files", "root", "cwd", "task/1/fd"} {
		_, err := os.ReadDir("/proc/1/" + name)
		try("list "+name, err)
	}
	var b [64]byte
	here := uintptr(unsafe.Pointer(&b))
	local, remote := [2]uintptr{here, 8}, [2]uintptr{0x400000, 8}
	l, r := uintptr(unsafe.Pointer(&local)), uintptr(unsafe.Pointer(&remote))
	try("process_vm_readv", raw(unix.SYS_PROCESS_VM_READV, 1, l, 1, r, 1, 0))
	try("process_vm_writev", raw(unix.SYS_PROCESS_VM_WRITEV, 1, l, 1, r, 1, 0))
	try("ptrace attach", raw(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1))
	try("ptrace seize", raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, 1))
	try("kcmp", raw(unix.SYS_KCMP, uintptr(os.Getpid()), 1, 1, 0, 0))
	try("get_robust_list", raw(unix.SYS_GET_ROBUST_LIST, 1, here, here+8))
	try("migrate_pages", raw(unix.SYS_MIGRATE_PAGES, 1, 1, here, here))
	try("move_pages", raw(unix.SYS_MOVE_PAGES, 1, 1, r, here, here+8, 0))
	try("setpgid", raw(unix.SYS_SETPGID, 1, uintptr(os.Getpid())))
	try("perf_event_open", raw(unix.SYS_PERF_EVENT_OPEN, here, 1, ^uintptr(0), ^uintptr(0), 0))
	if fd, err := unix.PidfdOpen(1, 0); err == nil {
		for n := range 16 {
			_, err := unix.PidfdGetfd(fd, n, 0)
			try(fmt.Sprintf("pidfd_getfd %d", n), err)
		}
		try("process_madvise", raw(unix.SYS_PROCESS_MADVISE, uintptr(fd), r, 1, unix.MADV_PAGEOUT, 0))
		try("process_mrelease", raw(unix.SYS_PROCESS_MRELEASE, uintptr(fd), 0))
		try("setns", unix.Setns(fd, unix.CLONE_NEWNS|unix.CLONE_NEWPID))
	}
	if len(got) == 0 {
		return unix.EACCES
	}
	return errors.New("granted: " + strings.Join(got, ", "))
}

func init() {
	attacks["first process"] = []attack{
		againstFirst("every signal in every way", "sends process 1 every signal by six calls", func([]string) error {
			for sig := 1; sig < 65; sig++ {
				sent(sig)
			}
			return nil
		}, "ok"),
		againstFirst("flood", "sends process 1 two hundred thousand real-time signals", func([]string) error {
			for i := range 200_000 {
				_ = unix.Kill(1, syscall.Signal(34+i%30))
				_ = unix.Kill(1, unix.SIGCHLD)
			}
			return nil
		}, "ok"),
		againstFirst("kill all", "sends all processes that it may signal every signal", func([]string) error {
			for _, sig := range []syscall.Signal{unix.SIGSTOP, unix.SIGTSTP, unix.SIGKILL, unix.SIGSEGV, 64} {
				_ = unix.Kill(-1, sig)
			}
			return nil
		}, "ok"),
		againstFirst("see and change", "goes for the memory, descriptors and settings of process 1", reachFirst, "EACCES"),
		againstFirst("processors", "gives process 1 one processor and the lowest priorities", func([]string) error {
			var set unix.CPUSet
			set.Set(0)
			_ = unix.SchedSetaffinity(1, &set)
			_ = unix.Setpriority(unix.PRIO_PROCESS, 1, 19)
			param := int32(0)
			_ = raw(unix.SYS_SCHED_SETSCHEDULER, 1, 5 /* SCHED_IDLE */, uintptr(unsafe.Pointer(&param)))
			_ = raw(unix.SYS_IOPRIO_SET, 1, 1, 3<<13)
			return nil
		}, "ok"),
		orEnds("no descriptors", "takes all descriptors of process 1", limitFirst(unix.RLIMIT_NOFILE, 0)),
		orEnds("no processes", "allows process 1 no processes", limitFirst(unix.RLIMIT_NPROC, 0)),
		orEnds("no memory", "allows process 1 no address space", limitFirst(unix.RLIMIT_AS, 0)),
		orEnds("no data", "allows process 1 no data", limitFirst(unix.RLIMIT_DATA, 0)),
		orEnds("no stack", "allows process 1 no stack", limitFirst(unix.RLIMIT_STACK, 0)),
		orEnds("no files", "allows process 1 no bytes in files", limitFirst(unix.RLIMIT_FSIZE, 0)),
		orEnds("no signals", "allows process 1 no pending signals", limitFirst(unix.RLIMIT_SIGPENDING, 0)),
		orEnds("no time", "allows process 1 one second of processor time, and uses it up by signals", func(a []string) error {
			if err := limitFirst(unix.RLIMIT_CPU, 1)(a); err != nil {
				return err
			}
			for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
				_ = unix.Kill(1, unix.SIGCHLD)
			}
			return nil
		}),
	}
}

// TestStopperInside checks that a process that stops every process it sees, including those about
// to become commands, does no lasting harm: the host gets an answer, and the sandbox works again
// when the stopper is gone.
func TestStopperInside(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	sb := open(t, walled(t, sandbox.TierNamespaces))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopper, err := sb.Start(ctx, sandbox.Cmd{Args: []string{"sh", "-c", "while :; do kill -STOP -1; done"}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	// A child looks for its program in all these places, which leaves time to stop it.
	path := "PATH=" + strings.Repeat("/x:", 100_000) + "/bin"
	for i := range tier.Pick(1, 4, 4) {
		answered := make(chan error, 1)
		go func() {
			_, err := sb.Start(ctx, sandbox.Cmd{Args: []string{"true"}, Env: []string{path}})
			answered <- err
		}()
		select {
		case err := <-answered:
			t.Log(i, err)
			if err == nil {
				t.Error("a program was started with an environment that is too large")
			}
		case <-time.After(time.Minute):
			t.Fatal("the host hangs")
		}
	}
	if err := stopper.Kill(); err != nil {
		t.Error(err)
	}
	sh(t, sb, "true")
}

// exhaust opens resources of a kind until it fails, and returns how many it then holds.
func exhaust(kind string) (n int, why error) {
	watching := 0
	for {
		var err error
		switch kind {
		case "pty":
			_, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
		case "inotify":
			_, err = unix.InotifyInit1(0)
		case "watches":
			if n == 0 {
				watching, err = unix.InotifyInit1(0)
			}
			name := filepath.Join(os.TempDir(), "w"+strconv.Itoa(n))
			_ = os.WriteFile(name, nil, 0o600)
			if err == nil {
				_, err = unix.InotifyAddWatch(watching, name, unix.IN_OPEN)
			}
			if n == 2000 {
				return n, nil
			}
		case "epoll":
			_, err = unix.EpollCreate1(0)
		case "timerfd":
			_, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, 0)
		case "pipe":
			err = unix.Pipe2(make([]int, 2), 0)
		case "memfd":
			_, err = unix.MemfdCreate("x", 0)
		case "eventfd":
			_, err = unix.Eventfd(0, 0)
		}
		if err != nil {
			return n, err
		}
		n++
	}
}

func init() {
	helpers["exhaust"] = func(a []string) error {
		word, err := os.Create(a[1]) // while a file can still be made
		if err != nil {
			return err
		}
		lim := unix.Rlimit{}
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) == nil {
			lim.Cur = lim.Max
			_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &lim)
		}
		n, err := exhaust(a[0])
		fmt.Fprintf(word, "%d: %v", n, err)
		time.Sleep(time.Minute)
		return nil
	}
}

// openOne opens one resource of a kind, as a host does.
func openOne(kind string) (err error) {
	var fd int
	switch kind {
	case "pty":
		fd, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	case "inotify", "watches":
		if fd, err = unix.InotifyInit1(unix.IN_CLOEXEC); err == nil {
			_, err = unix.InotifyAddWatch(fd, "/", unix.IN_OPEN)
		}
	case "epoll":
		fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	case "timerfd":
		fd, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	case "pipe":
		var p [2]int
		if err = unix.Pipe2(p[:], unix.O_CLOEXEC); err == nil {
			unix.Close(p[1])
		}
		fd = p[0]
	case "memfd":
		fd, err = unix.MemfdCreate("x", unix.MFD_CLOEXEC)
	case "eventfd":
		fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC)
	}
	if fd > 0 {
		unix.Close(fd)
	}
	return err
}

// TestExhaustionInside checks that a sandbox that takes all it can get of a counted kernel resource
// leaves the host its own share, and works again when the taker is gone.
func TestExhaustionInside(t *testing.T) {
	all := []string{"pty", "inotify", "watches", "epoll", "timerfd", "pipe", "memfd", "eventfd"}
	for _, kind := range tier.Pick(all[:2], all, all) {
		t.Run(kind, func(t *testing.T) {
			if err := openOne(kind); err != nil {
				t.Skipf("this host has none even now: %v", err)
			}
			cfg := walled(t, sandbox.TierNamespaces)
			cfg.Dir = t.TempDir()
			sb := open(t, cfg)
			if kind == "inotify" && bounded(sh(t, sb, "cat /proc/sys/user/max_inotify_instances || true")) >= bounded(read(t, "/proc/sys/fs/inotify/max_user_instances")) {
				t.Skip("the kernel counts what is inside as the host's, and this sandbox bounds it no tighter")
			}
			var takers []*sandbox.Process
			for i := range 4 {
				p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{self(t), kind, fmt.Sprintf("told%d", i)}, Env: []string{helperEnv + "=exhaust"}})
				if err != nil {
					t.Fatal(err)
				}
				takers = append(takers, p)
			}
			for i := range takers {
				told := filepath.Join(cfg.Dir, fmt.Sprintf("told%d", i))
				eventually(t, "exhaustion", func() bool { b, _ := os.ReadFile(told); return len(b) > 0 })
				t.Log(read(t, told))
			}
			if err := openOne(kind); err != nil {
				t.Errorf("the host has none left: %v", err)
			}
			for _, p := range takers {
				if err := p.Kill(); err != nil {
					t.Error(err)
				}
			}
			out := sh(t, sb, "true; echo x | cat")
			if out != "x\n" {
				t.Errorf("it says %q", out)
			}
			if ok, why := inside(t, sb, "open-one", kind); !ok {
				t.Errorf("inside there is none left: %s", why)
			}
		})
	}
}

// bounded parses a limit reported by the kernel; text that is not a number means no limit.
func bounded(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 1 << 30
	}
	return n
}

func init() { helpers["open-one"] = func(a []string) error { return openOne(a[0]) } }
