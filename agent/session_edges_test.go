package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/luthier-dev/luthier/agent"
)

const childEnv = "LUTHIER_AGENT_TEST_SESSION"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		childSession(path)
		return
	}
	os.Exit(m.Run())
}

// childSession runs in another process: it continues a session and prints what it has acted on.
func childSession(path string) {
	limitFileSize(os.Getenv(childEnv + "_LIMIT"))
	s, _, err := agent.OpenSession(path, agent.SessionOptions{NoSync: true})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(3)
	}
	n := len(s.Messages())
	tool := newTool("act", agent.Writing("a"), func(ctx context.Context, args string) (*agent.ToolResult, error) {
		fmt.Println("acted", agent.CallIDFrom(ctx)) // from here on the log must contain the call
		return agent.TextResult(strings.Repeat("x", 500)), nil
	})
	m := agent.ModelFunc(func(context.Context, *agent.Request) agentSeq {
		n++
		var cs []agent.Chunk
		for i := range 3 {
			cs = append(cs, agent.ToolCallStart{Index: i, ID: fmt.Sprint("c", os.Getpid(), "_", n, "_", i), Name: "act"}, agent.ToolCallDelta{Index: i, Args: fmt.Sprint(`{"n":`, n, `}`)})
		}
		return seq(append(cs, agent.Finish{Reason: agent.FinishTools})...)
	})
	a, err := agent.New(agent.Config{Model: m, Tools: []agent.Tool{tool}, Limits: agent.Limits{Steps: -1}})
	if err != nil {
		panic(err)
	}
	res, err := a.Run(context.Background(), s, agent.Text{Text: "go"}).Collect()
	fmt.Println("ended", res.Stop, err)
	os.Exit(4)
}

// TestKilledProcess kills a real process at random times while it works in a session, over and
// over. Each time the log opens, is paired, and contains everything the process had acted on.
//
// Evidence: sessions · A session survives its killed process
func TestKilledProcess(t *testing.T) {
	path := newSessionFile(t)
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(out)
		var acted []string
		stop := 1 + rand.IntN(40)
		for len(acted) < stop && sc.Scan() {
			word, id, _ := strings.Cut(sc.Text(), " ")
			if word != "acted" {
				t.Fatalf("round %d: the child says %q", round, sc.Text())
			}
			acted = append(acted, id)
		}
		time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
		_ = cmd.Process.Kill()
		for sc.Scan() { // what it printed before it was killed
			acted = append(acted, strings.TrimPrefix(sc.Text(), "acted "))
		}
		_ = cmd.Wait()
		s, _, err := agent.OpenSession(path, agent.SessionOptions{NoSync: true})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := agent.CheckPairing(s.Messages()); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		known := map[string]string{}
		for _, m := range s.Messages() {
			for _, p := range m.Parts {
				if r, ok := p.(agent.ToolResult); ok {
					known[r.CallID] = r.Text()
				}
			}
		}
		for _, id := range acted {
			if text, ok := known[id]; !ok || strings.Contains(text, "did nothing") {
				t.Errorf("round %d: the process acted on %s, the session says %q", round, id, text)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func newSessionFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: "s", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "s.jsonl")
}

// TestFullDisk lets a real process reach its file size limit: the run ends with the error, nothing
// is acted on that was not written, and the session opens undamaged when there is space again.
func TestFullDisk(t *testing.T) {
	if !canLimitFileSize {
		t.Skip("this system has no limit on the size of files")
	}
	for _, limit := range []int{700, 1501, 3333, 9000} {
		path := newSessionFile(t)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+path, fmt.Sprint(childEnv, "_LIMIT=", limit))
		out, _ := cmd.Output()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, "free space") {
			t.Fatalf("limit %d: the run ended with %q", limit, last)
		}
		s, rec, err := agent.OpenSession(path, agent.SessionOptions{NoSync: true})
		if err != nil || rec.Torn != nil {
			t.Fatalf("limit %d: %v, %+v", limit, err, rec)
		}
		data, _ := os.ReadFile(path)
		for _, line := range lines {
			if id, ok := strings.CutPrefix(line, "acted "); ok && !bytes.Contains(data, []byte(`"id":"`+id+`"`)) {
				t.Errorf("limit %d: %s was acted on and is not in the log", limit, id)
			}
		}
		if err := agent.CheckPairing(s.Messages()); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}

