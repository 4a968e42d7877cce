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

func ExampleInject() {
	model := agenttest.Inject(agenttest.Script(agenttest.Text("fine")).Loop(), agenttest.Faults{
		At:         map[int]agenttest.Fault{1: agenttest.FaultRateLimit},
		RetryAfter: 2 * time.Second,
	})
	for range 2 {
		resp, err := agent.Generate(context.Background(), model, &agent.Request{})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(resp.Message.Text())
	}
	// Output:
	// agenttest: rate_limit (status 429): injected fault
	// fine
}

func TestInjectEveryFault(t *testing.T) {
	agenttest.CheckLeaks(t)
	answer := agenttest.Join(agenttest.Text("one ", "two ", "three ", "four"), agenttest.Call("id", "tool", `{"path":"a.go"}`))
	kind := func(k agent.ErrorKind) func(*testing.T, *agent.Response, error) {
		return func(t *testing.T, _ *agent.Response, err error) {
			if me := agent.AsModelError(err); me == nil || me.Kind != k {
				t.Errorf("error %v, want kind %s", err, k)
			}
		}
	}
	good := func(check func(*agent.Response) bool) func(*testing.T, *agent.Response, error) {
		return func(t *testing.T, r *agent.Response, err error) {
			if err != nil || !check(r) {
				t.Errorf("response %+v, error %v", r, err)
			}
		}
	}
	for fault, check := range map[agenttest.Fault]func(*testing.T, *agent.Response, error){
		agenttest.FaultNone:      good(func(r *agent.Response) bool { return r.Message.Text() == "one two three four" }),
		agenttest.FaultCut:       kind(agent.ErrIncomplete),
		agenttest.FaultRateLimit: kind(agent.ErrRateLimit),
		agenttest.FaultServer:    kind(agent.ErrOverloaded),
		agenttest.FaultMidServer: kind(agent.ErrServer),
		agenttest.FaultIdle:      kind(agent.ErrCanceled),
		agenttest.FaultSlow:      good(func(r *agent.Response) bool { return r.Message.Text() == "one two three four" }),
		agenttest.FaultArgs:      good(func(r *agent.Response) bool { return string(r.Message.Calls()[0].Args) == `{"path"` }),
		agenttest.FaultUnknown:   good(func(r *agent.Response) bool { return r.Message.Calls()[0].Name == "no_such_tool" }),
		agenttest.FaultDuplicate: good(func(r *agent.Response) bool { return strings.HasPrefix(r.Message.Text(), "one one ") }),
		agenttest.FaultGarbage:   good(func(r *agent.Response) bool { return strings.Contains(r.Message.Text(), "one ") }),
	} {
		t.Run("fault "+string(fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				m := agenttest.Inject(agenttest.Script(answer), agenttest.Faults{At: map[int]agenttest.Fault{1: fault}})
				resp, err := agent.Generate(ctx, m, ask("x"))
				check(t, resp, err)
				if m.Hits()[fault] != 1 {
					t.Errorf("hits are %v", m.Hits())
				}
			})
		})
	}
}

func TestInjectIsRepeatable(t *testing.T) {
	run := func() (map[agenttest.Fault]int, string) {
		m := agenttest.Inject(agenttest.Script(agenttest.Text("a", "b", "c", "d", "e", "f")).Loop(), agenttest.Faults{
			Seed: 7, Rates: map[agenttest.Fault]float64{agenttest.FaultCut: 0.2, agenttest.FaultServer: 0.2, agenttest.FaultDuplicate: 0.1}})
		var log strings.Builder
		for range 300 {
			resp, err := agent.Generate(context.Background(), m, ask("x"))
			fmt.Fprintln(&log, resp.Message.Text(), err)
		}
		return m.Hits(), log.String()
	}
	hits, log := run()
	hits2, log2 := run()
	if diff := cmp.Diff(hits, hits2); diff != "" || log != log2 {
		t.Errorf("the same seed gave other faults: %s", diff)
	}
	for fault, share := range map[agenttest.Fault]int{agenttest.FaultCut: 60, agenttest.FaultServer: 60, agenttest.FaultDuplicate: 30, agenttest.FaultNone: 150} {
		if n := hits[fault]; n < share/2 || n > share*2 {
			t.Errorf("fault %q struck %d times of 300, want about %d", fault, n, share)
		}
	}
}

type echoTool struct{}

