package router

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
)

// timed returns a model whose answers each begin after the given time and then yield their words
// one second apart.
func timed(begin ...time.Duration) *agenttest.Scripted {
	var turns []agenttest.Turn
	for _, d := range begin {
		turns = append(turns, agenttest.Join(agenttest.Delay(d), agenttest.Text("so"), agenttest.Delay(time.Second), agenttest.Text("be it"), agenttest.Usage(agent.Usage{Input: 100, Output: 3})))
	}
	return agenttest.Script(turns...).Loop()
}

const sec = time.Second

// Evidence: routers · A hedged request leaves nothing behind
func TestHedge(t *testing.T) {
	fails := agenttest.Error(&agent.ModelError{Kind: agent.ErrServer})
	for name, tt := range map[string]struct {
		members []agent.Model
		want    string
		took    time.Duration
		tried   []string
	}{
		"fast":                        {members: []agent.Model{timed(sec), timed(0)}, want: "so be it .stop", took: 2 * sec, tried: []string{"a $0.000103 kept"}},
		"slow":                        {members: []agent.Model{timed(60 * sec), timed(sec)}, want: "so be it .stop", took: 7 * sec, tried: []string{"a $? canceled", "b $0.000103 kept"}},
		"slow, and wins all the same": {members: []agent.Model{timed(8 * sec), timed(60 * sec)}, want: "so be it .stop", took: 9 * sec, tried: []string{"a $0.000103 kept", "b $? canceled"}},
		"the same endpoint again":     {members: []agent.Model{timed(60*sec, 0)}, want: "so be it .stop", took: 6 * sec, tried: []string{"a $? canceled", "a $0.000103 kept"}},
		"fails at once":               {members: []agent.Model{agenttest.Script(fails), timed(sec)}, want: "so be it .stop", took: 2 * sec, tried: []string{"a $0 server", "b $0.000103 kept"}},
		"fails while both run":        {members: []agent.Model{agenttest.Script(agenttest.Join(agenttest.Delay(6*sec), fails)), timed(4 * sec)}, want: "so be it .stop", took: 10 * sec, tried: []string{"a $0 server", "b $0.000103 kept"}},
		"the second fails":            {members: []agent.Model{timed(8 * sec), agenttest.Script(fails)}, want: "so be it .stop", took: 9 * sec, tried: []string{"a $0.000103 kept", "b $0 server"}},
		"both fail, a third is left":  {members: []agent.Model{agenttest.Script(agenttest.Join(agenttest.Delay(9*sec), fails)), agenttest.Script(fails), timed(0)}, want: "so be it .stop", took: 10 * sec, tried: []string{"a $0 server", "b $0 server", "c $0.000103 kept"}},
		"all fail":                    {members: []agent.Model{agenttest.Script(agenttest.Join(agenttest.Delay(9*sec), fails)), agenttest.Script(fails)}, want: "!server", took: 9 * sec, tried: []string{"a $0 server", "b $0 server"}},
		"the winner breaks":           {members: []agent.Model{timed(60 * sec), agenttest.Script(agenttest.Join(agenttest.Text("half"), agenttest.Cut()))}, want: "half !incomplete", took: 5 * sec, tried: []string{"a $? canceled", "b $? kept incomplete"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := NewHedge(HedgeConfig{Members: members(tt.members...), Delay: 5 * sec, MaxExtra: 1})
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range h.members {
					m.Price = &agent.Price{Input: 1e6, Output: 1e6}
				}
				var l ledger
				began := time.Now()
				got, _ := tell(l.trace(t.Context()), h, ask("go"))
				if took := time.Since(began); got != tt.want || took != tt.took {
					t.Errorf("got %q after %v, want %q after %v", got, took, tt.want, tt.took)
				}
				if diff := cmp.Diff(tt.tried, l.lines()); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestHedgeLearns asks a model that is slow for one in ten answers. No request may be doubled
// before enough answers are known; then only requests beyond the quantile may be, and no more than
// the allowed share.
func TestHedgeLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begin []time.Duration
		for i := range 10 {
			begin = append(begin, time.Duration(i+1)*100*time.Millisecond)
		}
		begin[9] = 30 * sec
		m, spare := timed(begin...), timed(100*time.Millisecond)
		h, err := NewHedge(HedgeConfig{Members: members(m, spare), Quantile: 0.85})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := h.After(0); ok {
			t.Error("it knows a quantile of nothing")
		}
		slow := 0
		for range 400 {
			began := time.Now()
			if got, _ := tell(t.Context(), h, ask("go")); got != "so be it .stop" {
				t.Fatal(got)
			}
			if time.Since(began) > 20*sec {
				slow++
			}
		}
		after, ok := h.After(0)
		if !ok || after != 900*time.Millisecond {
			t.Errorf("it waits %v, want 900ms: the quantile of a mix whose tenth part is slow", after)
		}
		if n := spare.Calls(); n > 20 || n < 18 {
			t.Errorf("%d of 400 requests were doubled, want a twentieth at the most, and most of that", n)
		}
		if slow < 20 || slow > 22 {
			t.Errorf("%d of 400 answers were slow, want half of the 40 that the model was slow for: the share allows no more", slow)
		}
	})
}

func TestLatency(t *testing.T) {
	var l latency
	for i := range 1000 {
		l.add(time.Duration(i))
	}
	for q, want := range map[float64]time.Duration{0.5: 872, 0.95: 987, 0.999: 999} {
		if got, n := l.quantile(q); got != want || n != latencyWindow {
			t.Errorf("quantile %v is %d of %d, want %d of the last %d", q, got, n, want, latencyWindow)
		}
	}
}

// TestHedgeBackpressure checks that when the second request wins and its reader is slow, the model
// is slowed down instead of being buffered.
func TestHedgeBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		ahead, given := 0, 0
		fast := agent.ModelFunc(func(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
			return func(yield func(agent.Chunk, error) bool) {
				for range 100 {
					mu.Lock()
					given++
					mu.Unlock()
					if !yield(agent.TextDelta{Text: "x"}, nil) {
						return
					}
				}
				yield(agent.Finish{Reason: agent.FinishStop}, nil)
			}
		})
		h, err := NewHedge(HedgeConfig{Members: members(agenttest.Script(agenttest.Hang()).Loop(), fast), Delay: sec, MaxExtra: 1})
		if err != nil {
			t.Fatal(err)
		}
		taken := 0
		for _, err := range h.Stream(t.Context(), ask("go")) {
			if err != nil {
				t.Fatal(err)
			}
			taken++
			synctest.Wait()
			mu.Lock()
			ahead = max(ahead, given-taken)
			mu.Unlock()
		}
		if ahead > 1 || taken != 101 {
			t.Errorf("the model was %d chunks ahead of its reader, who took %d", ahead, taken)
		}
	})
}

