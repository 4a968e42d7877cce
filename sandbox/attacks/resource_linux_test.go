package attacks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox"
)

// TestAttackResources attacks resource limits. The limits themselves, and that a sandbox without
// them is not limited, are also tested by TestLimits and TestForkBombEnds.
//
// Evidence: sandbox · 200 attacks that work outside fail inside
func TestAttackResources(t *testing.T) {
	t.Parallel()
	runAttacks(t, "resources")
}

// limited returns a function that sets limits in a configuration.
func limited(l sandbox.Limits) func(*sandbox.Config) { return func(c *sandbox.Config) { c.Limits = l } }

func init() {
	attacks["resources"] = []attack{
		{name: "processes", does: "starts 200 processes against a limit of 100", config: limited(sandbox.Limits{Processes: 100}), want: "EAGAIN",
			prog: attackProgram("swarm", swarm), args: func(b *bed) []string {
				b.state["mark"] = uniqueSleep()
				return []string{"200", b.state["mark"].(string)}
			},
			during: func(b *bed) {
				b.whileReady(func() { b.state["most"] = len(processesWith(b.t, b.state["mark"].(string))) })
			},
			bit: func(b *bed) string {
				if n, _ := b.state["most"].(int); n > 150 {
					return fmt.Sprintf("the host saw %d processes", n)
				}
				return ""
			}},
		{name: "threads", does: "starts 200 threads against a limit of 100", config: limited(sandbox.Limits{Processes: 100}), want: "status 2",
			prog: attackProgram("threads", manyThreads), bit: claimed},
		{name: "memory", needs: noDetector, does: "uses 192 MiB against a limit of 128", config: limited(sandbox.Limits{Memory: 128 << 20}), want: "ENOMEM",
			prog: attackProgram("eat", eat), args: func(*bed) []string { return []string{"192"} }, bit: func(b *bed) string {
				if b.exit != nil && b.exit.MaxRSS > 160<<20 {
					return fmt.Sprintf("it had %d MiB", b.exit.MaxRSS>>20)
				}
				return claimed(b)
			}},
		{name: "memory after a fork", needs: noDetector, does: "has a child use what its parent may not", config: limited(sandbox.Limits{Memory: 128 << 20}), want: "status 1|ENOMEM",
			prog: "sh", args: func(b *bed) []string { return []string{`"$1" 192`, self(b.t)} },
			env: func(*bed) []string { return []string{helperEnv + "=eat"} }, bit: claimed},
		{name: "a file larger than the disk", does: "makes a file of many gigabytes, with nothing in it", config: limited(sandbox.Limits{FileSize: 1 << 20}), want: "SIGXFSZ|EFBIG",
			prog: attackProgram("sparse", func([]string) error {
				f, err := os.Create("huge")
				return errors.Join(err, f.Truncate(64<<30))
			}), bit: func(b *bed) string {
				if fi, err := os.Stat(filepath.Join(b.dir, "huge")); err == nil && fi.Size() > 1<<20 {
					return fmt.Sprintf("the file has %d bytes", fi.Size())
				}
				return ""
			}},
		{name: "descriptors", does: "opens 200 files against a limit of 64", config: limited(sandbox.Limits{Files: 64}), want: "EMFILE",
			prog: attackProgram("open-many", func([]string) error {
				// The Go runtime raises its soft limit; only the hard limit counts.
				for range 200 {
					if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
						return err
					}
				}
				return nil
			}), bit: claimed},
		{name: "descriptors in flight", does: "parks 2000 descriptors in sockets, where no process counts them", config: limited(sandbox.Limits{Files: 64}), want: "ETOOMANYREFS|EMFILE|EAGAIN",
			prog: attackProgram("in-flight", inFlight), bit: claimed},
		{name: "output", does: "prints 64 MiB for the host to keep", prog: "sh", want: "ok", args: func(*bed) []string { return []string{"head -c 67108864 /dev/zero"} },
			bit: func(b *bed) string {
				if len(b.told) > 1<<20 {
					return fmt.Sprintf("the host keeps %d bytes", len(b.told))
				}
				return ""
			}},
		{name: "endless output", does: "prints without end and without being told to stop", play: func(b *bed) { b.endless() }, bit: func(b *bed) string {
			why, _ := b.state["endless"].(string)
			return why
		}},
		{name: "orphans", does: "leaves 500 dead children for the supervisor to bury", alone: true, noControl: "outside, the machine's own first process buries them", want: "ok",
			prog: "sh", args: func(*bed) []string {
				return []string{`i=0; while [ $i -lt 500 ]; do (true &); i=$((i+1)); done`}
			}, bit: func(b *bed) string {
				count := func() int {
					exit := mustExec(b.t, b.sb, sandbox.Cmd{Args: []string{"sh", "-c", "ls /proc | grep -c '^[0-9]'"}})
					n, _ := strconv.Atoi(strings.TrimSpace(exit.Stdout.String()))
					return n
				}
				eventually(b.t, "burial of the dead", func() bool { return count() < 20 })
				return ""
			}},
		{name: "message queues", does: "fills queues, which are memory that no process is billed for", prog: attackProgram("mq-many", func([]string) error {
			for i := range 300 {
				if _, err := mqOpen("luthier-many-"+strconv.Itoa(i), unix.O_CREAT|unix.O_RDWR); err != nil {
					return err
				}
			}
			return nil
		}), want: "EMFILE|ENOSPC|EACCES", bit: claimed, noControl: "outside, the queues would be the host's"},
		{name: "System V segments", does: "takes 8 MiB in many segments against a limit of 1", config: limited(sandbox.Limits{SharedMemory: 1 << 20}), want: "ENOSPC", needs: aRootHost,
			prog: attackProgram("segments", segments), args: func(*bed) []string { return []string{"16", "524288"} }, bit: claimed},
		{name: "a large System V segment", does: "takes 8 MiB in one segment against a limit of 1", config: limited(sandbox.Limits{SharedMemory: 1 << 20}), want: "EINVAL", needs: aRootHost,
			prog: attackProgram("segments", segments), args: func(*bed) []string { return []string{"1", "8388608"} }, bit: claimed},
		{name: "semaphores", does: "takes semaphores, which are memory that no process is billed for", alone: true, want: "ENOSPC", needs: aRootHost, noControl: "outside, it would take the machine's",
			prog: attackProgram("sem-many", func([]string) error {
				for range 200 {
					if _, _, errno := unix.Syscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, 250, 0o600); errno != 0 {
						return errno
					}
				}
				return nil
			}), bit: claimed},
		{name: "System V queues", does: "makes 200 queues", alone: true, want: "ENOSPC", needs: aRootHost, noControl: "outside, the queues would be the host's",
			prog: attackProgram("msg-many", func([]string) error {
				for range 200 {
					if _, _, errno := unix.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, 0o600, 0); errno != 0 {
						return errno
					}
				}
				return nil
			}), bit: claimed},
		{name: "files of no size", does: "makes 2000 files in /dev/shm against a limit of 1024", config: limited(sandbox.Limits{SharedMemory: 1 << 20}), want: "ENOSPC",
			prog: attackProgram("many-files", filesOfNoSize), args: func(*bed) []string { return []string{"/dev/shm", "2000"} }, bit: claimed},
		{name: "disk", does: "writes 64 MiB against a disk of 16", config: limited(sandbox.Limits{Disk: 16 << 20}), want: "ENOSPC", needs: aLimitedDisk,
			prog: attackProgram("fill", fill), args: func(*bed) []string { return []string{"64"} }, bit: claimed},
		{name: "inodes", does: "makes 20,000 files of no size against a disk for 4096", config: limited(sandbox.Limits{Disk: 16 << 20}), want: "ENOSPC", needs: aLimitedDisk,
			prog: attackProgram("many-files", filesOfNoSize), args: func(*bed) []string { return []string{"/tmp", "20000"} }, bit: claimed},
		{name: "locked memory", does: "locks 64 MiB, so that others are swapped out", prog: attackProgram("mlock", func([]string) error {
			page, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
			if err != nil {
				return err
			}
			return unix.Mlock(page)
		}), root: true, want: "ENOMEM|EPERM", bit: claimed},
	}
}

