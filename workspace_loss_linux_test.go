package luthier_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/proctree"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/internal/workspacetest"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding"
)

// TestDiskFullRollsBack: a patch of several files for which the workspace has no room changes none
// of them, says why, and the agent works on when there is room again.
//
// Evidence: luthier · A patch that finds the sandbox's disk full changes nothing
func TestDiskFullRollsBack(t *testing.T) {
	tier.Normal(t)
	dir := shopIn(t)
	box := localBox(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), Limits: sandbox.Limits{Disk: 2 << 20}})
	w := over(t, opened(t, luthier.Box(box)))
	defer w.Close()
	w.ok(t, "read", `{"path":"main.go"}`)
	w.ok(t, "read", `{"path":"README.md"}`)
	before, err := w.Exec(t.Context(), "find . -type f | sort | xargs -d '\\n' sha256sum")
	must(t, err)
	big := strings.Repeat("+0123456789abcdef0123456789abcdef\n", 3<<20/34)
	patch := "*** Begin Patch\n*** Update File: main.go\n@@\n-\tfmt.Println(calc.Add(1, 2))\n+\tfmt.Println(calc.Add(5, 6))\n*** Add File: big.txt\n" + big +
		"*** Update File: README.md\n@@\n-Adds numbers.\n+Subtracts numbers.\n*** End Patch"
	r := w.call(t, "apply_patch", `{"patch":%s}`, jsonText(patch))
	if !r.IsError || !strings.Contains(r.Text, "no space left") {
		t.Errorf("a patch beyond the disk's size: error %v, %s", r.IsError, r.Text)
	}
	after, err := w.Exec(t.Context(), "find . -type f | sort | xargs -d '\\n' sha256sum")
	must(t, err)
	if after != before {
		t.Errorf("the workspace was\n%s\nand is\n%s", before, after)
	}
	if r := w.call(t, "write", `{"path":"big2.txt","content":%s}`, jsonText(big)); !r.IsError {
		t.Errorf("a file beyond the disk's size was written: %s", r.Text)
	}
	w.ok(t, "edit", `{"path":"main.go","old":"calc.Add(1, 2)","new":"calc.Add(7, 8)"}`)
	if got := w.ok(t, "shell", `{"command":"cat main.go; ls -A | wc -l"}`); !strings.Contains(got, "Add(7, 8)") {
		t.Errorf("after that, commands see %s", got)
	}
}

func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// TestBoxKilledDuringChanges: whenever a sandbox or its broker is killed, every file that an agent
// was changing is a whole old or a whole new one, and the calls that follow are errors that end.
//
// Evidence: luthier · When a sandbox is killed during changes, each file is the old or the new one
func TestBoxKilledDuringChanges(t *testing.T) {
	tier.Normal(t)
	for _, victim := range []string{"broker", "init process"} {
		t.Run(victim, func(t *testing.T) {
			for range tier.Pick(1, 3, 60) {
				killDuringChanges(t, victim)
			}
		})
	}
}

func killDuringChanges(t *testing.T, victim string) {
	t.Helper()
	dir, scratch := shopIn(t), t.TempDir()
	box, err := sandbox.Local(t.Context(), sandbox.Config{Snapshot: sandbox.SnapshotDir(dir), ScratchDir: scratch})
	if errors.Is(err, sandbox.ErrFloor) {
		t.Skip(err)
	}
	must(t, err)
	defer box.Close() // its broker is gone, so this may fail
	w := over(t, opened(t, luthier.Box(box)))
	defer w.Close()
	text := func(n int) string { return fmt.Sprintf("%d %s %d\n", n, strings.Repeat("x", 100<<10), n) }
	const files = 3
	patch := func(from, to int) string {
		var b strings.Builder
		b.WriteString("*** Begin Patch\n")
		for i := range files {
			if from < 0 {
				fmt.Fprintf(&b, "*** Add File: f%d.txt\n+%s", i, text(to))
			} else {
				fmt.Fprintf(&b, "*** Update File: f%d.txt\n@@\n-%s+%s", i, text(from), text(to))
			}
		}
		return b.String() + "*** End Patch"
	}
	w.ok(t, "apply_patch", `{"patch":%s}`, jsonText(patch(-1, 0)))
	pids := brokers(t)
	if victim != "broker" {
		pids = below(t, pids...)
	}
	if len(pids) == 0 {
		t.Fatalf("no %s found", victim)
	}
	killed := make(chan struct{})
	time.AfterFunc(time.Duration(rand.IntN(40))*time.Millisecond, func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		close(killed)
	})
	last := 0
	for running := true; running; {
		select {
		case <-killed:
			running = false
		default:
		}
		r, err := w.Play(t.Context(), []workspacetest.Call{{Tool: "apply_patch", Args: json.RawMessage(`{"patch":` + jsonText(patch(last, last+1)) + `}`)}})
		if err != nil || len(r) != 1 || r[0].IsError {
			t.Logf("patch %d: %v %v", last+1, r, err)
			break
		}
		last++
	}
	<-killed
	whole(t, scratch, last, text)
	if r, err := w.Play(t.Context(), []workspacetest.Call{{Tool: "shell", Args: json.RawMessage(`{"command":"true"}`)}}); err == nil && len(r) == 1 && !r[0].IsError {
		t.Error("a killed sandbox runs a command")
	}
}

// whole checks the files that the agent was changing, in the layer of the sandbox on disk: each is
// one that a patch has written, the last that was acknowledged or the next.
func whole(t *testing.T, scratch string, last int, text func(int) string) {
	t.Helper()
	found := 0
	must(t, filepath.WalkDir(scratch, func(path string, d fs.DirEntry, err error) error {
		if name := filepath.Base(path); err != nil || len(name) != len("f0.txt") || !strings.HasPrefix(name, "f") || !strings.HasSuffix(name, ".txt") {
			return err
		}
		found++
		data, err := os.ReadFile(path)
		n, _, _ := strings.Cut(string(data), " ")
		if got, nan := strconv.Atoi(n); err != nil || nan != nil || string(data) != text(got) || got != last && got != last+1 {
			t.Errorf("%s, after patch %d: %d bytes that begin with %.20q, %v", path, last, len(data), data, err)
		}
		return nil
	}))
	if found != 3 {
		t.Errorf("%d of 3 files are left", found)
	}
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

func toolNamed(t *testing.T, w *coding.Workspace, name string) agent.Tool {
	t.Helper()
	list, err := w.Tools()
	must(t, err)
	for _, tool := range list {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
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
