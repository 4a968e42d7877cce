package luthier_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/proctree"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding"
)

// TestManyForksLeaveNothing: forks on which an agent works, one after the other and several at
// once, leave no descriptors, goroutines, processes, mounts or files when they are closed.
//
// Evidence: luthier · A thousand forks leave nothing behind
func TestManyForksLeaveNothing(t *testing.T) {
	tier.Normal(t)
	dir, scratch := shopIn(t), t.TempDir()
	box, err := sandbox.Local(t.Context(), sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), ScratchDir: scratch})
	if errors.Is(err, sandbox.ErrFloor) {
		t.Skip(err)
	}
	must(t, err)
	forker, _ := sandbox.As[sandbox.Forker](box)
	const atOnce = 5
	round := func(n int) {
		var forks []sandbox.Sandbox
		for i := range atOnce {
			fork, err := forker.Fork(t.Context())
			must(t, err)
			forks = append(forks, fork)
			tree, err := fork.(sandbox.Treer).Tree(t.Context())
			must(t, err)
			work, err := coding.OpenTree(tree, coding.Config{Proc: coding.ProcConfig{Sandbox: fork}})
			must(t, err)
			write := toolNamed(t, work, "write")
			r, err := write.Call(t.Context(), agent.ToolCall{ID: "w", Name: "write", Args: json.RawMessage(fmt.Sprintf(`{"path":"new%d.txt","content":"%d\n"}`, i, n))})
			if err != nil || r.IsError {
				t.Fatalf("write on a fork: %v, %v", r, err)
			}
			must(t, errors.Join(work.Close(), tree.Close()))
		}
		for _, f := range forks {
			must(t, f.Close())
		}
	}
	round(0) // makes what is made once
	before := holdings(t, scratch)
	for n := range tier.Pick(2, 10, 200) {
		round(n + 1)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC() // lets finalizers run that are due
		now := holdings(t, scratch)
		if now.within(before) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("before the forks %+v, after them %+v", before, now)
		}
	}
	must(t, box.Close())
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left in the scratch directory: %v, %v", left, err)
	}
}

// held counts what forks may not leave behind: of this process, and of its broker and sandboxes.
type held struct{ goroutines, descriptors, brokerDescriptors, mounts, processes, files int }

func (h held) within(b held) bool {
	return h.goroutines <= b.goroutines && h.descriptors <= b.descriptors && h.brokerDescriptors <= b.brokerDescriptors &&
		h.mounts <= b.mounts && h.processes <= b.processes && h.files <= b.files
}

func holdings(t *testing.T, scratch string) held {
	t.Helper()
	h := held{goroutines: runtime.NumGoroutine(), processes: len(below(t, os.Getpid()))}
	entries := func(dir string) int {
		list, err := os.ReadDir(dir)
		must(t, err)
		return len(list)
	}
	h.descriptors, h.files = entries("/proc/self/fd"), entries(scratch)
	for _, pid := range append(brokers(t), os.Getpid()) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
		must(t, err)
		h.mounts += strings.Count(string(text), scratch)
		if pid != os.Getpid() {
			h.brokerDescriptors += entries(fmt.Sprintf("/proc/%d/fd", pid))
		}
	}
	return h
}

// brokers lists the brokers of this process.
func brokers(t *testing.T) (pids []int) {
	t.Helper()
	for _, pid := range below(t, os.Getpid()) {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.HasSuffix(strings.TrimRight(string(args), "\x00"), "broker") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// below lists the processes below others, parents before their children.
func below(t *testing.T, roots ...int) (out []int) {
	t.Helper()
	all, err := proctree.List()
	must(t, err)
	in := map[int]bool{}
	for _, pid := range roots {
		in[pid] = true
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if in[p.PPID] && !in[p.PID] {
				in[p.PID], grown = true, true
				out = append(out, p.PID)
			}
		}
	}
	return out
}
