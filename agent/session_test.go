package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
)

// everyPart returns a history with every kind of part, and with arguments that JSON encoders tend
// to rewrite.
func everyPart() []agent.Message {
	return []agent.Message{
		{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "look <here> & \u2028 é\x00"}, agent.Image{MediaType: "image/png", Data: []byte{0, 255, 1}}}},
		{Role: agent.RoleAssistant, Parts: []agent.Part{
			agent.Thinking{Text: "hm", Signature: "sig=="}, agent.Thinking{Redacted: []byte("secret")},
			agent.Opaque{Provider: "x", Data: json.RawMessage(`{"a":1}`)}, agent.Text{Text: "ok"},
			agent.ToolCall{ID: "1", Name: "a", Args: json.RawMessage(`{"x":"<b>&é"}`)},
			agent.ToolCall{ID: "2", Name: "a", Args: json.RawMessage("{ \"x\" :\n1 }")},
			agent.ToolCall{ID: "3", Name: "a", Args: json.RawMessage(`{broken`)},
		}},
		{Role: agent.RoleTool, Parts: []agent.Part{
			agent.ToolResult{CallID: "1", Parts: []agent.Part{agent.Text{Text: "r"}, agent.Image{URL: "http://x"}}},
			agent.ToolResult{CallID: "2", Parts: []agent.Part{agent.Text{Text: ""}}, IsError: true},
			agent.ToolResult{CallID: "3"},
		}},
	}
}

