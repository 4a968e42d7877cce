package router

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// echo returns a model that answers with its name.
func echo(name string) Member { return Member{Model: says(name), Name: name, Price: &agent.Price{}} }

func echoes(names string) (ms []Member) {
	for _, n := range strings.Fields(names) {
		ms = append(ms, echo(n))
	}
	return ms
}

// homes sends requests in n conversations and returns the member that answered in each.
func homes(t *testing.T, m agent.Model, n int) []string {
	t.Helper()
	out := make([]string, n)
	for i := range out {
		req := ask("go")
		req.SessionID = fmt.Sprint("conversation ", i)
		out[i], _ = tell(t.Context(), m, req)
	}
	return out
}

// TestHomes checks that a conversation stays with its member, so that prompt caches stay warm. That
// holds in other processes too, so the expected homes are written down here. Each member has its
// share of conversations, and if a member leaves, only its conversations move.
//
// Evidence: routers · Balancing keeps a conversation with its member
func TestHomes(t *testing.T) {
	newRouter := func(names string) agent.Model {
		return must[*RoundRobin](t)(NewRoundRobin(BalanceConfig{Members: echoes(names)}))
	}
	four := homes(t, newRouter("east north south west"), 1000)
	if diff := cmp.Diff(four, homes(t, newRouter("west south north east"), 1000)); diff != "" {
		t.Errorf("homes depend on the order of the members:\n%s", diff[:min(len(diff), 500)])
	}
	if got, want := strings.ReplaceAll(strings.Join(four[:8], " "), " .stop", ""), "south south north north east east north west"; got != want {
		t.Errorf("the first homes are %q, want %q: conversations would lose their caches with an update", got, want)
	}
	share := map[string]int{}
	for _, h := range four {
		share[h]++
	}
	for name, n := range share {
		if n < 200 || n > 300 {
			t.Errorf("%s is home of %d conversations of 1000", name, n)
		}
	}
	for i, h := range homes(t, newRouter("east north south"), 1000) {
		if h != four[i] && !strings.HasPrefix(four[i], "west") {
			t.Errorf("conversation %d moved from %s to %s, and only west left", i, four[i], h)
		}
	}
}

func TestRoundRobinTakesTurns(t *testing.T) {
	r := must[*RoundRobin](t)(NewRoundRobin(BalanceConfig{Members: append(echoes("a b c"), Member{Model: without(says("d"), func(c *agent.Capabilities) { c.Tools = false }), Name: "d"})}))
	req := &agent.Request{Messages: []agent.Message{agent.UserText("go")}, Tools: []agent.ToolSpec{{Name: "look"}}}
	var got []string
	for range 8 {
		text, _ := tell(t.Context(), r, req)
		got = append(got, text[:1])
	}
	if want := "a b c a a b c a"; strings.Join(got, " ") != want {
		t.Errorf("answers by %v, want %s: d cannot take tools, and a stands in for it", got, want)
	}
}

// gate returns a model that waits for open before it answers.
func gate(name string, open <-chan struct{}) Member {
	m := says(name)
	return Member{Name: name, Price: &agent.Price{}, Model: agent.ModelFunc(func(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
		return func(yield func(agent.Chunk, error) bool) {
			select {
			case <-open:
			case <-ctx.Done():
			}
			m.Stream(ctx, req)(yield)
		}
	})}
}

// TestLoads blocks requests at their members and checks how they were distributed.
func TestLoads(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg     BalanceConfig
		byLoad  bool
		session string
		n       int
		want    []int // requests in flight, the fullest member first
	}{
		"turns":                         {n: 7, want: []int{3, 2, 2}},
		"fewest":                        {byLoad: true, n: 7, want: []int{3, 2, 2}},
		"a home takes all":              {session: "s", n: 7, want: []int{7, 0, 0}},
		"a home has room for four":      {cfg: BalanceConfig{InFlight: 4}, session: "s", n: 7, want: []int{4, 3, 0}},
		"all are full":                  {cfg: BalanceConfig{InFlight: 2}, session: "s", n: 7, want: []int{3, 2, 2}},
		"a home has a share and a half": {byLoad: true, session: "s", n: 7, want: []int{3, 3, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				open := make(chan struct{})
				tt.cfg.Members = []Member{gate("a", open), gate("b", open), gate("c", open)}
				b, err := newBalancer("test", tt.cfg)
				if err != nil {
					t.Fatal(err)
				}
				b.byLoad = tt.byLoad
				req := ask("go")
				req.SessionID = tt.session
				for range tt.n {
					go tell(t.Context(), b, req)
					synctest.Wait()
				}
				got := slices.Sorted(maps.Values(b.Load()))
				slices.Reverse(got)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("loads (-want +got):\n%s", diff)
				}
				close(open)
				synctest.Wait()
				for name, n := range b.Load() {
					if n != 0 {
						t.Errorf("%s still counts %d requests", name, n)
					}
				}
			})
		})
	}
}

// TestSpill checks that a conversation goes to another member while its home refuses, and back to
// its home afterwards.
func TestSpill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := agenttest.Error(&agent.ModelError{Kind: agent.ErrOverloaded, RetryAfter: time.Minute})
		home := agenttest.Script(agenttest.Text("home"), refuse, agenttest.Text("home"), agenttest.Join(agenttest.Text("half"), agenttest.Cut()), agenttest.Text("home"))
		ms := []Member{{Model: home, Name: "a"}, {Model: says("away"), Name: "b"}}
		b, err := newBalancer("test", BalanceConfig{Members: ms})
		if err != nil {
			t.Fatal(err)
		}
		req := ask("go")
		for b.rank(b.members[:2:2], sessionKey(req)); b.members[0].Name != "a"; b.rank(b.members[:2:2], sessionKey(req)) {
			req.SessionID += "x" // change the id until its home is a
			slices.SortFunc(b.members, func(x, y *member) int { return x.index - y.index })
		}
		var got []string
		for _, wait := range []time.Duration{0, 0, 30 * time.Second, time.Minute, 0, 0, 2 * time.Minute} {
			time.Sleep(wait)
			text, _ := tell(t.Context(), b, req)
			got = append(got, text)
		}
		want := []string{"home .stop", "away .stop", "away .stop", "home .stop", "half !incomplete", "away .stop", "home .stop"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
