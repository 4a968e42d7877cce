package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
)

// noLeak fails the test if goroutines are left at its end.
func noLeak(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<16)
				t.Fatalf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
			}
		}
	})
}

// bare is a tool from outside this package that implements only what the contract requires.
type bare struct {
	name   string
	schema string
	call   func(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error)
}

func (f bare) Spec() agent.ToolSpec {
	return agent.ToolSpec{Name: f.name, Schema: json.RawMessage(f.schema), Effects: agent.ReadOnly("x")}
}

func (f bare) Call(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	return f.call(ctx, call)
}

type textIn struct {
	Text string `json:"text"`
}

func named(t testing.TB, name string) agent.Tool {
	return mustNew(t, name, func(_ context.Context, in textIn) (string, error) { return name + ":" + in.Text, nil })
}

func names(r *Registry) string {
	var out []string
	for _, t := range r.Tools() {
		out = append(out, t.Spec().Name)
	}
	return strings.Join(out, " ")
}

// Evidence: tools · Tools can join and leave while agents run
func TestRegistryChanges(t *testing.T) {
	r, err := NewRegistry(named(t, "a"), named(t, "b"))
	if err != nil {
		t.Fatal(err)
	}
	before := r.Tools()
	for want, err := range map[string]error{
		`tools: add "b": the name is taken`:    r.Add(named(t, "c"), named(t, "b")),
		"tools: add tool 1: it is nil":         r.Add(nil),
		`tools: add "x y": a name is`:          r.Add(bare{name: "x y"}),
		`tools: add "x": parse schema`:         r.Add(bare{name: "x", schema: "{"}),
		`tools: replace "z": there is no such`: r.Replace(named(t, "z")),
		`tools: replace "x": compile schema`:   r.Replace(bare{name: "x", schema: `{"type":1}`}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if got := names(r); got != "a b" {
		t.Errorf("after errors: %s", got)
	}
	if err := errors.Join(r.Add(named(t, "c")), r.Replace(bare{name: "a", call: func(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
		return agent.TextResult("new"), nil
	}})); err != nil {
		t.Fatal(err)
	}
	if !r.Remove("b") || r.Remove("b") {
		t.Error("Remove")
	}
	if got := names(r); got != "a c" {
		t.Errorf("order: %s", got)
	}
	if len(before) != 2 || before[0].Spec().Schema == nil {
		t.Error("a slice that was given out changed")
	}
	if res := r.Call(t.Context(), agent.ToolCall{ID: "7", Name: "a"}); res.Text() != "new" || res.CallID != "7" {
		t.Errorf("%+v", res)
	}
	if _, err := NewRegistry(named(t, "a"), named(t, "a")); err == nil {
		t.Error("a name was taken twice")
	}
	if tool, ok := r.Lookup("c"); !ok || tool != r.Tools()[1] {
		t.Error("Lookup")
	}
}

func TestUnknownTool(t *testing.T) {
	r, err := NewRegistry(named(t, "read_file"), named(t, "write_file"), named(t, "shell"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"readFile":               `There is no tool "readFile". Did you mean read_file`,
		"shel":                   `Did you mean shell?`,
		"functions.x":            `The tools are: read_file, write_file, shell.`,
		"a\x00\xff":              "There is no tool",
		strings.Repeat("x", 1e6): "There is no tool",
	} {
		res := r.Call(t.Context(), agent.ToolCall{ID: "1", Name: name})
		if !res.IsError || !strings.Contains(res.Text(), want) || res.CallID != "1" || len(res.Text()) > 400 {
			t.Errorf("%.40q: %.300s", name, res.Text())
		}
	}
	empty, _ := NewRegistry()
	if res := empty.Call(t.Context(), agent.ToolCall{Name: "x"}); !res.IsError {
		t.Error(res)
	}
}

// TestMisbehaviour: whatever a tool does, Call returns a valid result.
//
// Evidence: tools · Panics, timeouts and odd results of a tool become sound results
func TestMisbehaviour(t *testing.T) {
	noLeak(t)
	tests := map[string]struct {
		call func(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error)
		want string
		bad  bool
	}{
		"panics": {func(context.Context, agent.ToolCall) (*agent.ToolResult, error) { panic("boom") }, "x failed: panic: boom. This is a fault of the tool", true},
		"nil map": {func(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
			var m map[string]int
			m["a"]++
			return nil, nil
		}, "assignment to entry in nil map", true},
		"goexit":  {func(context.Context, agent.ToolCall) (*agent.ToolResult, error) { runtime.Goexit(); return nil, nil }, "without a result", true},
		"nil nil": {func(context.Context, agent.ToolCall) (*agent.ToolResult, error) { return nil, nil }, "(no output)", false},
		"no parts": {func(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
			return &agent.ToolResult{Parts: []agent.Part{nil}}, nil
		}, "(no output)", false},
		"not UTF-8": {func(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
			return agent.TextResult("a\xff\x00b"), nil
		}, "a\ufffd\u2400b", false},
		"error": {func(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
			return nil, errors.New("no such file: 100%d")
		}, "no such file: 100%d", true},
		"bad message": {func(context.Context, agent.ToolCall) (*agent.ToolResult, error) { return nil, errors.New("\xff\x00") }, "\ufffd\u2400", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := NewRegistry(bare{name: "x", call: tt.call})
			if err != nil {
				t.Fatal(err)
			}
			res := r.Call(t.Context(), agent.ToolCall{ID: "1", Name: "x", Args: json.RawMessage("{}")})
			if !strings.Contains(res.Text(), tt.want) || res.IsError != tt.bad || res.CallID != "1" {
				t.Errorf("%+v", res)
			}
			if name == "panics" && (!strings.Contains(res.Text(), "registry_test.go") || strings.Count(res.Text(), "\n") > stackLines) {
				t.Errorf("stack: %s", res.Text())
			}
		})
	}
}

func TestForeignArgumentsAreMended(t *testing.T) {
	var got string
	f := bare{name: "x", schema: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
		call: func(_ context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
			got = string(call.Args)
			return agent.TextResult("ok"), nil
		}}
	r, err := NewRegistry(f)
	if err != nil {
		t.Fatal(err)
	}
	res := r.Call(t.Context(), agent.ToolCall{Name: "x", Args: json.RawMessage(`{'n':'5'}`)})
	if got != `{"n":5}` || !strings.HasPrefix(res.Text(), "ok\n[Your arguments were repaired: ") {
		t.Errorf("%s: %s", got, res.Text())
	}
	got = ""
	if res := r.Call(t.Context(), agent.ToolCall{Name: "x", Args: json.RawMessage(`{}`)}); !res.IsError || got != "" {
		t.Errorf("ran on %s: %s", got, res.Text())
	}
}

func TestResultIsNotWrittenTo(t *testing.T) {
	shared := agent.TextResult("a\x00")
	r, err := NewRegistry(bare{name: "x", call: func(context.Context, agent.ToolCall) (*agent.ToolResult, error) { return shared, nil }})
	if err != nil {
		t.Fatal(err)
	}
	r.Call(t.Context(), agent.ToolCall{ID: "1", Name: "x", Args: json.RawMessage(`{"a":1,}`)})
	if diff := cmp.Diff(agent.TextResult("a\x00"), shared); diff != "" {
		t.Error(diff)
	}
}

func TestTimeout(t *testing.T) {
	noLeak(t)
	release := make(chan struct{})
	polite := mustNew(t, "polite", func(ctx context.Context, _ struct{}) (*agent.ToolResult, error) {
		<-ctx.Done()
		return agent.TextResult("half"), context.Cause(ctx)
	}, WithTimeout(10*time.Millisecond))
	patient, err := NewRegistryWith(RegistryConfig{Grace: time.Minute}, polite) // however long its turn takes to come
	if err != nil {
		t.Fatal(err)
	}
	stubborn := mustNew(t, "stubborn", func(ctx context.Context, _ struct{}) (string, error) { <-release; return "late", nil })
	r, err := NewRegistryWith(RegistryConfig{Timeout: 10 * time.Millisecond, Grace: 20 * time.Millisecond, Now: func() time.Time { return time.Unix(5, 0) }}, stubborn)
	if err != nil {
		t.Fatal(err)
	}
	if res := patient.Call(t.Context(), agent.ToolCall{Name: "polite"}); !res.IsError || res.Text() != "half\nthe time limit of 10ms was reached" {
		t.Errorf("%s", res.Text())
	}
	res := r.Call(t.Context(), agent.ToolCall{ID: "9", Name: "stubborn"})
	if !res.IsError || !strings.Contains(res.Text(), "stubborn did not stop: the time limit of 10ms was reached. It was left behind") {
		t.Errorf("%s", res.Text())
	}
	if diff := cmp.Diff([]AbandonedCall{{Tool: "stubborn", CallID: "9", Since: time.Unix(5, 0)}}, r.Abandoned()); diff != "" {
		t.Error(diff)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := r.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	close(release)
	if err := r.Wait(t.Context()); err != nil || len(r.Abandoned()) != 0 {
		t.Error(err, r.Abandoned())
	}
	gone, cancelGone := context.WithCancelCause(t.Context())
	cancelGone(errors.New("the user pressed stop"))
	if res := patient.Call(gone, agent.ToolCall{Name: "polite"}); !res.IsError || !strings.Contains(res.Text(), "polite was not run: the user pressed stop") {
		t.Errorf("%s", res.Text())
	}
}

// Evidence: tools · Long output is capped and can be read back
func TestOutputIsCappedAndKept(t *testing.T) {
	long := strings.Repeat("ein Wörtchen\n", 10000)
	store := NewMemStore()
	tool := mustNew(t, "x", func(context.Context, struct{}) ([]agent.Part, error) {
		return []agent.Part{agent.Text{Text: "start\n"}, agent.Image{URL: "u"}, agent.Text{Text: long}, agent.Text{Text: "the end"}}, nil
	})
	free := mustNew(t, "free", func(context.Context, struct{}) (string, error) { return long, nil }, WithMaxOutput(-1))
	reader, err := NewReadArtifact(store)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRegistryWith(RegistryConfig{MaxOutput: 1000, Store: store}, tool, free, reader)
	if err != nil {
		t.Fatal(err)
	}
	res := r.Call(t.Context(), agent.ToolCall{Name: "x"})
	text := res.Text()
	if len(text) > 1300 || !strings.HasPrefix(text, "start\nein") || !strings.HasSuffix(text, "the end") || len(res.Parts) != 2 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	handle := artifact.Find(text)
	full, err := store.Get(t.Context(), handle)
	if err != nil || string(full) != "start\n"+long+"the end" {
		t.Errorf("the store has %d bytes, %v", len(full), err)
	}
	back := r.Call(t.Context(), agent.ToolCall{Name: ReadArtifactName, Args: json.RawMessage(`{"handle":"` + handle + `","start_line":10001}`)})
	if back.Text() != "10001\tein Wörtchen\n10002\tthe end\n[10002 lines in all]" {
		t.Errorf("%s", back.Text())
	}
	if got := r.Call(t.Context(), agent.ToolCall{Name: "free"}).Text(); got != long {
		t.Errorf("%d bytes", len(got))
	}
	bare, err := NewRegistryWith(RegistryConfig{MaxOutput: 1000}, tool)
	if err != nil {
		t.Fatal(err)
	}
	if got := bare.Call(t.Context(), agent.ToolCall{Name: "x"}).Text(); !strings.Contains(got, "bytes left out; ask for less") {
		t.Errorf("%s", got)
	}
	failing, err := NewRegistryWith(RegistryConfig{MaxOutput: 1000, Store: brokenStore{}}, tool)
	if err != nil {
		t.Fatal(err)
	}
	if got := failing.Call(t.Context(), agent.ToolCall{Name: "x"}).Text(); !strings.Contains(got, "could not be kept: disk full") {
		t.Errorf("%s", got)
	}
}

type brokenStore struct{ agent.ArtifactStore }

func (brokenStore) Put(context.Context, string, []byte) (string, error) {
	return "", errors.New("disk full")
}

// TestConcurrentChanges changes a registry while it is in use, for the race detector.
func TestConcurrentChanges(t *testing.T) {
	noLeak(t)
	r, err := NewRegistry(named(t, "fixed"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprintf("tool%d", i)
			for range 50 {
				if err := errors.Join(r.Add(named(t, name)), r.Replace(named(t, name))); err != nil {
					t.Error(err)
				}
				for _, call := range []string{name, "fixed"} {
					if res := r.Call(t.Context(), agent.ToolCall{Name: call, Args: json.RawMessage(`{"text":"x",}`)}); res.IsError {
						t.Error(res.Text())
					}
				}
				_ = names(r)
				r.Remove(name)
			}
		})
	}
	wg.Wait()
	if got := names(r); got != "fixed" {
		t.Error(got)
	}
}
