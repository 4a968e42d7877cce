package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/bpe"
	"github.com/luthier-dev/luthier/examples/fix/internal/corpus"
	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
	"github.com/luthier-dev/luthier/sandbox"
)

// harvestingOf prepares a run that writes to dir.
func harvestingOf(t *testing.T, dir string) *harvesting {
	t.Helper()
	h := &harvesting{
		out: filepath.Join(dir, "tasks.jsonl"), work: filepath.Join(dir, "work"), workers: 1, begun: time.Now(),
		deadline: time.Now().Add(10 * time.Minute), harvest: verify.Harvest{PerFunction: 1, PerPackage: 5, Seed: 1},
	}
	if err := h.open(); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestVerifyAndStage2 breaks a small module in the sandbox, continues where an earlier run ended,
// and writes examples.
//
// Evidence: training · Thousands of broken versions run in one test binary
func TestVerifyAndStage2(t *testing.T) {
	if sb, err := sandbox.Local(context.Background(), sandbox.Config{Dir: t.TempDir()}); errors.Is(err, sandbox.ErrFloor) {
		t.Skipf("this host grants no sandbox: %v", err)
	} else if err != nil {
		t.Fatal(err)
	} else {
		sb.Close()
	}
	ctx, dir := context.Background(), t.TempDir()
	root, err := filepath.Abs("../internal/verify/testdata/small")
	if err != nil {
		t.Fatal(err)
	}
	source := corpus.Source{Module: corpus.Module{Path: "example.com/small", Version: "v1.0.0"}, Dir: root}
	h := harvestingOf(t, dir)
	h.run(ctx, []job{{source, "."}})
	if err := errors.Join(h.tasks.Close(), h.done.Close()); err != nil {
		t.Fatal(err)
	}
	count := 0
	err = verify.ReadTasks(h.out, func(task *verify.Task) error {
		count++
		if task.Module != source.Path || task.Version != source.Version {
			return fmt.Errorf("%s is of %s %s", task.ID, task.Module, task.Version)
		}
		return nil
	})
	if err != nil || count < 3 {
		t.Fatalf("%d tasks, %v", count, err)
	}
	again := harvestingOf(t, dir)
	defer again.tasks.Close()
	defer again.done.Close()
	if again.count != count || !again.seen["example.com/small ."] {
		t.Errorf("a second run sees %d tasks and %v, want %d and the package", again.count, again.seen, count)
	}
	checkStage2(t, dir, h.out, count)
}

// checkStage2 writes the examples of tasks and reads them back.
func checkStage2(t *testing.T, dir, tasks string, count int) {
	t.Helper()
	source, err := os.ReadFile("cmd_verify.go")
	if err != nil {
		t.Fatal(err)
	}
	v, err := bpe.Train(func(yield func(string) bool) { yield(string(source)) }, 400, vocabSpecial())
	if err != nil {
		t.Fatal(err)
	}
	vocab, out := filepath.Join(dir, "vocab.json"), filepath.Join(dir, "stage2.tok")
	if err := v.Save(vocab); err != nil {
		t.Fatal(err)
	}
	// With such a small vocabulary, texts have many tokens, so the context must be large.
	if err := runStage2(context.Background(), []string{"-in", tasks, "-out", out, "-vocab", vocab, "-context", "100000"}); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	edits := 0
	for _, e := range set.Examples {
		if e.Kind == dataset.KindEdit {
			edits++
		}
	}
	if edits != count {
		t.Errorf("%d edits of %d tasks", edits, count)
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
}

// TestLonger checks that longer rejects texts that are too short or that the original filter
// rejects.
func TestLonger(t *testing.T) {
	for _, tt := range []struct {
		least int
		take  func(string) bool
		text  string
		want  bool
	}{
		{0, nil, "", true},
		{3, nil, "ab", false},
		{3, nil, "abc", true},
		{3, func(text string) bool { return text != "abc" }, "abc", false},
		{3, func(text string) bool { return text != "abc" }, "abcd", true},
	} {
		if got := longer(tt.least, tt.take)(tt.text); got != tt.want {
			t.Errorf("%d bytes at least: %q is taken %v", tt.least, tt.text, got)
		}
	}
}
