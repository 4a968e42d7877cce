package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/memfiles"
	"github.com/luthier-dev/luthier/sandbox/internal/sockmem"
)

// Without a control group, whoever sees the sandbox's /proc adds up the memory of its processes, of
// their files in memory and of its sockets, and ends them all if the sum is over the limit. This is
// not airtight: memory that is allocated and used within one interval is not prevented, and what
// the kernel needs for processes, locks and names of files is not counted.

// watchEvery is the longest interval between two checks of a busy sandbox.
const watchEvery = 25 * time.Millisecond

// restEvery is the interval for a sandbox in which nothing runs.
const restEvery = 250 * time.Millisecond

// memoryWatch enforces the limit. It runs in the sandbox's mount namespace, so that its /proc is
// the sandbox's.
type memoryWatch struct {
	limit int64
	// kill ends all processes except the init process. Whoever needs the reason must learn it
	// before a process dies. The limit has been exceeded since the given time of sinceBoot.
	kill func(since int64)

	files   *memfiles.Files // the anonymous files that commands made, or nil if nobody makes them for commands
	sockets *sockmem.Meter  // or nil if its network is not the sandbox's own
}

// look adds the memory up once, and returns how long the next check can wait. It returns an error
// if it saw nothing.
func (w *memoryWatch) look() (time.Duration, error) {
	since := sinceBoot()
	pids, err := otherProcesses()
	if err != nil {
		return watchEvery, err
	}
	if len(pids) == 0 {
		if w.files != nil {
			w.files.Close()
		}
		return restEvery, nil
	}
	shared, err := w.sharedMemory(pids)
	if err != nil {
		return watchEvery, err
	}
	if shared+sum(pids, resident) <= w.limit {
		return watchEvery, nil
	}
	// The limit is exceeded if each shared page is counted once per process. Counted
	// proportionally, the sum may be within the limit; that is more expensive, so it comes second.
	if shared+sum(pids, proportional) <= w.limit {
		return watchEvery, nil
	}
	w.kill(since)
	if shared > w.limit {
		// No process is left to remove it, and it would end every later command.
		emptyShared()
	}
	return watchEvery, nil
}

// sinceBoot returns a time in nanoseconds on a clock that all processes of the machine share.
func sinceBoot() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // cannot fail
	return now.Nano()
}

// blindFor limits the time for which a sandbox may go on without being watched: descriptors, for
// example, may be scarce for a moment.
const blindFor = 2 * time.Second

// keep calls look until done is closed. If it could not look for too long, it returns the reason.
func (w *memoryWatch) keep(done <-chan struct{}, look func() (time.Duration, error)) error {
	seen := time.Now()
	for {
		pause, err := look()
		switch {
		case err == nil:
			seen = time.Now()
		case time.Since(seen) > blindFor:
			return err
		}
		select {
		case <-done:
			return nil
		case <-time.After(pause):
		}
	}
}

// watchMemory watches from within, if the sandbox's supervisor is its init process.
func (s *supervisor) watchMemory(limit int64) {
	if limit <= 0 || os.Getpid() != 1 {
		return
	}
	w := &memoryWatch{limit: limit, kill: func(int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.over)
		for id := range s.byID {
			s.over[id] = true
		}
		_ = unix.Kill(-1, unix.SIGKILL) // sent by the init process, so it kills all others
	}}
	go func() {
		if err := w.keep(nil, w.look); err != nil {
			fmt.Fprintln(os.Stderr, "sandbox: watch memory:", err)
			os.Exit(failStatus) // this ends all processes
		}
	}()
}

// watchMemory watches a sandbox that the broker made. A sandbox that cannot be watched does not
// start; one that can no longer be watched ends.
func (b *box) watchMemory(limit int64, ownNet bool) (err error) {
	// The host makes the init process end them: see exceeded.
	w := &memoryWatch{limit: limit, files: &b.files, kill: func(since int64) { b.say(reply{Event: evExceeded, Since: since}) }}
	if ownNet {
		if err := b.within(func() { w.sockets, err = b.meter() }); err != nil {
			return fmt.Errorf("watch memory: %w", err)
		}
		if err != nil {
			return fmt.Errorf("watch memory: %w", err)
		}
	}
	look := func() (pause time.Duration, err error) {
		if notThere := b.within(func() { pause, err = w.look() }); notThere != nil {
			return 0, notThere
		}
		return max(pause, watchEvery), err
	}
	if _, err := look(); err != nil {
		return fmt.Errorf("watch memory: %w", err)
	}
	go func() {
		defer func() {
			if w.sockets != nil {
				w.sockets.Close()
			}
		}()
		if err := w.keep(b.gone, look); err != nil {
			b.say(reply{Event: evUnwatched, Error: toWire(err)})
			_ = b.fd.Kill()
		}
	}()
	return nil
}

