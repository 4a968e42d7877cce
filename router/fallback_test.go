package router

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// down returns a model that always fails, after the given text if there is any.
func down(kind agent.ErrorKind, text ...string) *agenttest.Scripted {
	return downFor(kind, 0, text...)
}

func downFor(kind agent.ErrorKind, retryAfter time.Duration, text ...string) *agenttest.Scripted {
	err := &agent.ModelError{Kind: kind, Status: 500, RetryAfter: retryAfter, Err: errors.New("words of the provider")}
	return agenttest.Script(agenttest.Join(agenttest.Text(text...), agenttest.Error(err))).Loop()
}

// limited is a model that declares what it can take.
type limited struct {
	*agenttest.Scripted
	caps agent.Capabilities
}

func (l limited) Capabilities() agent.Capabilities { return l.caps }

func without(m *agenttest.Scripted, edit func(*agent.Capabilities)) agent.Model {
	c := agent.AllCapabilities()
	edit(&c)
	return limited{m, c}
}

// tell streams one request and describes the outcome: the texts, the finish and the kind of the
// error.
func tell(ctx context.Context, m agent.Model, req *agent.Request) (string, *agent.ModelError) {
	var out []string
	var fail *agent.ModelError
	for c, err := range m.Stream(ctx, req) {
		switch c := c.(type) {
		case agent.TextDelta:
			out = append(out, c.Text)
		case agent.Finish:
			out = append(out, "."+string(c.Reason))
		}
		if err != nil {
			fail = agent.AsModelError(err)
			out = append(out, "!"+string(fail.Kind))
		}
	}
	return strings.Join(out, " "), fail
}

func members(ms ...agent.Model) (out []Member) {
	for i, m := range ms {
		out = append(out, Member{Model: m, Name: string(rune('a' + i)), Price: usd(0.001)})
	}
	return out
}

