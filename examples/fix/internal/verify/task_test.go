package verify

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/internal/tier"
)

func TestLinesSurviveAKillAtAnyByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whole.jsonl")
	l, err := OpenLines(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	tasks := []any{&Task{ID: "a", Output: "x\ny"}, &Task{ID: "b", Marks: []repair.Mark{repair.NotRun, repair.Suspect}}}
	if err := errors.Join(l.Append(tasks...), l.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(whole); n += tier.Pick(7, 1, 1) {
		cut := filepath.Join(t.TempDir(), "cut.jsonl")
		if err := os.WriteFile(cut, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		lines := 0
		l, err := OpenLines(cut, func([]byte) error { lines++; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := bytes.Count(whole[:n], []byte("\n")); lines != want {
			t.Fatalf("after %d bytes: %d lines, want %d", n, lines, want)
		}
		if err := errors.Join(l.Append(&Task{ID: "c"}), l.Close()); err != nil {
			t.Fatal(err)
		}
		var ids []string
		if err := ReadTasks(cut, func(task *Task) error { ids = append(ids, task.ID); return nil }); err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		if want := append([]string{"a", "b"}[:lines:lines], "c"); !cmp.Equal(ids, want) {
			t.Fatalf("after %d bytes: tasks %v, want %v", n, ids, want)
		}
	}
}

func TestTaskRoundTrip(t *testing.T) {
	want := &Task{
		ID: "m/p/a.go:3:F:2:return <x>", Module: "m", Version: "v1.0.0", Pkg: "m/p", File: "a.go",
		Function: repair.Function{Name: "F", File: "a.go", Start: 3, End: 5, Text: "func F() {\n\treturn\n}"},
		Kind:     "variable", Line: 2, Original: "return", Failed: []string{"TestF"}, Output: "<a> & b\n",
		Marks:   []repair.Mark{repair.Run, repair.Suspect, repair.NotRun},
		Ranking: []repair.Ranked{{Function: repair.Function{Name: "F"}, Score: 0.5, Marks: []repair.Mark{repair.Run}}},
	}
	path := filepath.Join(t.TempDir(), "tasks.jsonl")
	l, err := OpenLines(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Append(want), l.Close()); err != nil {
		t.Fatal(err)
	}
	err = ReadTasks(path, func(got *Task) error {
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
