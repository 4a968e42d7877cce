package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// standing is what a host with its broker and nursery holds.
type standing struct {
	broker      int
	nursery     int
	goroutines  int
	descriptors [3]int // of the host, the broker and the nursery
	mounts      [2]int // of the host and the broker
	children    int    // of the broker, zombies too
	namespaces  int    // of mounts, in which the broker's threads are
}

func (s standing) String() string {
	return fmt.Sprintf("%d goroutines, descriptors %v of host, broker and nursery, mounts %v of host and broker, %d children of the broker, %d mount namespaces",
		s.goroutines, s.descriptors, s.mounts, s.children, s.namespaces)
}

func (s standing) within(was standing) bool {
	ok := s.broker == was.broker && s.nursery == was.nursery && s.goroutines <= was.goroutines && s.children <= was.children && s.namespaces <= was.namespaces
	for i := range s.descriptors {
		ok = ok && s.descriptors[i] <= was.descriptors[i]
	}
	for i := range s.mounts {
		ok = ok && s.mounts[i] <= was.mounts[i]
	}
	return ok
}

// stand counts now.
func stand(t *testing.T) (s standing) {
	t.Helper()
	pids := brokerPIDs(t, os.Getpid())
	if len(pids) != 1 {
		t.Fatalf("brokers %v", pids)
	}
	s.broker, s.goroutines = pids[0], runtime.NumGoroutine()
	for _, pid := range childrenOf(t, s.broker) {
		s.children++
		if st := parseStatus([]byte(read(t, fmt.Sprintf("/proc/%d/status", pid)))); st["NSpid"] == strconv.Itoa(pid) {
			s.nursery = pid
		}
	}
	for i, pid := range []int{os.Getpid(), s.broker, s.nursery} {
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			t.Fatal(err)
		}
		s.descriptors[i] = len(fds)
	}
	for i, pid := range []int{os.Getpid(), s.broker} {
		s.mounts[i] = strings.Count(read(t, fmt.Sprintf("/proc/%d/mountinfo", pid)), "\n")
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/ns/mnt", s.broker))
	in := map[string]bool{}
	for _, path := range threads {
		if ns, err := os.Readlink(path); err == nil {
			in[ns] = true
		}
	}
	s.namespaces = len(in)
	return s
}

// childrenOf lists a process's children, those of all its threads.
func childrenOf(t *testing.T, pid int) (out []int) {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, _ := os.ReadFile(path) // of a thread that has just ended
		for _, word := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(word)
			out = append(out, n)
		}
	}
	return out
}

// cycle is a life of a sandbox, which ends in one of several ways.
func cycle(t *testing.T, i int, dir string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := Config{Dir: dir}
	if i%50 == 7 {
		cfg.ReadOnly = []string{dir + "/not-there"}
	}
	if i%50 == 9 {
		time.AfterFunc(time.Duration(i%7)*time.Millisecond, cancel)
	}
	sb, err := Local(ctx, cfg)
	if err != nil {
		if i%50 != 7 && !errors.Is(err, context.Canceled) {
			t.Errorf("cycle %d: %v", i, err)
		}
		return
	}
	switch i % 50 {
	case 11: // closed while it runs
		_, err = sb.Start(ctx, Cmd{Args: []string{"sleep", "1000"}})
	case 13:
		var p *Process
		if p, err = sb.Start(ctx, Cmd{Args: []string{"sh", "-c", "sleep 1000 & setsid sleep 1000 & wait"}}); err == nil {
			err = p.Kill()
		}
	case 17:
		_, err = sb.Exec(ctx, Cmd{Args: []string{"no-such-program"}})
		err = nil
	case 9:
		_, _ = sb.Exec(ctx, Cmd{Args: []string{"sleep", "0.01"}})
	default:
		_, err = sb.Exec(ctx, Cmd{Args: []string{"true"}})
	}
	if err := errors.Join(err, sb.Close()); err != nil {
		t.Errorf("cycle %d: %v", i, err)
	}
}

// After thousands of lives nothing is left of them in the host, its broker or its
// nursery.
func TestThousandsOfLives(t *testing.T) {
	if testing.Short() {
		t.Skip("takes most of a minute")
	}
	keep := open(t, Config{}) // or the broker would rest
	if _, ok := keep.(*local); !ok {
		t.Skip("no broker here")
	}
	dir := t.TempDir()
	lives := func(n int) {
		var all sync.WaitGroup
		for w := range 4 {
			all.Go(func() {
				for i := w; i < n; i += 4 {
					cycle(t, i, dir)
				}
			})
		}
		all.Wait()
	}
	lives(300) // what is made once is made now
	before := stand(t)
	begun := time.Now()
	lives(3000)
	t.Logf("3000 lives in %v", time.Since(begun))
	var now standing
	eventually(t, "return to "+before.String(), func() bool {
		runtime.GC() // finalizers are not to be relied on, but theirs may be about to run
		now = stand(t)
		return now.within(before)
	})
	t.Logf("before: %v; after: %v", before, now)
}
