package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

var writeSessions = flag.String("sessions", "", "write the session files of this `version` into testdata/sessions: once a release, see CONTRIBUTING.md")

// opened holds what a session file says when it is opened.
type opened struct {
	ID          string
	Epoch       int
	Messages    []agent.Message
	Transcript  int
	Usage       agent.Usage
	Cost        int64
	Plan        string
	Todos       []agent.Todo
	Checkpoints []agent.CheckpointRef
	Grants      int
	Interrupted int
	Torn        bool
}

func openCopy(t *testing.T, path string) (*agent.Session, opened) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(copied, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s, rec, err := agent.OpenSession(copied, agent.SessionOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	o := opened{ID: s.ID(), Epoch: s.Epoch(), Messages: s.Messages(), Transcript: len(s.Transcript()), Plan: s.Plan(), Todos: s.Todos(),
		Checkpoints: s.Checkpoints(), Grants: len(s.Grants()), Interrupted: len(rec.Interrupted), Torn: rec.Torn != nil}
	o.Usage, o.Cost = s.Usage()
	return s, o
}

// TestSessionsOfReleases checks that the session files which each release wrote still open, mean
// what they meant, and can be gone on with. The files are never changed: a new release adds its
// own.
func TestSessionsOfReleases(t *testing.T) {
	if *writeSessions != "" {
		writeReleaseSessions(t, filepath.Join("testdata", "sessions", *writeSessions))
	}
	files, err := filepath.Glob("testdata/sessions/v*/*.jsonl")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(strings.TrimPrefix(filepath.ToSlash(path), "testdata/sessions/"), func(t *testing.T) {
			s, got := openCopy(t, path)
			b, err := os.ReadFile(strings.TrimSuffix(path, ".jsonl") + ".want.json")
			if err != nil {
				t.Fatal(err)
			}
			var want opened
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(got) // what JSON does to nil and empty is not the point here
			if err != nil {
				t.Fatal(err)
			}
			got = opened{}
			if err := json.Unmarshal(again, &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			m := newScript(say("went on"))
			if res, _ := run(t, newAgent(t, m, okTool("look")), s, "go on"); res.Text() != "went on" {
				t.Errorf("the session cannot be gone on with: %q", res.Text())
			}
		})
	}
}

// writeReleaseSessions writes sessions that hold every type of entry and of part.
func writeReleaseSessions(t *testing.T, dir string) {
	if _, err := os.Stat(dir); err == nil {
		t.Fatalf("%s is there already: files of a release never change", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	create := func(id string) *agent.Session {
		s, err := agent.CreateSession(dir, agent.SessionOptions{ID: id, NoSync: true, Dir: "/src"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	if _, _ = recordSession(t, dir); t.Failed() {
		return
	}

	parts := create("parts")
	if err := parts.Append(everyPart()...); err != nil {
		t.Fatal(err)
	}

	cp := &memCheckpoints{}
	edit := newTool("edit", agent.Writing("a"), func(_ context.Context, args string) (*agent.ToolResult, error) {
		cp.state = args
		return agent.TextResult("ok"), nil
	})
	undone := create("undone")
	a := configured(t, agent.Config{Model: newScript(calls(tc{"1", "edit", `1`}), say("a"), calls(tc{"2", "edit", `2`}), say("b")), Tools: []agent.Tool{edit}, Checkpointer: cp})
	run(t, a, undone, "first")
	run(t, a, undone, "second")
	_, err1 := a.Undo(t.Context(), undone)
	_, err2 := a.Undo(t.Context(), undone)
	_, err3 := a.Redo(t.Context(), undone)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}

	compacted := create("compacted")
	m := newScript(calls(tc{"1", "look", `{"n":1}`}), calls(tc{"2", "look", `{"n":2}`}), fails(agent.ErrContextLength), say("ok"))
	run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{okTool("look")}, Compactor: keepLast{}}), compacted, "go")
	if f, err := compacted.Fork(2, agent.SessionOptions{ID: "forked", NoSync: true}); err != nil {
		t.Fatal(err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	// Granted for the rest of the session, and a model that was paid for saying nothing.
	granted := create("granted")
	nothing := chunks(agent.Usage{Input: 10, Output: 1}, agent.Finish{Reason: agent.FinishStop})
	granting := configured(t, agent.Config{Model: newScript(calls(tc{"1", "edit", `1`}), nothing, say("done")), Tools: []agent.Tool{edit},
		Policy: agent.StandardRules(agent.AutonomyAsk), Ask: func(context.Context, *agent.PermissionRequest, agent.Verdict) agent.Answer {
			return agent.Answer{Allow: true, Scope: agent.GrantExact}
		}})
	granting.Run(t.Context(), granted, agent.Text{Text: "go"}).Collect()

	// A process that was killed: between a call and its result, and in the middle of an entry.
	whole, err := os.ReadFile(filepath.Join(dir, "s1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"type":"call"`) })
	cut := strings.Join(lines[:i+1], "")
	for name, text := range map[string]string{"interrupted": cut, "torn": cut[:len(cut)-5]} {
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(strings.ReplaceAll(text, `"s1"`, `"`+name+`"`)), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	types := map[agent.EntryType]bool{}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	for _, path := range files {
		os.Chmod(path, 0o644)
		_, o := openCopy(t, path)
		b, err := json.Marshal(o) // as arguments are, unindented
		if err := errors.Join(err, os.WriteFile(strings.TrimSuffix(path, ".jsonl")+".want.json", append(b, '\n'), 0o644)); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for e := range agent.ReadEntries(f) {
			if e != nil {
				types[e.Type] = true
			}
		}
	}
	for _, want := range []agent.EntryType{agent.EntrySession, agent.EntryMessage, agent.EntryCall, agent.EntryResult, agent.EntryResults, agent.EntryCompaction,
		agent.EntryPlan, agent.EntryTodos, agent.EntryGrant, agent.EntryCheckpoint, agent.EntryUndo, agent.EntryRedo, agent.EntrySpend} {
		if !types[want] {
			t.Errorf("no session holds an entry %q", want)
		}
	}
}
