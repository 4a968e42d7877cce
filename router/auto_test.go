package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

func newTestAuto(t testing.TB, cfg AutoConfig) *Auto {
	t.Helper()
	if cfg.Random == nil {
		cfg.Random = rand.New(rand.NewPCG(1, 1)).Float64
	}
	a, err := NewAuto(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// trio returns three members of rising price.
func trio() []Member {
	return []Member{
		{Model: says("small"), Name: "small", Price: usd(0.0002)},
		{Model: says("middle"), Name: "middle", Price: usd(0.002)},
		{Model: says("large"), Name: "large", Price: usd(0.01)},
	}
}

// who sends a request to the router and returns the text, which is the member's name, and the
// reason.
func who(t testing.TB, m agent.Model, req *agent.Request) (name, reason string) {
	t.Helper()
	var l ledger
	resp, err := agent.Generate(l.trace(t.Context()), m, req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Message.Text(), l.began[0].Reason
}

func inSession(id string, p agent.Purpose, ms ...agent.Message) *agent.Request {
	if ms == nil {
		ms = []agent.Message{agent.UserText("do it")}
	}
	return &agent.Request{SessionID: id, Purpose: p, Messages: ms}
}

func TestAutoSendsNothingThatCannotBeTaken(t *testing.T) {
	plain := agent.AllCapabilities()
	plain.Tools, plain.Images = false, false
	members := func() []Member {
		return []Member{
			{Model: capable{says("plain"), plain}, Name: "plain", Price: usd(0)},
			{Model: says("short"), Name: "short", Price: usd(0.001), MaxContext: 1000},
			{Model: says("all"), Name: "all", Price: usd(0.01)},
		}
	}
	tools := []agent.ToolSpec{{Name: "x"}}
	long := strings.Repeat("long ", 2000)
	image := []agent.Message{{Role: agent.RoleUser, Parts: []agent.Part{agent.Image{Data: []byte{1}, MediaType: "image/png"}}}}
	for _, tt := range []struct {
		name string
		req  *agent.Request
		not  []string
	}{
		{"tools", &agent.Request{Tools: tools}, []string{"plain: it cannot take tools"}},
		{"images", &agent.Request{Messages: image}, []string{"plain: it cannot take images", "short: the request has about 1500 tokens"}},
		{"long", &agent.Request{System: long}, []string{"short: the request has about 2500 tokens and its window 1000"}},
		{"long, with tools", &agent.Request{System: long, Tools: tools}, []string{"plain: ", "short: "}},
	} {
		for seed := range 30 {
			a := newTestAuto(t, AutoConfig{Members: members(), Random: rand.New(rand.NewPCG(uint64(seed), 1)).Float64})
			tt.req.SessionID = fmt.Sprint(seed)
			name, reason := who(t, a, tt.req)
			for _, n := range tt.not {
				if bad, _, _ := strings.Cut(n, ":"); name == bad || !strings.Contains(reason, "not "+n) {
					t.Fatalf("%s: went to %q: %s", tt.name, name, reason)
				}
			}
		}
	}
	a := newTestAuto(t, AutoConfig{Members: members()[:1]})
	_, err := agent.Generate(t.Context(), a, &agent.Request{Tools: tools})
	if me := agent.AsModelError(err); me == nil || me.Kind != agent.ErrUnsupported {
		t.Errorf("what nobody can take gives %v", err)
	}
}

// capable is a model that declares its capabilities.
type capable struct {
	agent.Model
	caps agent.Capabilities
}

func (c capable) Capabilities() agent.Capabilities { return c.caps }

func TestAutoStaysWithItsMember(t *testing.T) {
	a := newTestAuto(t, AutoConfig{Members: trio()})
	seen := map[string]bool{}
	for i := range 60 {
		id := fmt.Sprint("s", i)
		first, _ := who(t, a, inSession(id, agent.PurposeAct))
		seen[first] = true
		ms := []agent.Message{agent.UserText("do it")}
		for n := range 4 {
			call := fmt.Sprint(n)
			ms = append(ms, agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: call, Name: "x", Args: json.RawMessage(call)}}},
				agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: call}}})
			name, reason := who(t, a, inSession(id, agent.PurposeAct, ms...))
			if name != first || !strings.Contains(reason, "stays with "+first) {
				t.Fatalf("the conversation went from %q to %q: %s", first, name, reason)
			}
		}
	}
	if len(seen) < 2 {
		t.Errorf("60 conversations all went to %v; what is uncertain must be tried", seen)
	}
}