func (echoTool) Spec() agent.ToolSpec {
	return agent.ToolSpec{Name: "echo", Effects: agent.ReadOnly("a")}
}
func (echoTool) Call(_ context.Context, c agent.ToolCall) (*agent.ToolResult, error) {
	return agent.TextResult(string(c.Args)), nil
}
func (echoTool) DescribeCall(agent.ToolCall) agent.CallDescription {
	return agent.CallDescription{Title: "echo it"}
}

func TestInjectTool(t *testing.T) {
	tool := agenttest.InjectTool(echoTool{}, agenttest.ToolFaults{At: map[int]agenttest.ToolFault{
		1: agenttest.ToolFaultError, 2: agenttest.ToolFaultPanic, 3: agenttest.ToolFaultDead, 4: agenttest.ToolFaultNil, 5: agenttest.ToolFaultHuge}})
	call := agent.ToolCall{Args: []byte(`{"a":1}`)}
	if _, err := tool.Call(t.Context(), call); err == nil {
		t.Error("call 1 did not fail")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("call 2 did not panic")
			}
		}()
		_, _ = tool.Call(t.Context(), call)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := tool.Call(ctx, call); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("call 3 ended with %v", err)
	}
	if r, err := tool.Call(t.Context(), call); r != nil || err != nil {
		t.Errorf("call 4 gave %v, %v", r, err)
	}
	if r, err := tool.Call(t.Context(), call); err != nil || len(r.Text()) < 8_000_000 {
		t.Errorf("call 5 gave %v", err)
	}
	if r, err := tool.Call(t.Context(), call); err != nil || r.Text() != `{"a":1}` {
		t.Errorf("call 6 gave %v, %v", r, err)
	}
	if d, ok := tool.(agent.Describer); !ok || d.DescribeCall(call).Title != "echo it" {
		t.Error("the tool's description is lost")
	}
	if e := agent.EffectsOf(tool, call); !e.IsReadOnly() {
		t.Errorf("the tool's effects are %+v", e)
	}
}

func TestInjectConcurrent(t *testing.T) {
	m := agenttest.Inject(agenttest.Script(agenttest.Text("a")).Loop(), agenttest.Faults{Rates: map[agenttest.Fault]float64{agenttest.FaultServer: 0.5}})
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() { _, _ = agent.Generate(context.Background(), m, ask("x")) })
	}
	wg.Wait()
	total := 0
	for _, n := range m.Hits() {
		total += n
	}
	if total != 64 {
		t.Errorf("%d hits of 64", total)
	}
}

func TestAssertPrefix(t *testing.T) {
	grow := func(texts ...string) *agent.Request {
		r := &agent.Request{System: "s", Tools: []agent.ToolSpec{{Name: "a"}}}
		for _, s := range texts {
			r.Messages = append(r.Messages, agent.UserText(s))
		}
		return r
	}
	edit := func(r *agent.Request, f func(*agent.Request)) *agent.Request { f(r); return r }
	for _, tt := range []struct {
		name string
		reqs []*agent.Request
		want string
	}{
		{"grows", []*agent.Request{grow("a"), grow("a", "b"), grow("a", "b"), grow("a", "b", "c")}, ""},
		{"message changed", []*agent.Request{grow("a", "b"), grow("a", "x", "c")}, "in message 1"},
		{"message gone", []*agent.Request{grow("a", "b"), grow("a")}, "in message"},
		{"text grew in place", []*agent.Request{grow("a"), grow("ab")}, "in message 0"},
		{"tool added", []*agent.Request{grow("a"), edit(grow("a"), func(r *agent.Request) { r.Tools = append(r.Tools, agent.ToolSpec{Name: "b"}) })}, "tools"},
		{"system changed", []*agent.Request{grow("a"), edit(grow("a"), func(r *agent.Request) { r.System = "now 12:01" })}, "system prompt"},
		{"new epoch", []*agent.Request{grow("a", "b"), edit(grow("z"), func(r *agent.Request) { r.Epoch = 1 })}, ""},
		{"other session between", []*agent.Request{grow("a", "b"), edit(grow("z"), func(r *agent.Request) { r.SessionID = "sub" }), grow("a", "x")}, "request 3 does not start with the bytes of request 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tb := &fakeTB{TB: t}
			agenttest.AssertPrefix(tb, tt.reqs)
			got := strings.Join(tb.failed, "\n")
			if (got != "") != (tt.want != "") || !strings.Contains(got, tt.want) {
				t.Errorf("reported %q, want %q", got, tt.want)
			}
		})
	}
}