// TestNewerEntryIsNotCutOff: a last entry of a kind that this version does not know is not treated
// as torn.
func TestNewerEntryIsNotCutOff(t *testing.T) {
	for _, tt := range []struct {
		tail       string
		torn, fail bool
	}{
		{`{"type":"hologram","x":1}` + "\n", false, true},
		{`{"type":"plan","plan":"p"}`, true, false}, // whole except for its newline: it was never acted on
		{`{"type":"plan","plan":"p"}` + "\r\n", false, false},
		{strings.Repeat("\x00", 4096), true, false},
		{strings.Repeat("\x00", 64) + "\n", true, false},
		{`{"type":"plan","plan":"` + strings.Repeat("long ", 1<<20) + `"}` + "\n", false, false},
	} {
		path := newSessionFile(t)
		before, _ := os.ReadFile(path)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, tt.tail)
		f.Close()
		s, rec, err := agent.OpenSession(path, agent.SessionOptions{NoSync: true})
		if (err != nil) != tt.fail {
			t.Fatalf("%.40q: %v", tt.tail, err)
		}
		if err != nil {
			if after, _ := os.ReadFile(path); len(after) != len(before)+len(tt.tail) {
				t.Errorf("%.40q: the file was cut to %d bytes", tt.tail, len(after))
			}
			continue
		}
		if (rec.Torn != nil) != tt.torn {
			t.Errorf("%.40q: torn %+v", tt.tail, rec.Torn)
		}
		s.Close()
	}
}

