package luthier_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/internal/workspacetest"
	"github.com/luthier-dev/luthier/sandbox"
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
	w.ok(t, "shell", `{"command":"dd if=/dev/zero of=fill bs=4k 2>/dev/null; truncate -s -16k fill"}`)
	big := strings.Repeat("+0123456789abcdef0123456789abcdef\n", 40<<10/34)
	before, err := w.Exec(t.Context(), "find . -type f | sort | xargs -d '\\n' sha256sum")
	must(t, err)
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
	apply := func(from, to int) error {
		r, err := toolNamed(t, w.coder.Workspace, "apply_patch").Call(t.Context(), agent.ToolCall{ID: "p", Name: "apply_patch", Args: json.RawMessage(`{"patch":` + jsonText(patch(from, to)) + `}`)})
		if err == nil && r.IsError {
			err = errors.New(r.Text())
		}
		return err
	}
	must(t, apply(-1, 0))
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
		if err := apply(last, last+1); err != nil {
			t.Logf("patch %d: %.300v", last+1, err)
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