// TestAutoPricesTheCache checks that if two members are alike, the one whose cache holds a long
// conversation is chosen.
//
// Evidence: routers · Auto counts the price of a cold prompt cache
func TestAutoPricesTheCache(t *testing.T) {
	price := &agent.Price{Input: 3_000_000, CachedInput: 300_000, CacheWrite: 3_750_000, Output: 15_000_000}
	now := time.Unix(0, 0)
	a := newTestAuto(t, AutoConfig{Members: []Member{{Model: says("one"), Name: "one", Price: price}, {Model: says("two"), Name: "two", Price: price}},
		Now: func() time.Time { return now }})
	long := agent.UserText(strings.Repeat("word ", 40_000)) // 50,000 tokens: $0.17 to send uncached
	extras := func(req *agent.Request) (x [2]float64) {
		c := autoCall{a: a, req: req, demand: demandOf(req)}
		s := a.sessions[conversationKey(req.SessionID, nil)]
		for i, m := range a.members {
			x[i] = c.extra(s, m, labourOf(agent.PurposeAct), now)
		}
		return x
	}
	req := inSession("s", agent.PurposeAct, long)
	name, _ := who(t, a, req)
	mine, other := 0, 1
	if name == "two" {
		mine, other = 1, 0
	}
	want := 50_000 * (3.75 - 0.3) / 1e6
	if x := extras(req); x[mine] != 0 || !near1(x[other], want) {
		t.Errorf("staying costs %v and going %v, want 0 and %v", x[mine], x[other], want)
	}
	now = now.Add(6 * time.Minute)
	if x := extras(req); !near1(x[mine], want) || !near1(x[other], want) {
		t.Errorf("after six minutes: %v, want %v for both", x, want)
	}
	now = now.Add(-6 * time.Minute)
	next := inSession("s", agent.PurposeAct, agent.UserText("a summary"))
	next.Epoch = 1
	if _, reason := who(t, a, next); strings.Contains(reason, "stays") {
		t.Errorf("after a compaction nothing was decided: %s", reason)
	}
}

func near1(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

// Evidence: routers · Auto learns from verified outcomes
func TestAutoLearnsFromOutcomes(t *testing.T) {
	skill := map[string]float64{"small": 0.2, "middle": 0.9, "large": 0.92}
	a := newTestAuto(t, AutoConfig{Members: trio()})
	r := rand.New(rand.NewPCG(2, 2))
	last := map[string]int{}
	for i := range 600 {
		id := fmt.Sprint(i)
		name, _ := who(t, a, inSession(id, agent.PurposeAct))
		good := 0.0
		if r.Float64() < skill[name] {
			good = 1
		}
		if err := a.Outcome(t.Context(), id, good); err != nil {
			t.Fatal(err)
		}
		if i >= 400 {
			last[name]++
		}
	}
	if last["middle"] < 150 {
		t.Errorf("of the last 200 conversations %v; the middle one is as good as the large one for a fifth", last)
	}
	learnt := a.Learned(Case{Purpose: "act"})
	if e := learnt["small"]; e.Good > 0.4 || e.Seen < 3 {
		t.Errorf("of the small one it has learnt %+v", e)
	}
}

func TestAutoAfterFailures(t *testing.T) {
	a := newTestAuto(t, AutoConfig{Members: trio()})
	seen := map[string]int{}
	for n := range 3 {
		name, reason := who(t, a, inSession("s", agent.PurposeAct))
		seen[name]++
		if n > 0 && (!strings.Contains(reason, fmt.Sprintf("failed %d", n)) || !strings.Contains(reason, "it failed before")) {
			t.Errorf("after %d failures: %s", n, reason)
		}
		if err := a.Outcome(t.Context(), "s", 0); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]int{"small": 1, "middle": 1, "large": 1}, seen); diff != "" {
		t.Errorf("each is tried once:\n%s", diff)
	}
	who(t, a, inSession("s", agent.PurposeAct)) // all members have failed, so one of them must be used anyway
	if err := a.Outcome(t.Context(), "s", 1); err != nil {
		t.Error(err)
	}
	if err := a.Outcome(t.Context(), "s", 1); err == nil {
		t.Error("no error for a second outcome")
	}
	if err := a.Outcome(t.Context(), "never heard of", 1); err == nil {
		t.Error("no error for an unknown conversation")
	}
	if _, reason := who(t, a, inSession("s", agent.PurposeAct)); strings.Contains(reason, "failed") {
		t.Errorf("after a success: %s", reason)
	}
}