// Evidence: routers · Fallback takes the next model
func TestFallback(t *testing.T) {
	image := ask("see")
	image.Messages[0].Parts = append(image.Messages[0].Parts, agent.Image{MediaType: "image/png", Data: []byte("x")})
	tools := ask("do")
	tools.Tools = []agent.ToolSpec{{Name: "look"}}
	blind := func(c *agent.Capabilities) { c.Images = false }
	small := func(n int) func(c *agent.Capabilities) { return func(c *agent.Capabilities) { c.MaxContext = n } }
	big := ask(strings.Repeat("word ", 10_000))
	for name, tt := range map[string]struct {
		members []agent.Model
		req     *agent.Request
		hold    bool
		begin   time.Duration
		next    func(*agent.ModelError) bool
		want    string
		tried   []string
	}{
		"first answers":        {members: []agent.Model{says("A"), says("B")}, want: "A .stop", tried: []string{"a $0.001 kept"}},
		"outage":               {members: []agent.Model{down(agent.ErrServer), says("B")}, want: "B .stop", tried: []string{"a $0 server", "b $0.001 kept"}},
		"credentials":          {members: []agent.Model{down(agent.ErrAuth), down(agent.ErrInvalid), says("C")}, want: "C .stop", tried: []string{"a $0 auth", "b $0 invalid_request", "c $0.001 kept"}},
		"panic":                {members: []agent.Model{agent.ModelFunc(nil), says("B")}, want: "B .stop", tried: []string{"a $0 unknown", "b $0.001 kept"}},
		"breaks in the middle": {members: []agent.Model{down(agent.ErrAuth, "half"), says("B")}, want: "half !incomplete", tried: []string{"a $? kept auth"}},
		"held back":            {members: []agent.Model{down(agent.ErrServer, "half"), says("B")}, hold: true, want: "B .stop", tried: []string{"a $? server", "b $0.001 kept"}},
		"ends without finish":  {members: []agent.Model{agenttest.Script(agenttest.Cut()).Loop(), says("B")}, want: "B .stop", tried: []string{"a $0 incomplete", "b $0.001 kept"}},
		"all fail":             {members: []agent.Model{down(agent.ErrAuth), down(agent.ErrOverloaded), down(agent.ErrInvalid)}, want: "!overloaded", tried: []string{"a $0 auth", "b $0 overloaded", "c $0 invalid_request"}},
		"one member":           {members: []agent.Model{down(agent.ErrFilter)}, want: "!content_filter", tried: []string{"a $0 content_filter"}},
		"host says stop":       {members: []agent.Model{down(agent.ErrFilter), says("B")}, next: func(e *agent.ModelError) bool { return e.Kind != agent.ErrFilter }, want: "!content_filter", tried: []string{"a $0 content_filter"}},
		"cannot see":           {members: []agent.Model{without(says("A"), blind), says("B")}, req: image, want: "B .stop", tried: []string{"b $0.001 kept"}},
		"nobody can see":       {members: []agent.Model{without(says("A"), blind), without(says("B"), blind)}, req: image, want: "!unsupported"},
		"no tools":             {members: []agent.Model{without(says("A"), func(c *agent.Capabilities) { c.Tools = false }), says("B")}, req: tools, want: "B .stop", tried: []string{"b $0.001 kept"}},
		"too long for one":     {members: []agent.Model{without(says("A"), small(1000)), without(says("B"), small(100_000))}, req: big, want: "B .stop", tried: []string{"b $0.001 kept"}},
		"too long for all":     {members: []agent.Model{without(says("A"), small(1000)), without(says("B"), small(2000))}, req: big, want: "!context_length"},
		"too long in doubt":    {members: []agent.Model{without(says("A"), small(1000)), without(says("B"), small(9_500))}, req: big, want: "B .stop", tried: []string{"b $0.001 kept"}},
		"overflow":             {members: []agent.Model{without(down(agent.ErrContextLength), small(20_000)), without(says("B"), small(20_000)), without(says("C"), small(90_000))}, req: big, want: "C .stop", tried: []string{"a $0 context_length", "c $0.001 kept"}},
		"overflow of all":      {members: []agent.Model{without(down(agent.ErrContextLength), small(20_000)), without(says("B"), small(20_000))}, req: big, want: "!context_length", tried: []string{"a $0 context_length"}},
		"slow to begin":        {members: []agent.Model{agenttest.Script(agenttest.Hang()).Loop(), says("B")}, begin: time.Second, want: "B .stop", tried: []string{"a $? timeout", "b $0.001 kept"}},
		"slow to end":          {members: []agent.Model{agenttest.Script(agenttest.Join(agenttest.Text("A"), agenttest.Delay(time.Minute), agenttest.Text("A"))).Loop(), says("B")}, begin: time.Second, want: "A A .stop", tried: []string{"a $? kept"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := NewFallback(FallbackConfig{Members: members(tt.members...), Hold: tt.hold, Next: tt.next, Begin: tt.begin})
				if err != nil {
					t.Fatal(err)
				}
				if tt.req == nil {
					tt.req = ask("go")
				}
				var l ledger
				got, _ := tell(l.trace(t.Context()), f, tt.req)
				if got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if diff := cmp.Diff(tt.tried, l.lines()); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestFallbackGoesOn checks that after an answer breaks off, the next request of that conversation
// goes to the next member, and those of other conversations do not.
func TestFallbackGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := NewFallback(FallbackConfig{Members: members(down(agent.ErrServer, "half"), says("B"))})
		if err != nil {
			t.Fatal(err)
		}
		mine, other := ask("go"), ask("go")
		other.SessionID = "other"
		for i, tt := range []struct {
			req  *agent.Request
			want string
			wait time.Duration
		}{{mine, "half !server", 0}, {mine, "B .stop", 0}, {other, "half !server", 2 * time.Minute}, {mine, "half !server", 0}} {
			if got, _ := tell(t.Context(), f, tt.req); got != tt.want {
				t.Errorf("request %d: %q, want %q", i, got, tt.want)
			}
			time.Sleep(tt.wait)
		}
	})
}

// TestFallbackInALoop checks that an agent run resets its stream after a broken answer and
// continues with the next member.
func TestFallbackInALoop(t *testing.T) {
	f, err := NewFallback(FallbackConfig{Members: members(down(agent.ErrAuth, "half"), says("B"))})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{Model: f, Limits: agent.Limits{MicroDollars: 1e6}, Sleep: func(context.Context, time.Duration) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), agent.NewSession(), agent.Text{Text: "go"}).Collect()
	if err != nil || res.Text() != "B" || res.MicroDollars != 1002 {
		t.Errorf("%+v, %v; want B for 1,000 micro-dollars and 2 for the half answer", res, err)
	}
}