// meter returns a meter of the sandbox's sockets. The calling thread, which is inside, stays in the
// sandbox's network.
func (b *box) meter() (*sockmem.Meter, error) {
	fd, err := unix.Open("/proc/1/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open namespace: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("enter namespace: %w", err)
	}
	return sockmem.New()
}

func emptyShared() {
	entries, err := os.ReadDir("/dev/shm")
	if err != nil {
		return
	}
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join("/dev/shm", e.Name()))
	}
}

func otherProcesses() ([]string, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	out := names[:0]
	for _, n := range names {
		if n[0] >= '1' && n[0] <= '9' && n != "1" {
			out = append(out, n)
		}
	}
	return out, nil
}

func sum(pids []string, of func(pid string) int64) (n int64) {
	for _, p := range pids {
		n += of(p)
	}
	return n
}

// resident returns the memory in use by a process, from the second field of statm.
func resident(pid string) int64 {
	b, err := os.ReadFile("/proc/" + pid + "/statm")
	if f := bytes.Fields(b); err == nil && len(f) > 1 {
		n, _ := strconv.ParseInt(string(f[1]), 10, 64)
		return n * int64(os.Getpagesize())
	}
	return 0
}

// proportional counts shared pages proportionally. A process that hides its maps is counted with
// all its memory.
func proportional(pid string) int64 {
	b, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err == nil {
		for _, line := range bytes.Split(b, []byte("\n")) {
			f := bytes.Fields(line)
			if len(f) > 1 && string(f[0]) == "Pss:" {
				if n, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
					return n << 10
				}
			}
		}
	}
	return resident(pid)
}

// sharedMemory returns the size of what belongs to no process, mapped or not: /dev/shm, System V
// segments, anonymous files, pipes and sockets.
func (w *memoryWatch) sharedMemory(pids []string) (n int64, err error) {
	var st unix.Statfs_t
	if unix.Statfs("/dev/shm", &st) == nil {
		n += int64(st.Blocks-st.Bfree) * int64(st.Bsize)
	}
	b, _ := os.ReadFile("/proc/sysvipc/shm")
	for i, line := range bytes.Split(b, []byte("\n")) {
		if f := bytes.Fields(line); i > 0 && len(f) >= 15 {
			rss, _ := strconv.ParseInt(string(f[14]), 10, 64)
			n += rss
		}
	}
	size, seen, pipes := descriptors(pids)
	if w.files != nil {
		size = w.files.Size(pids, seen, w.limit/4)
	}
	n += size + max(0, pipes-freePipes)*leastPipe
	if w.sockets == nil {
		return n, nil
	}
	stat, err := os.ReadFile("/proc/1/net/sockstat")
	if err != nil {
		return n, err
	}
	count := sockmem.Used(string(stat))
	if count == 0 {
		return n, nil
	}
	sockets, err := w.sockets.Memory(count)
	return n + sockets, err
}

// The memory of pipes of one user is limited by the kernel (pipe-user-pages-soft), except that
// every pipe gets two pages. A few pipes do not count.
const (
	freePipes = 1024
	leastPipe = 2 * 4096
)

// descriptors returns the size of the anonymous files that processes have open, their inodes, and
// the number of pipes.
func descriptors(pids []string) (n int64, files map[uint64]bool, pipes int64) {
	files = map[uint64]bool{}
	seen := map[string]bool{}
	for _, pid := range pids {
		fds, err := os.ReadDir(filepath.Join("/proc", pid, "fd"))
		if err != nil {
			continue
		}
		for _, e := range fds {
			path := filepath.Join("/proc", pid, "fd", e.Name())
			to, err := os.Readlink(path)
			if err != nil {
				continue
			}
			if strings.HasPrefix(to, "pipe:") && !seen[to] {
				seen[to] = true
				pipes++
			}
			if !strings.HasPrefix(to, "/memfd:") {
				continue
			}
			var st unix.Stat_t
			if unix.Stat(path, &st) == nil && !files[st.Ino] {
				files[st.Ino] = true
				n += st.Blocks * 512
			}
		}
	}
	return n, files, pipes
}