// whileReady waits until the program holds the most it can, runs look, and lets the program go on.
func (b *bed) whileReady(look func()) {
	defer os.WriteFile(filepath.Join(b.dir, "done"), nil, 0o644)
	for range 4000 {
		if _, err := os.Stat(filepath.Join(b.dir, "ready")); err == nil {
			look()
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// held waits until the host has looked.
func held() error {
	if err := os.WriteFile("ready", nil, 0o644); err != nil {
		return err
	}
	for range 4000 {
		if _, err := os.Stat("done"); err == nil {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("the host never looked")
}

// swarm starts sleeping processes, keeps them for the host to count, and ends them.
func swarm(a []string) error {
	n, _ := strconv.Atoi(a[0])
	var pids []int
	var err error
	for range n {
		var pid int
		if pid, err = syscall.ForkExec("/bin/sleep", []string{"sleep", a[1]}, &syscall.ProcAttr{}); err != nil {
			break
		}
		pids = append(pids, pid)
	}
	err = errors.Join(err, held())
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return err
}

// manyThreads makes the runtime start a thread for each goroutine. If it cannot, the runtime
// crashes with status 2.
func manyThreads([]string) error {
	up := make(chan struct{})
	for range 200 {
		go func() {
			runtime.LockOSThread()
			up <- struct{}{}
			select {}
		}()
	}
	for range 200 {
		<-up
	}
	return nil
}

// eat uses the given amount of memory, in MiB.
func eat(a []string) error {
	n, _ := strconv.Atoi(a[0])
	mem, err := unix.Mmap(-1, 0, n<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	for i := 0; i < len(mem); i += 4096 {
		mem[i] = 1
	}
	return nil
}

// noDetector is for memory limits, which the race detector alone would exceed.
func noDetector() string {
	if raceDetector {
		return "the race detector's own memory is over the limit"
	}
	return ""
}

// aLimitedDisk is for kernels whose tmpfs can be limited.
func aLimitedDisk() string {
	dir, err := os.MkdirTemp("", "luthier-disk-*")
	if err != nil {
		return err.Error()
	}
	defer os.Remove(dir)
	sb, err := sandbox.Local(context.Background(), sandbox.Config{Dir: dir, Limits: sandbox.Limits{Disk: 1 << 20}})
	if err != nil {
		return err.Error()
	}
	defer sb.Close()
	for _, l := range sb.Isolation().Limits {
		if l.Name == "disk" && !l.Enforced {
			return "no disk can be limited here: " + l.By
		}
	}
	return ""
}

// aRootHost is for limits that only the machine's root user may set.
func aRootHost() string {
	if os.Geteuid() != 0 {
		return "the host is not root"
	}
	return ""
}

// segments allocates n shared memory segments of a size, and frees them at the end.
func segments(a []string) error {
	n, _ := strconv.Atoi(a[0])
	size, _ := strconv.Atoi(a[1])
	for range n {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, size, 0o600)
		if err != nil {
			return err
		}
		mem, err := unix.SysvShmAttach(id, 0, 0)
		_, rmErr := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		if err := errors.Join(err, rmErr); err != nil {
			return err
		}
		for i := 0; i < len(mem); i += 4096 {
			mem[i] = 1
		}
	}
	return nil
}

// fill writes a number of MiB to /tmp, and removes the files.
func fill(a []string) error {
	n, _ := strconv.Atoi(a[0])
	f, err := os.CreateTemp("/tmp", "luthier-fill-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	for range n {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
	}
	return nil
}

// filesOfNoSize makes n empty files in a directory, and removes them.
func filesOfNoSize(a []string) (err error) {
	dir, err := os.MkdirTemp(a[0], "luthier-many-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	n, _ := strconv.Atoi(a[1])
	for i := range n {
		f, err := os.Create(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		f.Close()
	}
	return nil
}

// inFlight sends descriptors into sockets that it keeps open, and closes its own copies.
func inFlight([]string) error {
	sent := 0
	for range 25 {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		for sent < 2000 {
			err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(0, 0, 0, 0, 0, 0, 0, 0), nil, unix.MSG_DONTWAIT)
			if errors.Is(err, unix.EAGAIN) {
				break // this socket is full
			}
			if err != nil {
				return err
			}
			sent += 8
		}
	}
	if sent < 2000 {
		return fmt.Errorf("%d descriptors only", sent)
	}
	return nil
}

// endless runs a program that prints for ever, and checks whether it outlives its timeout and how
// much of its output the host keeps.
func (b *bed) endless() {
	const tail = 400 * time.Millisecond
	if b.sb == nil {
		cmd := exec.Command("yes")
		var kept discarded
		cmd.Stdout = &kept
		if err := cmd.Start(); err != nil {
			b.t.Fatal(err)
		}
		time.Sleep(tail)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signal() == syscall.SIGKILL {
			b.state["endless"] = fmt.Sprintf("it still printed, %d bytes so far", kept.n)
		}
		return
	}
	exit, err := b.sb.Exec(b.t.Context(), sandbox.Cmd{Args: []string{"yes"}, Timeout: tail})
	switch {
	case err != nil:
		b.t.Fatal(err)
	case !exit.TimedOut:
		b.state["endless"] = "it was not stopped: " + exit.String()
	case len(exit.Stdout.String()) > 2*sandbox.DefaultLimit:
		b.state["endless"] = "the host keeps all of it"
	}
}

// discarded counts the bytes written to it and keeps nothing.
type discarded struct{ n int }

func (l *discarded) Write(p []byte) (int, error) { l.n += len(p); return len(p), nil }
