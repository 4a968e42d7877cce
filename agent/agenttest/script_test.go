package agenttest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

func ask(text string) *agent.Request {
	return &agent.Request{Messages: []agent.Message{agent.UserText(text)}}
}

func chunksOf(m agent.Model, req *agent.Request) (chunks []agent.Chunk, err error) {
	for c, e := range m.Stream(context.Background(), req) {
		if e != nil {
			return chunks, e
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

func ExampleScript() {
	model := agenttest.Script(
		agenttest.Join(agenttest.Text("Let me see."), agenttest.Call("call_1", "add", `{"a":2,`, `"b":3}`)),
		agenttest.Text("The sum ", "is 5."),
	)
	for range 2 {
		resp, err := agent.Generate(context.Background(), model, ask("What is 2 + 3?"))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.Finish, resp.Message.Text())
		for _, c := range resp.Message.Calls() {
			fmt.Println(c.ID, c.Name, string(c.Args))
		}
	}
	// Output:
	// tool_calls Let me see.
	// call_1 add {"a":2,"b":3}
	// stop The sum is 5.
}

func TestScriptTurns(t *testing.T) {
	boom := &agent.ModelError{Kind: agent.ErrServer, Err: errors.New("boom")}
	m := agenttest.Script(
		agenttest.Join(agenttest.Thinking("hm", "sig"), agenttest.Call("a", "x", "{", "}"), agenttest.Call("b", "y"), agenttest.Usage(agent.Usage{Input: 1})),
		agenttest.Join(agenttest.Text("half"), agenttest.Error(boom)),
		agenttest.Join(agenttest.Text("half"), agenttest.Cut()),
		agenttest.Join(agenttest.Text("long"), agenttest.Finish(agent.FinishLength)),
		agenttest.Chunks(agent.ToolCallDelta{Index: 7, Args: "{"}),
	)
	want := []struct {
		chunks []agent.Chunk
		err    error
	}{
		{chunks: []agent.Chunk{agent.ThinkingDelta{Text: "hm", Signature: "sig"}, agent.ToolCallStart{ID: "a", Name: "x"}, agent.ToolCallDelta{Args: "{"}, agent.ToolCallDelta{Args: "}"},
			agent.ToolCallStart{Index: 1, ID: "b", Name: "y"}, agent.Usage{Input: 1}, agent.Finish{Reason: agent.FinishTools}}},
		{chunks: []agent.Chunk{agent.TextDelta{Text: "half"}}, err: boom},
		{chunks: []agent.Chunk{agent.TextDelta{Text: "half"}}},
		{chunks: []agent.Chunk{agent.TextDelta{Text: "long"}, agent.Finish{Reason: agent.FinishLength}}},
		{chunks: []agent.Chunk{agent.ToolCallDelta{Index: 7, Args: "{"}}},
	}
	for i, w := range want {
		got, err := chunksOf(m, ask("go"))
		if !errors.Is(err, w.err) {
			t.Errorf("turn %d: error %v, want %v", i, err, w.err)
		}
		if diff := cmp.Diff(w.chunks, got); diff != "" {
			t.Errorf("turn %d (-want +got):\n%s", i, diff)
		}
	}
	_, err := chunksOf(m, ask("one more question"))
	if err == nil || !strings.Contains(err.Error(), "5 turns") || !strings.Contains(err.Error(), "one more question") {
		t.Errorf("the script's end is not explained: %v", err)
	}
	if m.Calls() != 6 || m.Left() != 0 || len(m.Requests()) != 6 {
		t.Errorf("calls %d, left %d, requests %d", m.Calls(), m.Left(), len(m.Requests()))
	}
}

func TestScriptKeepsRequestsAsTheyWere(t *testing.T) {
	m := agenttest.Script(agenttest.Text("a")).Loop()
	req := ask("first")
	if _, err := chunksOf(m, req); err != nil {
		t.Fatal(err)
	}
	req.Messages[0] = agent.UserText("changed later")
	if got := m.Requests()[0].Messages[0].Text(); got != "first" {
		t.Errorf("the kept request changed to %q", got)
	}
}

func TestScriptHonoursContext(t *testing.T) {
	agenttest.CheckLeaks(t)
	synctest.Test(t, func(t *testing.T) {
		for _, turn := range []agenttest.Turn{agenttest.Hang(), agenttest.Delay(time.Hour)} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			_, err := agent.Generate(ctx, agenttest.Script(turn), ask("x"))
			if me := agent.AsModelError(err); me == nil || me.Kind != agent.ErrCanceled {
				t.Errorf("error %v, want canceled", err)
			}
		}
	})
}

func TestScriptFuncConcurrent(t *testing.T) {
	m := agenttest.ScriptFunc(func(r *agent.Request) agenttest.Turn { return agenttest.Text("re: ", r.Messages[0].Text()) })
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			resp, err := agent.Generate(context.Background(), m, ask(fmt.Sprint(i)))
			if want := fmt.Sprint("re: ", i); err != nil || resp.Message.Text() != want {
				t.Errorf("got %v, %v, want %q", resp, err, want)
			}
		})
	}
	wg.Wait()
}

func TestScriptStreamsWithoutAllocating(t *testing.T) {
	pieces := make([]string, 1000)
	for i := range pieces {
		pieces[i] = "word "
	}
	m := agenttest.Script(agenttest.Text(pieces...)).Loop().Forget()
	req := ask("x")
	ctx := context.Background()
	allocs := testing.AllocsPerRun(100, func() {
		for range m.Stream(ctx, req) {
		}
	})
	if allocs > 4 {
		t.Errorf("a stream of 1,000 chunks allocates %v times, want at most 4", allocs)
	}
}

func BenchmarkScript(b *testing.B) {
	m := agenttest.Script(agenttest.Join(agenttest.Text("a", "b", "c"), agenttest.Call("id", "tool", "{}"))).Loop().Forget()
	req := ask("x")
	b.ReportAllocs()
	for b.Loop() {
		for range m.Stream(b.Context(), req) {
		}
	}
}