// TestFallbackHeedsRetryAfter checks that a member is not asked before the time that it named, and
// that if there is no other member, the error has the time to wait.
func TestFallbackHeedsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := downFor(agent.ErrRateLimit, time.Minute)
		spare := agenttest.Script(agenttest.Text("B"), agenttest.Text("B"), agenttest.Error(&agent.ModelError{Kind: agent.ErrRateLimit, RetryAfter: 10 * time.Second})).Loop()
		f, err := NewFallback(FallbackConfig{Members: members(busy, spare)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range 4 {
			text, fail := tell(t.Context(), f, ask("go"))
			if fail != nil {
				text += fmt.Sprint(" ", fail.RetryAfter, " ", f.Blocked())
			}
			got = append(got, text)
		}
		want := []string{"B .stop", "B .stop", "!rate_limit 10s 10s", "!rate_limit 10s 10s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if busy.Calls() != 1 || spare.Calls() != 3 {
			t.Errorf("%d and %d requests; the members asked not to be called", busy.Calls(), spare.Calls())
		}
		time.Sleep(time.Minute)
		tell(t.Context(), f, ask("go"))
		if busy.Calls() != 2 {
			t.Error("the member was not asked again when its time was over")
		}
	})
}

func TestFallbackErrorHoldsAll(t *testing.T) {
	f, err := NewFallback(FallbackConfig{Members: members(down(agent.ErrAuth), downFor(agent.ErrRateLimit, time.Hour), downFor(agent.ErrOverloaded, time.Minute))})
	if err != nil {
		t.Fatal(err)
	}
	_, fail := tell(t.Context(), f, ask("go"))
	for _, want := range []string{"a: model: auth", "b: model: rate_limit", "c: model: overloaded", "words of the provider"} {
		if !strings.Contains(fail.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, fail)
		}
	}
	if fail.RetryAfter != time.Minute {
		t.Errorf("RetryAfter is %v, want the shortest", fail.RetryAfter)
	}
}

func TestFallbackCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := NewFallback(FallbackConfig{Members: members(agenttest.Script(agenttest.Hang()).Loop(), says("B"))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if got, fail := tell(ctx, f, ask("go")); got != "!canceled" || !errors.Is(fail, context.DeadlineExceeded) {
			t.Errorf("got %q, %v; the caller's context ended, nobody else is to be asked", got, fail)
		}
	})
}

// TestCanceledAnswersAreNotBroken checks that a conversation stays with its member if the caller
// cancels in the middle of an answer, which is not the member's fault.
func TestCanceledAnswersAreNotBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := agenttest.Script(agenttest.Join(agenttest.Text("A"), agenttest.Hang()), agenttest.Text("A"))
		f, err := NewFallback(FallbackConfig{Members: members(slow, says("B"))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		first, _ := tell(ctx, f, ask("go"))
		second, _ := tell(t.Context(), f, ask("go"))
		if first != "A !canceled" || second != "A .stop" {
			t.Errorf("got %q, then %q", first, second)
		}
	})
}

// TestFallbackTellsWhoseTimeIsOver checks the error for a member that ignores its own time limit
// until the caller's is over too: it is the error for the caller's limit.
func TestFallbackTellsWhoseTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := agent.ModelFunc(func(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
			return func(func(agent.Chunk, error) bool) { time.Sleep(10 * time.Second) }
		})
		f, err := NewFallback(FallbackConfig{Members: members(deaf, says("B")), Begin: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if got, fail := tell(ctx, f, ask("go")); got != "!canceled" || !errors.Is(fail, context.DeadlineExceeded) {
			t.Errorf("got %q, %v", got, fail)
		}
	})
}

func TestMembersAreChecked(t *testing.T) {
	m := says("x")
	for name, ms := range map[string][]Member{
		"none": {}, "no model": {{}}, "one name": {{Model: m, Name: "a"}, {Model: m, Name: "a"}},
		"price": {{Model: m, Price: &agent.Price{Output: -1}}}, "window": {{Model: m, MaxContext: -1}},
	} {
		if _, err := NewFallback(FallbackConfig{Members: ms}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	f, err := NewFallback(FallbackConfig{Members: []Member{{Model: m}, {Model: m}}})
	if err != nil || f.members[1].Name != "agenttest#2" || f.ReportsCost() {
		t.Errorf("%v, %+v: want a second member of the same name, without a price", err, f)
	}
}

// TestCapabilitiesOfRouter checks that a router takes whatever any member takes, and promises only
// what all members promise.
func TestCapabilitiesOfRouter(t *testing.T) {
	f, err := NewFallback(FallbackConfig{Members: members(
		without(says("A"), func(c *agent.Capabilities) { c.Images, c.Usage, c.MaxContext = false, false, 1000 }),
		without(says("B"), func(c *agent.Capabilities) { c.Stop, c.MaxContext, c.Notes = false, 5000, []string{"Slow."} }))})
	if err != nil {
		t.Fatal(err)
	}
	c := f.Capabilities()
	if !c.Images || !c.Stop || c.Usage || c.MaxContext != 5000 || !slices.Equal(c.Notes, []string{"b: Slow."}) {
		t.Errorf("capabilities %+v", c)
	}
}
