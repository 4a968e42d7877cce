package attacks_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/proctree"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/internal/cgroup"
)

// standing counts the resources of a host with its broker and fork server.
type standing struct {
	broker      int
	forkServer  int
	goroutines  int
	descriptors [3]int // of the host, the broker and the fork server
	mounts      [2]int // of the host and the broker
	children    int    // of the broker and of the host, zombies too
	namespaces  int    // mount namespaces that the broker's threads are in
	groups      int    // control groups that the host made
	files       int    // in the scratch directory
	memory      [3]int // private memory of the host, the broker and the fork server, in MiB
}

// mayGrow is the tolerated difference in memory, in MiB: the size of a heap depends on when it was
// last collected.
const mayGrow = 8

func (s standing) String() string {
	return fmt.Sprintf("%d goroutines, descriptors %v and memory %v MiB of host, broker and fork server, mounts %v of host and broker, %d children, %d mount namespaces, %d control groups, %d files",
		s.goroutines, s.descriptors, s.memory, s.mounts, s.children, s.namespaces, s.groups, s.files)
}

func (s standing) within(was standing) bool {
	ok := s.broker == was.broker && s.forkServer == was.forkServer && s.goroutines <= was.goroutines && s.children <= was.children && s.namespaces <= was.namespaces &&
		s.groups <= was.groups && s.files <= was.files
	for i := range s.descriptors {
		ok = ok && s.descriptors[i] <= was.descriptors[i] && (s.memory[i] <= was.memory[i]+mayGrow || raceDetector) // memory grows under the race detector
	}
	for i := range s.mounts {
		ok = ok && s.mounts[i] <= was.mounts[i]
	}
	return ok
}

// stand takes the counts now. scratch is where sandboxes keep their files. The result whole is
// false if a process that it looked at has just ended.
func stand(t *testing.T, scratch string) (s standing, whole bool) {
	t.Helper()
	s.broker, s.goroutines, whole = theBrokerOf(t, os.Getpid()), runtime.NumGoroutine(), true
	of := func(pid int, name string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		whole = whole && err == nil
		return string(b)
	}
	for _, pid := range childrenOf(t, s.broker) {
		s.children++
		if st := proctree.ParseStatus([]byte(of(pid, "status"))); st["NSpid"] == strconv.Itoa(pid) && !strings.HasPrefix(st["State"], "Z") {
			s.forkServer = pid
		}
	}
	for i, pid := range []int{os.Getpid(), s.broker, s.forkServer} {
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		whole = whole && err == nil
		s.descriptors[i] = len(fds)
		kib, _, _ := strings.Cut(proctree.ParseStatus([]byte(of(pid, "status")))["RssAnon"], " ")
		n, _ := strconv.Atoi(kib)
		s.memory[i] = n >> 10
	}
	for i, pid := range []int{os.Getpid(), s.broker} {
		s.mounts[i] = strings.Count(of(pid, "mountinfo"), "\n")
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/ns/mnt", s.broker))
	in := map[string]bool{}
	for _, path := range threads {
		if ns, err := os.Readlink(path); err == nil {
			in[ns] = true
		}
	}
	s.namespaces = len(in)
	s.children += len(childrenOf(t, os.Getpid()))
	s.groups = groupsOf(t, os.Getpid())
	left, err := os.ReadDir(scratch)
	if err != nil {
		t.Fatal(err)
	}
	s.files = len(left)
	return s, whole
}

// stands takes the counts of a host whose broker has a fork server.
func stands(t *testing.T) (s standing) {
	t.Helper()
	dir := t.TempDir()
	eventually(t, "counts of processes that stay", func() (whole bool) {
		s, whole = stand(t, dir)
		return whole && s.forkServer != 0
	})
	return s
}

// groupsOf counts the control groups that a process has made in all hierarchies.
func groupsOf(t *testing.T, pid int) (n int) {
	t.Helper()
	ours := fmt.Sprintf("%s%d-", cgroup.Prefix, pid)
	for line := range strings.Lines(read(t, "/proc/self/mountinfo")) {
		f := strings.Fields(line)
		dash := slices.Index(f, "-")
		if dash < 5 || !strings.HasPrefix(f[dash+1], "cgroup") {
			continue
		}
		_ = filepath.WalkDir(f[4], func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ours) {
				n++
			}
			return nil // it may have just disappeared
		})
	}
	return n
}

// childrenOf lists the children of all threads of a process.
func childrenOf(t *testing.T, pid int) (out []int) {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, _ := os.ReadFile(path) // fails if the thread has just ended
		for _, word := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(word)
			out = append(out, n)
		}
	}
	return out
}