func TestMessagesSurviveJSON(t *testing.T) {
	for _, m := range everyPart() {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var got agent.Message
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for _, bad := range []string{`{"role":"user","parts":[{"type":"hologram"}]}`, `{"role":"user","parts":[3]}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), new(agent.Message)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	if _, err := json.Marshal(agent.Message{Parts: []agent.Part{&agent.Text{}}}); err == nil {
		t.Error("a pointer part was accepted")
	}
}

// recordSession runs a small conversation in a session on disk and returns the log's path and the
// final history.
func recordSession(t testing.TB, dir string) (string, []agent.Message) {
	t.Helper()
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: "s1", NoSync: true, Dir: "/src"})
	if err != nil {
		t.Fatal(err)
	}
	m := newScript(calls(tc{"1", "look", `{"n":1}`}, tc{"2", "look", `{"n":2}`}), calls(tc{"3", "look", `{"n":3}`}), say("done"), say("bye"))
	a := newAgent(t, m, okTool("look"))
	run(t, a, s, "go\nand more")
	if err := s.SetTodos([]agent.Todo{{Text: "x", Status: agent.TodoActive}}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPlan("the plan"); err != nil {
		t.Fatal(err)
	}
	run(t, a, s, "again")
	ms := s.Messages()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "s1.jsonl"), ms
}

func TestSessionResumes(t *testing.T) {
	path, want := recordSession(t, t.TempDir())
	s, rec, err := agent.OpenSession(path, agent.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if rec.Torn != nil || rec.Interrupted != nil || rec.Skipped != nil {
		t.Errorf("recovery of a clean session: %+v", rec)
	}
	if diff := cmp.Diff(want, s.Messages()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Plan() != "the plan" || len(s.Todos()) != 1 || s.ID() != "s1" || s.Meta().Dir != "/src" {
		t.Errorf("plan %q, todos %v, meta %+v", s.Plan(), s.Todos(), s.Meta())
	}
	if u, _ := s.Usage(); u.Input != 40 {
		t.Errorf("usage = %+v", u)
	}
	if _, _, err := agent.OpenSession(path, agent.SessionOptions{}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a session was opened twice: %v", err)
	}
}

// TestSessionSurvivesACutAtAnyByte truncates the log everywhere a crash could have: the rest opens,
// holds a prefix of the history in which every call is answered, and can be continued.
//
// Evidence: sessions · A session log that is cut at any byte opens and goes on
func TestSessionSurvivesACutAtAnyByte(t *testing.T) {
	dir := t.TempDir()
	path, full := recordSession(t, dir)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(data, '\n') + 1
	cuts := make([]int, 0, 400)
	for i := first; i <= len(data); i += 1 + rand.IntN(1+len(data)/tier.Pick(50, 150, 600)) {
		cuts = append(cuts, i)
	}
	for i, c := range data { // and at every line's end, before and after the newline
		if c == '\n' && i >= first {
			cuts = append(cuts, i, i+1)
		}
	}
	cutPath := filepath.Join(dir, "cut.jsonl")
	for _, cut := range cuts {
		if err := os.WriteFile(cutPath, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		checkCut(t, cutPath, data[:cut], full)
	}
	for cut := range first { // a log without its first entry is not a session, and opening it reports that
		if err := os.WriteFile(cutPath, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := agent.OpenSession(cutPath, agent.SessionOptions{}); err == nil {
			t.Fatalf("cut at %d: opened without a session entry", cut)
		}
	}
}

func checkCut(t *testing.T, path string, data []byte, full []agent.Message) {
	t.Helper()
	s, rec, err := agent.OpenSession(path, agent.SessionOptions{NoSync: true})
	if err != nil {
		t.Fatalf("cut at %d: %v", len(data), err)
	}
	if torn := !bytes.HasSuffix(data, []byte("\n")); torn != (rec.Torn != nil) {
		t.Errorf("cut at %d: torn = %v, reported %+v", len(data), torn, rec.Torn)
	}
	ms := s.Messages()
	if err := agent.CheckPairing(ms); err != nil {
		t.Errorf("cut at %d: %v", len(data), err)
	}
	if len(ms) > 0 && len(ms[len(ms)-1].Calls()) > 0 {
		t.Errorf("cut at %d: the last calls have no results", len(data))
	}
	ignoreMended := cmpopts.IgnoreFields(agent.ToolResult{}, "Parts", "IsError")
	for i, m := range ms {
		if m.Role == agent.RoleAssistant && i == len(ms)-2 && len(m.Parts) < len(full[i].Parts) {
			continue // rebuilt from the calls that had begun
		}
		if m.Role == agent.RoleTool && len(m.Parts) < len(full[i].Parts) {
			continue
		}
		if diff := cmp.Diff(full[i], m, ignoreMended); diff != "" {
			t.Errorf("cut at %d: message %d (-want +got):\n%s", len(data), i, diff)
		}
	}
	a := newAgent(t, newScript(say("back")))
	if res, _ := run(t, a, s, "go on"); res.Text() != "back" {
		t.Errorf("cut at %d: %+v", len(data), res)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, rec, err := agent.OpenSession(path, agent.SessionOptions{})
	if err != nil || rec.Torn != nil {
		t.Fatalf("cut at %d: second open: %v, %+v", len(data), err, rec)
	}
	again.Close()
}

func TestInterruptedCallsAreReported(t *testing.T) {
	path, _ := recordSession(t, t.TempDir())
	data, _ := os.ReadFile(path)
	var kept [][]byte
	for _, line := range bytes.SplitAfter(data, []byte("\n")) {
		kept = append(kept, line)
		if bytes.Contains(line, []byte(`"type":"call"`)) {
			break
		}
	}
	if err := os.WriteFile(path, bytes.Join(kept, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	s, rec, err := agent.OpenSession(path, agent.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(rec.Interrupted) != 1 || rec.Interrupted[0].Name != "look" {
		t.Errorf("recovery = %+v", rec)
	}
	if got := resultTexts(s, 0); !strings.Contains(strings.Join(got, "\n"), "may or may not have taken effect") {
		t.Errorf("the model is told %q", got)
	}
}

func TestDamageInTheMiddleIsNamed(t *testing.T) {
	path, _ := recordSession(t, t.TempDir())
	data, _ := os.ReadFile(path)
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines[2][3] = '!'
	os.WriteFile(path, bytes.Join(lines, nil), 0o600)
	if _, _, err := agent.OpenSession(path, agent.SessionOptions{}); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("err = %v, want it to name line 3", err)
	}
}

// Evidence: sessions · Sessions can be listed and forked
func TestForkAndList(t *testing.T) {
	dir := t.TempDir()
	path, full := recordSession(t, dir)
	s, _, err := agent.OpenSession(path, agent.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range len(full) + 1 {
		f, err := s.Fork(n, agent.SessionOptions{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		ms := f.Messages()
		want := full[:n]
		if n > 0 && len(full[n-1].Calls()) > 0 {
			ms = ms[:len(ms)-1] // without the synthetic results
		}
		if diff := cmp.Diff(want, ms, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("fork at %d (-want +got):\n%s", n, diff)
		}
		if f.Meta().Parent != "s1" || f.Meta().ForkAt != n || f.Plan() != "the plan" {
			t.Errorf("fork at %d: %+v", n, f.Meta())
		}
		if res, _ := run(t, newAgent(t, newScript(say("other way"))), f, "x"); res.Text() != "other way" {
			t.Errorf("fork at %d: %+v", n, res)
		}
		f.Close()
	}
	if _, err := s.Fork(len(full)+1, agent.SessionOptions{}); err == nil {
		t.Error("a fork beyond the end was made")
	}
	os.WriteFile(filepath.Join(dir, "junk.jsonl"), []byte("not a session\nat all\n"), 0o600)
	infos, err := agent.ListSessions(dir)
	if err != nil || len(infos) != len(full)+3 {
		t.Fatalf("%d sessions, %v", len(infos), err)
	}
	for _, info := range infos {
		if strings.HasSuffix(info.Path, "junk.jsonl") != (info.Err != nil) {
			t.Errorf("%s: err = %v", info.Path, info.Err)
		}
		if info.Meta.ID == "s1" && (info.Title != "go" || info.Messages != len(full) || info.Meta.Dir != "/src") {
			t.Errorf("info = %+v", info)
		}
	}
	if infos, err := agent.ListSessions(filepath.Join(dir, "none")); len(infos) != 0 || err != nil {
		t.Errorf("a missing directory: %v, %v", infos, err)
	}
}

// TestUnwritableSessionStopsTheRun closes the session's file during a run: nothing may be acted on
// that was not written.
func TestUnwritableSessionStopsTheRun(t *testing.T) {
	s, err := agent.CreateSession(t.TempDir(), agent.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	m := newScript(say("x"))
	if _, _, err := tryRun(newAgent(t, m), s, "go"); err == nil || len(m.reqs) != 0 {
		t.Errorf("err = %v after %d requests", err, len(m.reqs))
	}
	for _, id := range []string{"../x", "", "a b"} {
		if id == "" {
			continue
		}
		if _, err := agent.CreateSession(t.TempDir(), agent.SessionOptions{ID: id}); err == nil {
			t.Errorf("id %q was accepted", id)
		}
	}
}

func TestUndoAndRedo(t *testing.T) {
	dir := t.TempDir()
	cp := &memCheckpoints{}
	edit := newTool("edit", agent.Writing("a"), func(_ context.Context, args string) (*agent.ToolResult, error) {
		cp.state = args
		return agent.TextResult("ok"), nil
	})
	m := newScript(calls(tc{"1", "edit", `1`}, tc{"2", "edit", `{"v":1}`}), say("a"), calls(tc{"3", "edit", `{"v":2}`}), say("b"), say("c"), say("d"))
	a := configured(t, agent.Config{Model: m, Tools: []agent.Tool{edit}, Checkpointer: cp})
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: "u", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	_, evs := run(t, a, s, "first")
	if !hasEvent[agent.Checkpointed](evs) || len(s.Checkpoints()) != 1 {
		t.Fatalf("checkpoints = %v, want one a turn", s.Checkpoints())
	}
	run(t, a, s, "second")
	step := func(f func(context.Context, *agent.Session) (agent.CheckpointRef, error), want string) {
		t.Helper()
		if _, err := f(context.Background(), s); err != nil || cp.state != want {
			t.Fatalf("state = %q, %v, want %q", cp.state, err, want)
		}
	}
	step(a.Undo, `{"v":1}`)
	step(a.Undo, ``)
	if _, err := a.Undo(context.Background(), s); !errors.Is(err, agent.ErrNothingToUndo) {
		t.Errorf("err = %v", err)
	}
	step(a.Redo, `{"v":1}`)
	s.Close()
	if s, _, err = agent.OpenSession(filepath.Join(dir, "u.jsonl"), agent.SessionOptions{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	step(a.Redo, `{"v":2}`)
	step(a.Undo, `{"v":1}`)
	run(t, a, s, "third")
	if got := m.reqs[len(m.reqs)-1].Messages; !strings.Contains(got[len(got)-1].Text(), "has undone") {
		t.Errorf("the model is not told: %q", got[len(got)-1].Text())
	}
}

// memCheckpoints keeps states of a string in memory.
type memCheckpoints struct {
	state  string
	states []string
}

func (c *memCheckpoints) Snapshot(context.Context, string) (string, error) {
	c.states = append(c.states, c.state)
	return string(rune('a' + len(c.states) - 1)), nil
}

func (c *memCheckpoints) Restore(ctx context.Context, id string) (string, error) {
	undo, _ := c.Snapshot(ctx, "")
	c.state = c.states[id[0]-'a']
	return undo, nil
}

func FuzzReadEntries(f *testing.F) {
	dir := f.TempDir()
	path, _ := recordSession(f, dir)
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte(`{"type":"session"}` + "\n"))
	f.Add([]byte(`{"type":"results","calls":["x"]}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "f.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := agent.OpenSession(path, agent.SessionOptions{NoSync: true, Now: func() time.Time { return time.Unix(0, 0) }})
		if err != nil {
			return
		}
		want := s.Messages()
		s.Close()
		s, rec, err := agent.OpenSession(path, agent.SessionOptions{NoSync: true})
		if err != nil || rec.Torn != nil {
			t.Fatalf("what was opened once does not open again: %v, %+v", err, rec)
		}
		defer s.Close()
		if diff := cmp.Diff(want, s.Messages(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
	})
}
