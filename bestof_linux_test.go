package luthier_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// TestBestOf: of eight agents that each try another value, the one whose tests pass is taken over,
// and what is exported is exactly its change.
//
// Evidence: luthier · The best of several attempts is taken over
func TestBestOf(t *testing.T) {
	tier.Normal(t)
	dir := committed(t)
	w := openWorkspace(t, luthier.Commit(dir, "HEAD"))
	coder, err := luthier.New(t.Context(), "", luthier.Options{Workspace: w, StateDir: t.TempDir(), Autonomy: agent.AutonomySandboxed, Model: byAttempt()})
	if err != nil {
		t.Fatal(err)
	}
	defer coder.Close()
	passes := func(ctx context.Context, w luthier.Workspace) float64 {
		exit, err := w.Sandbox().Exec(ctx, sandbox.Cmd{Args: []string{"grep", "-q", "return 2 ", "a.go"}})
		if err != nil || !exit.Success() {
			return 0
		}
		return 1
	}
	best, err := luthier.BestOf(t.Context(), coder, 8, "Try.", passes)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range best.Attempts {
		if (a.Score == 1) != (i == best.Winner) || a.Err != nil || a.Result == nil || a.SessionID == "" {
			t.Errorf("winner %d, attempt %d: %+v", best.Winner, i, a)
		}
	}
	infos, err := coder.Sessions()
	if err != nil || len(infos) != 8 {
		t.Errorf("%d sessions, %v", len(infos), err)
	}
	var patch bytes.Buffer
	if _, err := coder.Export(t.Context(), sandbox.ExportOptions{Patch: &patch}); err != nil {
		t.Fatal(err)
	}
	if got := patch.String(); strings.Count(got, "diff --git") != 2 || !strings.Contains(got, "+func Two() int { return 2 }") || !strings.Contains(got, "+mine 2\n") {
		t.Errorf("the patch is %s", got)
	}
	_, err = luthier.BestOf(t.Context(), coder, 2, "Try.", func(context.Context, luthier.Workspace) float64 { return math.NaN() })
	if !errors.Is(err, luthier.ErrNoneBest) {
		t.Errorf("no attempt is acceptable: %v", err)
	}
	var again bytes.Buffer
	if _, err := coder.Export(t.Context(), sandbox.ExportOptions{Patch: &again}); err != nil || again.String() != patch.String() {
		t.Errorf("after attempts that nobody wanted: %s, %v", &again, err)
	}
}

// byAttempt returns a model that tries another value in each of eight conversations.
func byAttempt() agent.Model {
	next := make(chan int, 100)
	for i := range 100 {
		next <- (i + 5) % 8
	}
	return agenttest.ScriptFunc(func(req *agent.Request) agenttest.Turn {
		switch len(req.Messages) {
		case 1:
			return call("1", "edit", map[string]any{"path": "a.go", "old": "return 3", "new": fmt.Sprintf("return %d", <-next)})
		case 3:
			return call("2", "shell", map[string]any{"command": `echo mine $(sed -n 's/.*return \([0-9]*\).*/\1/p' a.go) >mine.txt`})
		}
		return agenttest.Text("tried")
	})
}

// BenchmarkBestOf compares the set-up of eight attempts, until the last of them asks the model,
// with opening one workspace and an agent over it, on a directory of 5,000 files.
func BenchmarkBestOf(b *testing.B) {
	dir := b.TempDir()
	for i := range 5000 {
		name := filepath.Join(dir, fmt.Sprintf("d%02d/f%03d.go", i/100, i))
		if i%100 == 0 {
			if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "package d\n\n// F%d is one of many.\nfunc F%d() {}\n", i, i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	grade := func(context.Context, luthier.Workspace) float64 { return 1 }
	var open, best []time.Duration
	var last atomic.Int64
	for b.Loop() {
		state := b.TempDir()
		start := time.Now()
		w, err := luthier.Open(b.Context(), luthier.Snapshot(dir))
		if err != nil {
			b.Skip(err)
		}
		c, err := luthier.New(b.Context(), "", luthier.Options{Workspace: w, StateDir: state, NoIndex: true, Model: agenttest.ScriptFunc(func(*agent.Request) agenttest.Turn {
			last.Store(time.Now().UnixNano())
			return agenttest.Text("done")
		})})
		if err != nil {
			b.Fatal(err)
		}
		open = append(open, time.Since(start))
		if exit, err := w.Sandbox().Exec(b.Context(), sandbox.Cmd{Args: []string{"touch", "changed"}}); err != nil || !exit.Success() {
			b.Fatal(exit, err)
		}
		start = time.Now()
		if _, err := luthier.BestOf(b.Context(), c, 8, "Nothing.", grade); err != nil {
			b.Fatal(err)
		}
		best = append(best, time.Unix(0, last.Load()).Sub(start))
		if err := errors.Join(c.Close(), w.Close()); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(open)
	slices.Sort(best)
	b.ReportMetric(float64(open[len(open)/2].Microseconds())/1e3, "ms/open")
	b.ReportMetric(float64(best[len(best)/2].Microseconds())/1e3, "ms/set-up")
	b.ReportMetric(float64(best[len(best)/2])/float64(open[len(open)/2]), "ratio")
}
