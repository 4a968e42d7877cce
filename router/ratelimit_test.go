package router

import (
	"context"
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

// sent records the second of the test at which each request reached the model.
type sent struct {
	mu    sync.Mutex
	began time.Time
	at    []int
	usage agent.Usage
	fail  map[int]*agent.ModelError // of the n-th request, from 1
}

func (s *sent) model() agent.Model {
	s.began = time.Now()
	return agenttest.ScriptFunc(func(*agent.Request) agenttest.Turn {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.at = append(s.at, int(time.Since(s.began).Seconds()))
		if err := s.fail[len(s.at)]; err != nil {
			return agenttest.Error(err)
		}
		return agenttest.Join(agenttest.Text("ok"), agenttest.Usage(s.usage))
	})
}

// Evidence: routers · Requests and tokens a minute are limited
func TestRateLimit(t *testing.T) {
	prompt := strings.Repeat("word", 100) // 100 tokens
	for name, tt := range map[string]struct {
		cfg   RateLimitConfig
		to    *sent
		n     int      // requests sent at once
		at    []int    // the seconds at which the requests were let through
		fails []string // the errors, in any order
	}{
		"no limit":       {n: 5, at: []int{0, 0, 0, 0, 0}},
		"requests":       {cfg: RateLimitConfig{Requests: 6, Burst: 20 * time.Second}, n: 5, at: []int{0, 0, 10, 20, 30}},
		"tokens":         {cfg: RateLimitConfig{Tokens: 600, Burst: 20 * time.Second}, to: &sent{usage: agent.Usage{Input: 100}}, n: 4, at: []int{0, 0, 10, 20}},
		"settled tokens": {cfg: RateLimitConfig{Tokens: 600, Burst: 10 * time.Second}, to: &sent{usage: agent.Usage{Input: 100, Output: 200}}, n: 2, at: []int{0, 32}},
		"cached tokens":  {cfg: RateLimitConfig{Tokens: 600, Burst: 20 * time.Second, CachedFree: true}, to: &sent{usage: agent.Usage{Input: 100, CachedInput: 100}}, n: 4, at: []int{0, 0, 0, 0}},
		"more than fits": {cfg: RateLimitConfig{Tokens: 60, Burst: 50 * time.Second, MaxWait: time.Hour}, to: &sent{usage: agent.Usage{Input: 100}}, n: 2, at: []int{50, 150}},
		"queue":          {cfg: RateLimitConfig{Requests: 6, Burst: 10 * time.Second, Queue: 2}, n: 4, at: []int{0, 10, 20}, fails: []string{"rate_limit 30s"}},
		"no queue":       {cfg: RateLimitConfig{Requests: 6, Burst: 10 * time.Second, Queue: -1}, n: 2, at: []int{0}, fails: []string{"rate_limit 10s"}},
		"patience":       {cfg: RateLimitConfig{Requests: 6, Burst: 10 * time.Second, MaxWait: 15 * time.Second}, n: 3, at: []int{0, 10}, fails: []string{"rate_limit 20s"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if tt.to == nil {
					tt.to = &sent{}
				}
				tt.cfg.Model = tt.to.model()
				l, err := NewRateLimit(tt.cfg)
				if err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex
				var fails []string
				var wg sync.WaitGroup
				for range tt.n {
					wg.Go(func() {
						if _, fail := tell(t.Context(), l, ask(prompt)); fail != nil {
							mu.Lock()
							defer mu.Unlock()
							fails = append(fails, fmt.Sprint(fail.Kind, " ", fail.RetryAfter.Round(time.Millisecond)))
						}
					})
					synctest.Wait() // one after the other, so that the order is fixed
				}
				wg.Wait()
				if diff := cmp.Diff(tt.at, tt.to.at); diff != "" {
					t.Errorf("let through at (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.fails, fails); diff != "" {
					t.Errorf("errors (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestRateLimitLearns checks that a refusal delays requests for as long as the provider asks,
// including requests that are already waiting.
func TestRateLimitLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := sent{fail: map[int]*agent.ModelError{1: {Kind: agent.ErrRateLimit, RetryAfter: 7 * time.Second}, 3: {Kind: agent.ErrRateLimit}, 4: {Kind: agent.ErrRateLimit}}}
		l, err := NewRateLimit(RateLimitConfig{Model: to.model(), MaxWait: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range 6 {
			_, fail := tell(t.Context(), l, ask("go"))
			if fail != nil {
				got = append(got, fmt.Sprint(fail.RetryAfter, " ", l.Blocked()))
			}
			if fail != nil && fail.RetryAfter > 0 {
				time.Sleep(3 * time.Second)
			}
		}
		// At 0 s: refused for 7 s. At 3 s: waits until 7 s. Then two refusals without a time: 1 s,
		// 2 s.
		want := []string{"7s 7s", "0s 0s", "0s 0s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{0, 7, 7, 8, 10, 10}, to.at); diff != "" {
			t.Errorf("let through at (-want +got):\n%s", diff)
		}
	})
}

// TestRateLimitHonoursContext checks that a wait ends with its context and frees its place, and
// that a request that could not be sent before its deadline is refused at once.
func TestRateLimitHonoursContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to sent
		l, err := NewRateLimit(RateLimitConfig{Model: to.model(), Requests: 6, Burst: 10 * time.Second, Queue: 1})
		if err != nil {
			t.Fatal(err)
		}
		tell(t.Context(), l, ask("go"))
		short, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		began := time.Now()
		if got, fail := tell(short, l, ask("go")); got != "!rate_limit" || fail.RetryAfter != 10*time.Second || time.Since(began) > 0 {
			t.Errorf("%q after %v: %v", got, time.Since(began), fail)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		if got, _ := tell(ctx, l, ask("go")); got != "!canceled" || time.Since(began) != 2*time.Second {
			t.Errorf("%q after %v", got, time.Since(began))
		}
		if got, _ := tell(t.Context(), l, ask("go")); got != "ok .stop" || to.at[1] != 10 {
			t.Errorf("%q at %v; the places of those that left were not given back", got, to.at)
		}
	})
}