// cycle opens, uses and ends a sandbox in one of several ways.
func cycle(t *testing.T, i int, dir, scratch string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := sandbox.Config{Dir: dir, ScratchDir: scratch}
	if i%5 == 3 {
		cfg.Dir, cfg.Snapshot = "", sandbox.SnapshotDir(dir)
	}
	switch i % 50 {
	case 7:
		cfg.ReadOnly = []string{dir + "/not-there"}
	case 9:
		time.AfterFunc(time.Duration(i%7)*time.Millisecond, cancel)
	case 19, 33: // a control group
		cfg.Limits = sandbox.Limits{MemoryTotal: 256 << 20, CPU: 1}
	case 27, 28: // a disk of its own, for a workspace in place and for a snapshot
		cfg.Limits = sandbox.Limits{Disk: 1 << 20}
	case 21, 43: // network access
		cfg.Net = []string{"example.test"}
	}
	sb, err := sandbox.Local(ctx, cfg)
	if err != nil {
		if i%50 != 7 && !errors.Is(err, context.Canceled) {
			t.Errorf("cycle %d: %v", i, err)
		}
		return
	}
	switch i % 50 {
	case 11: // closed while it runs
		_, err = sb.Start(ctx, sandbox.Cmd{Args: []string{"sleep", "1000"}})
	case 13:
		var p *sandbox.Process
		if p, err = sb.Start(ctx, sandbox.Cmd{Args: []string{"sh", "-c", "sleep 1000 & setsid sleep 1000 & wait"}}); err == nil {
			err = p.Kill()
		}
	case 17:
		_, err = sb.Exec(ctx, sandbox.Cmd{Args: []string{"no-such-program"}})
		err = nil
	case 9:
		_, _ = sb.Exec(ctx, sandbox.Cmd{Args: []string{"sleep", "0.01"}})
	case 23: // a file in the upper layer, and one next to it
		_, err = sb.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", "echo > x; echo > /tmp/x"}})
	default:
		_, err = sb.Exec(ctx, sandbox.Cmd{Args: []string{"true"}})
	}
	if err := errors.Join(err, sb.Close()); err != nil {
		t.Errorf("cycle %d: %v", i, err)
	}
}

// leases runs sandboxes that are reused, each a few times.
func leases(t *testing.T, p *sandbox.Pool, n int, snap sandbox.Snapshot) {
	for i := range n {
		sb, err := p.Acquire(t.Context(), sandbox.Request{Snapshot: snap, Domain: []string{"a", "b", ""}[i%3]})
		if err != nil {
			t.Error(err)
			return
		}
		_, err = sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", []string{"true", "echo > x; echo > /tmp/x"}[i%2]}})
		if err := errors.Join(err, sb.Close()); err != nil {
			t.Errorf("lease %d: %v", i, err)
		}
	}
}

// TestThousandsOfLives checks that after thousands of sandboxes nothing is left of them in the
// host, its broker or its fork server, nor on the disk. LUTHIER_CYCLES sets their number.
//
// Evidence: sandbox · Thousands of sandboxes leave nothing behind
func TestThousandsOfLives(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("LUTHIER_CYCLES"))
	switch {
	case n > 0:
	case testing.Short():
		t.Skip("takes many seconds")
	default:
		n = tier.Pick(0, scaled(500), scaled(3000))
	}
	keep := open(t, sandbox.Config{}) // otherwise the broker would go idle
	if keep.Isolation().Tier == sandbox.TierNone {
		t.Skip("no broker here")
	}
	dir, scratch := t.TempDir(), t.TempDir()
	lives := func(n int) {
		// The pool is closed with them; how many sandboxes it keeps is covered by another test.
		p, err := sandbox.NewPool(sandbox.PoolConfig{Config: sandbox.Config{ScratchDir: scratch}, MaxUses: 20})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		var all sync.WaitGroup
		for w := range 3 {
			all.Go(func() {
				for i := w; i < n*4/5 && !t.Failed(); i += 3 {
					cycle(t, i, dir, scratch)
				}
			})
		}
		all.Go(func() { leases(t, p, n/5, sandbox.SnapshotDir(dir)) })
		all.Wait()
	}
	settled := func(what string, ok func(standing) bool) (now standing) {
		t.Cleanup(func() {
			if t.Failed() {
				t.Log("at last: ", now)
			}
		})
		eventually(t, what, func() bool {
			debug.FreeOSMemory()
			var whole bool
			now, whole = stand(t, scratch)
			return whole && ok(now)
		})
		return now
	}
	lives(300) // create now what is created only once
	before := settled("end of the first", func(s standing) bool { return s.files == 0 })
	begun := time.Now()
	lives(n)
	took := time.Since(begun)
	after := settled("return to "+before.String(), func(s standing) bool { return s.within(before) })
	t.Logf("%d lives in %v\nbefore: %v\nafter:  %v", n, took.Round(time.Second), before, after)
}
