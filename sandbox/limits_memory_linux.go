package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Without a control group, only the sandbox's own init process sees all of its processes cheaply,
// since its /proc shows no others. It adds up their memory and ends them all if the sum is over the
// limit. This is not airtight: memory that is allocated and used within one interval is not
// prevented, and anonymous files that travel between processes in sockets are not counted.

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
		return restEvery, nil
	}
	shared := sharedMemory()
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
func (b *box) watchMemory(limit int64) error {
	// The host makes the init process end them: see exceeded.
	w := &memoryWatch{limit: limit, kill: func(since int64) { b.say(reply{Event: evExceeded, Since: since}) }}
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
		if err := w.keep(b.gone, look); err != nil {
			b.say(reply{Event: evUnwatched, Error: toWire(err)})
			_ = b.fd.Kill()
		}
	}()
	return nil
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

// sharedMemory returns the size of /dev/shm and of the System V segments, mapped or not.
func sharedMemory() (n int64) {
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
	return n + memfds()
}

// memfds returns the size of the anonymous files that some process has open.
func memfds() (n int64) {
	seen := map[uint64]bool{}
	pids, _ := otherProcesses()
	for _, pid := range pids {
		fds, err := os.ReadDir(filepath.Join("/proc", pid, "fd"))
		if err != nil {
			continue
		}
		for _, e := range fds {
			path := filepath.Join("/proc", pid, "fd", e.Name())
			if to, err := os.Readlink(path); err != nil || len(to) < 7 || to[:7] != "/memfd:" {
				continue
			}
			var st unix.Stat_t
			if unix.Stat(path, &st) == nil && !seen[st.Ino] {
				seen[st.Ino] = true
				n += st.Blocks * 512
			}
		}
	}
	return n
}
