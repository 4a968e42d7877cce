package coding

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// runAgent lets a scripted model make calls in one run of a real agent, and returns the text of
// each result.
func runAgent(t testing.TB, w *Workspace, s *agent.Session, turns ...agenttest.Turn) []agent.ToolResult {
	t.Helper()
	ts, err := w.Tools()
	must(t, err)
	a, err := agent.New(agent.Config{Model: agenttest.Script(append(turns, agenttest.Text("done"))...), Tools: ts})
	must(t, err)
	var results []agent.ToolResult
	for ev, err := range a.Run(context.Background(), s, agent.Text{Text: "go"}) {
		must(t, err)
		if m, ok := ev.(agent.MessageAdded); ok && m.Message.Role == agent.RoleTool {
			for _, p := range m.Message.Parts {
				results = append(results, p.(agent.ToolResult))
			}
		}
	}
	return results
}

func TestTodo(t *testing.T) {
	w := openWith(t, Config{}, nil)
	s := agent.NewSession()
	got := runAgent(t, w, s,
		agenttest.Call("1", "todo", `{"todos": [{"text": "a", "status": "completed"}, {"text": "b", "status": "in_progress"}, {"text": "c", "status": "pending"}]}`),
		agenttest.Call("2", "todo", `{"todos": [{"text": "a", "status": "in_progress"}, {"text": "b", "status": "in_progress"}]}`),
		agenttest.Call("3", "todo", `{"todos": [{"text": " ", "status": "pending"}]}`),
		agenttest.Call("4", "todo", `{}`),
	)
	contains(t, got[0].Text(), "1. [x] a\n2. [>] b\n3. [ ] c\n(1 of 3 done)")
	contains(t, got[1].Text(), "2 steps are in_progress", "not changed")
	contains(t, got[2].Text(), "no text")
	if d := cmp.Diff(got[0].Text(), got[3].Text()); d != "" {
		t.Error(d)
	}
	want := []agent.Todo{{Text: "a", Status: agent.TodoDone}, {Text: "b", Status: agent.TodoActive}, {Text: "c", Status: agent.TodoPending}}
	if d := cmp.Diff(want, s.Todos()); d != "" {
		t.Error(d)
	}
	runAgent(t, w, s, agenttest.Call("5", "todo", `{"todos": []}`))
	if len(s.Todos()) != 0 {
		t.Errorf("the list was not emptied: %v", s.Todos())
	}
	refused(t, w, "todo", args{}, "no session")
}

// TestSessionsSeeForThemselves: a file that one agent read does not count as read by another.
func TestSessionsSeeForThemselves(t *testing.T) {
	w := openWith(t, Config{}, files{"f": "a\n"})
	first, second := agent.NewSession(), agent.NewSession()
	runAgent(t, w, first, agenttest.Call("1", "read", `{"path": "f"}`))
	if got := runAgent(t, w, second, agenttest.Call("2", "write", `{"path": "f", "content": "b"}`)); !got[0].IsError {
		t.Errorf("a session wrote what only another one had read: %s", got[0].Text())
	}
	if got := runAgent(t, w, first, agenttest.Call("3", "write", `{"path": "f", "content": "b"}`)); got[0].IsError {
		t.Errorf("refused: %s", got[0].Text())
	}
	if len(w.views.sessions) != 2 {
		t.Errorf("%d sessions", len(w.views.sessions))
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
	first, second = nil, nil
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		w.views.mu.Lock()
		n := len(w.views.sessions)
		w.views.mu.Unlock()
		if n == 0 {
			return
		}
	}
	t.Error("the views of sessions that are gone are kept")
}

// TestTwoEditsInOneTurn makes parallel calls on one file in one run.
//
// Evidence: coding · Two edits of one file in one turn both apply
func TestTwoEditsInOneTurn(t *testing.T) {
	w := openWith(t, Config{}, files{"f": "one\ntwo\n"})
	got := runAgent(t, w, agent.NewSession(), agenttest.Join(
		agenttest.Call("1", "edit", `{"path": "f", "old": "one", "new": "1"}`),
		agenttest.Call("2", "edit", `{"path": "./f", "old": "two", "new": "2"}`),
		agenttest.Call("3", "edit", `{"path": "f", "old": "one", "new": "eins"}`),
	))
	if got[0].IsError || got[1].IsError || !got[2].IsError {
		t.Errorf("got %v", got)
	}
	contains(t, got[2].Text(), "f: edit: replace")
	if c := content(t, w, "f"); c != "1\n2\n" {
		t.Errorf("content %q", c)
	}
}

func TestMemory(t *testing.T) {
	for name, dir := range map[string]string{"inside": "", "outside": filepath.Join(t.TempDir(), "notes")} {
		t.Run(name, func(t *testing.T) {
			w := openWith(t, Config{MemoryDir: dir, Limits: Limits{MemoryBytes: 200}}, nil)
			contains(t, do(t, w, "memory", args{"action": "read"}), "no notes")
			do(t, w, "memory", args{"action": "append", "text": "- one"})
			do(t, w, "memory", args{"action": "append", "text": "- two\n"})
			if got := do(t, w, "memory", args{"action": "read"}); got != "- one\n- two" {
				t.Errorf("read %q", got)
			}
			refused(t, w, "memory", args{"action": "append", "text": strings.Repeat("x", 300)}, "more than the 200 bytes", "shorter")
			refused(t, w, "memory", args{"action": "append"}, "text")
			do(t, w, "memory", args{"action": "replace", "text": "- three\n"})
			// Another workspace on the same directory finds the notes, and one on a different
			// directory does not.
			next := openAt(t, w.Dir(), Config{MemoryDir: dir})
			refused(t, next, "memory", args{"action": "replace", "text": "gone"}, "read them first")
			contains(t, do(t, next, "memory", args{"action": "read"}), "- three")
			other := openWith(t, Config{MemoryDir: dir}, nil)
			contains(t, do(t, other, "memory", args{"action": "read"}), "no notes")
			where := filepath.Join(w.Dir(), memoryFile)
			if dir != "" {
				where = dir
			}
			if _, err := os.Stat(where); err != nil {
				t.Error(err)
			}
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() { do(t, next, "memory", args{"action": "append", "text": "- more"}) })
			}
			wg.Wait()
			if got := do(t, next, "memory", args{"action": "read"}); strings.Count(got, "more") != 10 {
				t.Errorf("notes were lost: %q", got)
			}
		})
	}
}

func TestAskUser(t *testing.T) {
	alone := openWith(t, Config{}, nil)
	contains(t, do(t, alone, "ask_user", args{"question": "Which?"}), "Nobody is there", "Decide on your own")
	var mu sync.Mutex
	open := 0
	w := openWith(t, Config{Ask: func(ctx context.Context, q Question) (string, error) {
		mu.Lock()
		open++
		if open > 1 {
			t.Error("two questions at once")
		}
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		open--
		mu.Unlock()
		if q.Text == "fail" {
			return "", errors.New("the person left")
		}
		return q.Text + strings.Join(q.Options, "/"), nil
	}}, nil)
	if got := do(t, w, "ask_user", args{"question": " Which? ", "options": []string{"a", "b"}}); got != "Which?a/b" {
		t.Errorf("got %q", got)
	}
	refused(t, w, "ask_user", args{"question": "fail"}, "the person left", "on your own")
	refused(t, w, "ask_user", args{"question": " "})
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { do(t, w, "ask_user", args{"question": "x"}) })
	}
	wg.Wait()
}