// TestHedgeLeavesNothing abandons races in every state, with readers that leave and readers that
// panic.
//
// Evidence: routers · A hedged request leaves nothing behind
func TestHedgeLeavesNothing(t *testing.T) {
	agenttest.CheckLeaks(t)
	var wg sync.WaitGroup
	rounds := tier.Pick(36, 100, 400)
	for w := range 6 { // most of the time is waiting, so they run concurrently
		wg.Go(func() { abandonRaces(t, w*rounds, rounds) })
	}
	wg.Wait()
}

func abandonRaces(t *testing.T, from, rounds int) {
	slow := agenttest.Script(agenttest.Join(agenttest.Delay(2*time.Millisecond), agenttest.Text("a", "b", "c"), agenttest.Hang())).Loop()
	deaf := agenttest.Script(agenttest.Hang()).Loop()
	var hedges []*Hedge
	for _, ms := range [][]Member{members(slow, slow), members(deaf, slow), members(slow, deaf)} {
		h, err := NewHedge(HedgeConfig{Members: ms, Delay: 1, MaxExtra: 1})
		if err != nil {
			t.Error(err)
			return
		}
		hedges = append(hedges, h)
	}
	for i := from; i < from+rounds; i++ {
		h := hedges[i/3%3]
		func() {
			defer func() { _ = recover() }()
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%8)*time.Millisecond)
			defer cancel()
			if i%3 == 1 {
				ctx = context.Background() // after a panic, only the router cleans up
			}
			for range h.Stream(ctx, ask("go")) {
				time.Sleep(time.Duration(i%2) * time.Millisecond) // in this time the model offers its next chunk
				switch i % 3 {
				case 0:
					return
				case 1:
					panic("of the reader")
				}
			}
		}()
	}
}

// TestHedgeLeavesTheDeafBehind checks that if a losing request ignores its context, the answer
// waits for it only as long as necessary, and that its cost is estimated and counted once.
func TestHedgeLeavesTheDeafBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := agent.ModelFunc(func(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
			return func(yield func(agent.Chunk, error) bool) {
				<-release
				yield(agent.Usage{Input: 1e6}, nil)
			}
		})
		h, err := NewHedge(HedgeConfig{Members: []Member{{Model: timed(2 * sec), Name: "a", Price: &agent.Price{}}, {Model: deaf, Name: "b", Price: usd(0.001)}}, Delay: sec, MaxExtra: 1, Grace: 3 * sec})
		if err != nil {
			t.Fatal(err)
		}
		var l ledger
		began := time.Now()
		if got, _ := tell(l.trace(t.Context()), h, ask(strings.Repeat("word", 50))); got != "so be it .stop" || time.Since(began) != 6*sec {
			t.Errorf("got %q after %v", got, time.Since(began))
		}
		close(release)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a $0 kept", "b $? unknown"}, l.lines()); diff != "" || l.routed[0].MicroDollars != 50 {
			t.Errorf("attempts (-want +got):\n%s%+v", diff, l.routed)
		}
	})
}

// fickle is a model that reports being blocked only at the second call of Blocked.
type fickle struct {
	*agenttest.Scripted
	looks int
}

func (f *fickle) Blocked() time.Duration {
	if f.looks++; f.looks == 2 {
		return time.Minute
	}
	return 0
}

// TestHedgeWithoutASecond checks that the first request is sent alone if another call blocks the
// only member between the choice for the first and for the second request.
func TestHedgeWithoutASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := NewHedge(HedgeConfig{Members: members(&fickle{Scripted: timed(60 * sec)}), Delay: 5 * sec, MaxExtra: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got, fail := tell(t.Context(), h, ask("go")); fail != nil || got != "so be it .stop" {
			t.Errorf("%q, %v", got, fail)
		}
	})
}