// TestStaleResultIsNotReused: the leftover result of a killed process is not used for a later call
// with the same id.
func TestStaleResultIsNotReused(t *testing.T) {
	path := newSessionFile(t)
	f, _ := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	fmt.Fprintln(f, `{"type":"result","result":{"call_id":"1","parts":[{"type":"text","text":"stale"}]}}`)
	fmt.Fprintln(f, `{"type":"message","message":{"role":"user","parts":[{"type":"text","text":"again"}]}}`)
	fmt.Fprintln(f, `{"type":"message","message":{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":"look","args":{}}]}}`)
	f.Close()
	s, _, err := agent.OpenSession(path, agent.SessionOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := resultTexts(s, 0); len(got) != 1 || got[0] == "stale" {
		t.Errorf("results = %q", got)
	}
}

// TestUndoIsToldAfterReopening: the note about an undo survives a restart of the process.
func TestUndoIsToldAfterReopening(t *testing.T) {
	dir := t.TempDir()
	cp := &memCheckpoints{}
	edit := newTool("edit", agent.Writing("a"), func(context.Context, string) (*agent.ToolResult, error) { return agent.TextResult("ok"), nil })
	m := newScript(calls(tc{"1", "edit", `{}`}), say("a"), say("b"), say("c"))
	a := configured(t, agent.Config{Model: m, Tools: []agent.Tool{edit}, Checkpointer: cp})
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: "u", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	run(t, a, s, "first")
	if _, err := a.Undo(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if s, _, err = agent.OpenSession(filepath.Join(dir, "u.jsonl"), agent.SessionOptions{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	run(t, a, s, "second")
	if got := m.reqs[2].Messages; !strings.Contains(got[len(got)-1].Text(), "has undone") {
		t.Errorf("the model reads %q", got[len(got)-1].Text())
	}
	s.Close()
	if s, _, err = agent.OpenSession(filepath.Join(dir, "u.jsonl"), agent.SessionOptions{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run(t, a, s, "third")
	if got := m.reqs[3].Messages; strings.Contains(got[len(got)-1].Text(), "has undone") {
		t.Error("the model is told twice")
	}
}

// TestBadMessageDoesNotEndTheSession: a message that cannot be written is refused, and the session
// continues.
func TestBadMessageDoesNotEndTheSession(t *testing.T) {
	for _, s := range []*agent.Session{agent.NewSession(), mustOpen(t, newSessionFile(t))} {
		for _, bad := range []agent.Message{
			{Role: "hologram"}, {Role: agent.RoleUser, Parts: []agent.Part{&agent.Text{}}}, {Role: agent.RoleUser, Parts: []agent.Part{nil}},
		} {
			if err := s.Append(bad); err == nil {
				t.Errorf("%+v was accepted", bad)
			}
		}
		if err := s.Append(agent.UserText("caf\xe9")); err != nil || s.Messages()[0].Text() != "caf\uFFFD" {
			t.Errorf("%v, %v", err, s.Messages())
		}
		s.Close()
	}
}

func mustOpen(t *testing.T, path string) *agent.Session {
	t.Helper()
	s, _, err := agent.OpenSession(path, agent.SessionOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestConcurrentSessionUse appends, forks, reads and closes concurrently; forks made during a run
// are complete.
func TestConcurrentSessionUse(t *testing.T) {
	path := newSessionFile(t)
	s := mustOpen(t, path)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				switch {
				case i < 3:
					_ = s.Append(agent.UserText("x"))
				case i < 5:
					f, err := s.Fork(-1, agent.SessionOptions{ID: fmt.Sprint("f", i, "_", j), NoSync: true})
					if err == nil {
						if err := agent.CheckPairing(f.Messages()); err != nil {
							t.Error(err)
						}
						f.Close()
					}
				case i == 5:
					_, _, _ = tryRun(configured(t, agent.Config{Model: newScript(calls(tc{"1", "look", `{}`}), say("a")), Tools: []agent.Tool{okTool("look")}}), s, "go")
				case i == 6:
					_ = s.SetTodos([]agent.Todo{{Text: "t"}})
					_, _ = s.Messages(), s.Transcript()
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(agent.UserText("x")); err == nil {
		t.Error("a closed session took a message")
	}
	mustOpen(t, path).Close()
}

func FuzzMessageJSON(f *testing.F) {
	for _, m := range everyPart() {
		data, _ := json.Marshal(m)
		f.Add(data, []byte(`{"a":"<é>"}`))
	}
	f.Add([]byte(`{"role":"assistant","parts":[{"type":"opaque","provider":"p","data":null}]}`), []byte("null"))
	f.Add([]byte(`{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":"n","args":null}]}`), []byte("\xff{"))
	f.Fuzz(func(t *testing.T, data, raw []byte) {
		var m agent.Message
		if json.Unmarshal(data, &m) == nil {
			roundTrip(t, m)
		}
		roundTrip(t, agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{
			agent.ToolCall{ID: "1", Name: "n", Args: raw}, agent.Opaque{Provider: "p", Data: raw}, agent.Thinking{Redacted: raw}}})
	})
}

func roundTrip(t *testing.T, m agent.Message) {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatalf("%+v: %v", m, err)
	}
	var again agent.Message
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if diff := cmp.Diff(m, again, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", data, diff)
	}
}

// TestOddInstructionFiles reads files that are long, odd or unreadable.
func TestOddInstructionFiles(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"AGENTS.md":        strings.Repeat("é", 1<<20),
		"..data/AGENTS.md": "dots",
		"bin/AGENTS.md":    "a\xff\x00b",
	} {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.MkdirAll(filepath.Join(dir, "folder", "AGENTS.md"), 0o755)
	ins, err := agent.FindInstructions(dir, "..data")
	if err != nil || len(ins) != 2 || ins[1].Text != "dots" {
		t.Fatalf("%v, %d files", err, len(ins))
	}
	if got := ins[0].Text; len(got) > 70<<10 || !strings.Contains(got, "only its first 64 KiB are shown") || strings.Contains(got, "\uFFFD") {
		t.Errorf("a long file became %d bytes ending in %q", len(got), got[len(got)-80:])
	}
	for _, d := range []string{"bin", "folder", "no\x00where"} {
		if _, err := agent.FindInstructions(dir, d); err != nil {
			t.Errorf("%q: %v", d, err)
		}
	}

	// The result of a tool that returns the same result for every call is not modified.
	shared := agent.TextResult("text")
	read := fileTool("read", false, func(context.Context, string) (*agent.ToolResult, error) { return shared, nil })
	m := newScript(calls(tc{"1", "read", `{"path":"bin/x"}`}, tc{"2", "read", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "..data", "y"))}), say("ok"))
	s := agent.NewSession()
	run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{read}, Middleware: []agent.Middleware{agent.NestedInstructions(dir)}}), s, "go")
	if len(shared.Parts) != 1 {
		t.Error("the tool's own result was changed")
	}
	if got := resultTexts(s, 0); !strings.Contains(got[0], "bin/AGENTS.md") || !strings.Contains(got[1], "dots") {
		t.Errorf("results = %q", got)
	}
}

// TestNestedResults checks that a message whose results of tools hold each other is refused beyond
// a depth, and soon: each level is read several times.
func TestNestedResults(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(`{"role":"tool","parts":[` + strings.Repeat(`{"type":"tool_result","call_id":"1","parts":[`, n) + strings.Repeat("]}", n) + "]}")
	}
	var m agent.Message
	if err := json.Unmarshal(nested(10), &m); err != nil {
		t.Error(err)
	}
	for _, n := range []int{20, 3000} {
		if err := json.Unmarshal(nested(n), &m); err == nil || !strings.Contains(err.Error(), "more than 16 levels") {
			t.Errorf("%d levels: %v", n, err)
		}
	}
}
