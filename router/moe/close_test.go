package moe_test

import (
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/moe"
)

// TestClosed closes a model twice while it answers and while its metrics are read, and uses it
// afterwards: requests return errors, functions that need no weights still work, and nothing
// crashes or stays behind.
func TestClosed(t *testing.T) {
	agenttest.CheckLeaks(t)
	m, err := moe.Load(writeTiny(t), moe.Config{Slots: 2, Draft: writeTiny(t)})
	if err != nil {
		t.Fatal(err)
	}
	metrics := func() {
		m.EachMetric(func(string, string, bool, map[string]string, float64) {})
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			req := ask("go on and on")
			req.MaxOutput = 0
			if _, err := agent.Generate(t.Context(), m, req); err == nil {
				t.Log("an answer was whole before the model was closed")
			}
			metrics()
		})
	}
	wg.Go(func() {
		for range 200 {
			metrics()
		}
	})
	time.Sleep(20 * time.Millisecond)
	for range 2 {
		wg.Go(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, err = agent.Generate(t.Context(), m, ask("hello"))
	refused(t, err, agent.ErrOverloaded, "closed")
	if _, err := m.Logits(t.Context(), []int32{1, 2}); err == nil {
		t.Error("logits of a closed model")
	}
	if err := m.Warm(t.Context(), ask("hello")); err == nil {
		t.Error("a closed model was warmed")
	}
	if got := m.Detokenize(m.Tokenize("hello", false)); got != "hello" {
		t.Errorf("%q", got)
	}
	if m.Capabilities().MaxContext == 0 || m.Name() == "" || m.Format() == "" {
		t.Error("a closed model does not know itself")
	}
	metrics()
	if err := m.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