// TestAutoSeesTrouble checks that a conversation goes to another member if the first member makes
// only calls that fail.
func TestAutoSeesTrouble(t *testing.T) {
	agenttest.CheckLeaks(t)
	calls := 0
	stuck := agenttest.ScriptFunc(func(*agent.Request) agenttest.Turn {
		calls++
		return agenttest.Join(agenttest.Call(fmt.Sprint("c", calls), "work", fmt.Sprintf(`{"fail":%d}`, calls)), thousand)
	})
	a := newTestAuto(t, AutoConfig{
		Members: []Member{{Model: stuck, Name: "stuck", Price: usd(0.001)}, {Model: says("done"), Name: "able", Price: usd(0.01)}},
		Priors:  map[string]float64{"stuck": 0.99, "able": 0.01},
		Random:  func() float64 { return 0.5 },
	})
	var l ledger
	ag, err := agent.New(agent.Config{Model: a, Tools: []agent.Tool{work{}}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := ag.Run(l.trace(t.Context()), agent.NewSession(), agent.Text{Text: "do it"}).Collect()
	if err != nil || res.Text() != "done" {
		t.Fatalf("%+v, %v", res, err)
	}
	if calls != 5 {
		t.Errorf("%d calls before it was replaced, want 5", calls)
	}
	if why := l.began[5].Reason; !strings.Contains(why, "stuck did not do well: 5 tool calls in a row failed") {
		t.Errorf("the reason is %q", why)
	}
	if want := int64(5*1000 + 10_000); res.MicroDollars != want {
		t.Errorf("the run cost %d, want %d", res.MicroDollars, want)
	}
	if e := a.Learned(Case{Purpose: "act"})["stuck"]; e.Seen != 1 || e.Good > 0.9 {
		t.Errorf("it has learnt %+v", e)
	}
}

// TestAutoVerified checks that the router learns from the loop's own check of the work.
func TestAutoVerified(t *testing.T) {
	a := newTestAuto(t, AutoConfig{Members: []Member{{Model: says("wrong"), Name: "weak", Price: usd(0.001)}, {Model: says("right"), Name: "able", Price: usd(0.01)}},
		Priors: map[string]float64{"weak": 0.99, "able": 0.01}, Random: func() float64 { return 0.5 }, State: filepath.Join(t.TempDir(), "state.json")})
	s := agent.NewSession()
	ag, err := agent.New(agent.Config{Model: a, Verify: a.Verified(func(_ context.Context, s *agent.Session) (string, error) {
		ms := s.Messages()
		if ms[len(ms)-1].Text() != "right" {
			return "The tests fail.", nil
		}
		return "", nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	res, err := ag.Run(t.Context(), s, agent.Text{Text: "do it"}).Collect()
	if err != nil || res.Text() != "right" || res.Steps != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	state, err := readState(a.cfg.State)
	if err != nil {
		t.Fatal(err)
	}
	if weak, able := state.Arms["weak"], state.Arms["able"]; weak.Cases["act/0/0"] != [2]float64{0, 1} || able.Cases["act/0/1"] != [2]float64{1, 0} || weak.Spent == 0 {
		t.Errorf("saved is %+v", state.Arms)
	}
}

func TestAutoStateLasts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	a := newTestAuto(t, AutoConfig{Members: trio(), State: path})
	for i := range 50 {
		id := fmt.Sprint(i)
		name, _ := who(t, a, inSession(id, agent.PurposeAct))
		good := 0.0
		if name == "large" {
			good = 1
		}
		if err := a.Outcome(t.Context(), id, good); err != nil {
			t.Fatal(err)
		}
	}
	b := newTestAuto(t, AutoConfig{Members: trio(), State: path})
	if diff := cmp.Diff(a.Learned(Case{Purpose: "act"}), b.Learned(Case{Purpose: "act"}), near); diff != "" {
		t.Errorf("after a restart:\n%s", diff)
	}
	if _, err := NewAuto(AutoConfig{Members: trio(), State: filepath.Join(path, "no", "dir")}); err == nil {
		t.Error("no error for a state that cannot be read")
	}
}

func TestAutoReplacesWhatFails(t *testing.T) {
	down := agenttest.Script(agenttest.Error(&agent.ModelError{Kind: agent.ErrServer, Err: errors.New("down")})).Loop()
	breaks := agenttest.Script(agenttest.Join(agenttest.Text("half"), agenttest.Cut())).Loop()
	for _, tt := range []struct {
		name  string
		model agent.Model
		want  []string
	}{
		{"before it answers", down, []string{"bad $0 server", "good $0.01 kept"}},
		{"in the middle", breaks, []string{"bad $? kept incomplete", "good $0.01 kept"}},
	} {
		a := newTestAuto(t, AutoConfig{Members: []Member{{Model: tt.model, Name: "bad", Price: usd(0.001)}, {Model: says("good"), Name: "good", Price: usd(0.01)}},
			Priors: map[string]float64{"bad": 0.99, "good": 0.01}, Random: func() float64 { return 0.5 }})
		ag, err := agent.New(agent.Config{Model: a, Retry: agent.Retry{Base: 1, Cap: 1}})
		if err != nil {
			t.Fatal(err)
		}
		var l ledger
		s := agent.NewSession()
		res, err := ag.Run(l.trace(t.Context()), s, agent.Text{Text: "do the work"}).Collect()
		if err != nil || res.Text() != "good" {
			t.Errorf("%s: %+v, %v", tt.name, res, err)
		}
		if name, reason := who(t, a, inSession(s.ID(), agent.PurposeAct, agent.UserText("do the work"))); name != "good" || reason != "stays with good, where the prompt is cached" {
			t.Errorf("%s: the next request goes to %q: %s", tt.name, name, reason)
		}
		if diff := cmp.Diff(tt.want, l.lines()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A conversation in memory has an id, by which the host reports how it went.
func TestAutoLearnsFromMemorySessions(t *testing.T) {
	a := newTestAuto(t, AutoConfig{Members: trio()})
	ag, err := agent.New(agent.Config{Model: a})
	if err != nil {
		t.Fatal(err)
	}
	one, two := agent.NewSession(), agent.NewSession()
	for _, s := range []*agent.Session{one, two} {
		if res, err := ag.Run(t.Context(), s, agent.Text{Text: "do the work"}).Collect(); err != nil {
			t.Fatal(res, err)
		}
	}
	for _, s := range []*agent.Session{one, two} {
		if err := a.Outcome(t.Context(), s.ID(), 1); err != nil {
			t.Error(err)
		}
		if err := a.Outcome(t.Context(), s.ID(), 1); err == nil {
			t.Error("an outcome was taken twice")
		}
	}
}

// TestAutoIsDeterministic checks that the same conversations with the same source of randomness
// result in the same choices.
func TestAutoIsDeterministic(t *testing.T) {
	play := func() (out []string) {
		a := newTestAuto(t, AutoConfig{Members: trio()})
		for i := range 40 {
			id := fmt.Sprint(i % 7)
			_, reason := who(t, a, inSession(id, agent.PurposeAct))
			out = append(out, reason)
			if i%3 == 0 {
				if err := a.Outcome(t.Context(), id, float64(i%2)); err != nil {
					t.Fatal(err)
				}
			}
		}
		return out
	}
	if diff := cmp.Diff(play(), play()); diff != "" {
		t.Error(diff)
	}
}

// TestAutoHearsRouters checks that the cost of a task includes the cost that the members of a
// member report.
func TestAutoHearsRouters(t *testing.T) {
	inner, err := NewFallback(FallbackConfig{Members: []Member{{Model: says("x"), Name: "leaf", Price: usd(3)}}})
	if err != nil {
		t.Fatal(err)
	}
	a := newTestAuto(t, AutoConfig{Members: []Member{{Model: inner, Name: "inner"}}})
	who(t, a, inSession("s", agent.PurposeAct))
	if e := a.sessions[conversationKey("s", nil)].episode(agent.PurposeAct); e.dollars != 3 {
		t.Errorf("the task cost %v, want 3", e.dollars)
	}
	if !a.ReportsCost() {
		t.Error("every member below has a price")
	}
}

func TestAutoTitlesAreTasks(t *testing.T) {
	a := newTestAuto(t, AutoConfig{Members: trio()})
	for i := range 30 {
		who(t, a, inSession(fmt.Sprint(i), agent.PurposeTitle))
	}
	seen := 0.0
	for _, e := range a.Learned(Case{Purpose: "title"}) {
		seen += e.Seen
	}
	if seen != 30 {
		t.Errorf("of 30 titles %v were learnt from", seen)
	}
}

func TestAutoForgetsOldConversations(t *testing.T) {
	a := newTestAuto(t, AutoConfig{Members: trio()})
	for i := range maxAutoSessions + 50 {
		a.mu.Lock()
		a.session(uint64(i))
		if i > 10 {
			a.session(7) // this session stays in use all the time
		}
		a.mu.Unlock()
	}
	if len(a.sessions) != maxAutoSessions || a.sessions[7] == nil || a.sessions[0] != nil {
		t.Errorf("%d conversations are known; 7: %v, 0: %v", len(a.sessions), a.sessions[7] != nil, a.sessions[0] != nil)
	}
}

func TestAutoConcurrently(t *testing.T) {
	agenttest.CheckLeaks(t)
	a := newTestAuto(t, AutoConfig{Members: trio(), State: filepath.Join(t.TempDir(), "state.json")})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				id := fmt.Sprint(i % 5)
				if _, err := agent.Generate(context.Background(), a, inSession(id, agent.PurposeAct)); err != nil {
					t.Error(err)
				}
				if g == 0 && i%10 == 0 {
					_ = a.Outcome(context.Background(), id, 1) // an error is fine: another goroutine may have reported the outcome
				}
			}
		})
	}
	wg.Wait()
}

func TestNewAutoErrors(t *testing.T) {
	for name, cfg := range map[string]AutoConfig{
		"none": {}, "no such member": {Members: trio(), Priors: map[string]float64{"x": 0.5}}, "prior": {Members: trio(), Priors: map[string]float64{"small": 1}},
		"worth": {Members: trio(), Worth: -1}, "hurry": {Members: trio(), Hurry: -1}, "cache": {Members: trio(), CacheFor: -1},
	} {
		if _, err := NewAuto(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPriorsByPrice(t *testing.T) {
	a := newTestAuto(t, AutoConfig{Members: append(trio(), Member{Model: says("x"), Name: "unknown"}), Priors: map[string]float64{"small": 0.9}})
	var got []float64
	for _, arm := range a.bandit.arms {
		got = append(got, arm.Prior)
	}
	if diff := cmp.Diff([]float64{0.9, 0.6, 0.7, 0.6}, got, near); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkAuto(b *testing.B) {
	fast := agenttest.Script(speak("go")).Loop().Forget()
	ms := trio()
	for i := range ms {
		ms[i].Model = fast
	}
	a := newTestAuto(b, AutoConfig{Members: ms})
	req := inSession("s", agent.PurposeAct)
	for i := range 50 {
		id := fmt.Sprint(i)
		req.Messages = append(req.Messages, agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: id, Name: "x", Args: json.RawMessage(id)}}},
			agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: strings.Repeat("output ", 500)}}}}})
	}
	b.Run("member alone", func(b *testing.B) { benchmarkStream(b, fast, req) })
	b.Run("stays", func(b *testing.B) { benchmarkStream(b, a, req) })
	b.Run("decides", func(b *testing.B) {
		epoch := 0
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			epoch++
			req.Epoch = epoch
			for _, err := range a.Stream(ctx, req) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
