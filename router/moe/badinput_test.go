package moe_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/router/moe"
)

// refused checks that err is of the given kind and contains the words.
func refused(t *testing.T, err error, kind agent.ErrorKind, words ...string) {
	t.Helper()
	me, ok := errors.AsType[*agent.ModelError](err)
	if !ok || me.Kind != kind {
		t.Errorf("the error is %v, want kind %s", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error lacks %q: %v", w, err)
		}
	}
}

// TestLoadRefuses checks that Load refuses invalid files and settings with a helpful message, and
// leaves nothing behind.
//
// Evidence: engine · Bad files and requests are refused with a reason
func TestLoadRefuses(t *testing.T) {
	agenttest.CheckLeaks(t)
	good := writeTiny(t)
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	file := func(data []byte) string {
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := synth.Tiny("qwen3")
	other.Vocab = 1000
	huge := synth.Tiny("qwen3moe")
	huge.Context = 1 << 24
	for _, c := range []struct {
		name, path string
		cfg        moe.Config
		want       string
	}{
		{"missing", filepath.Join(t.TempDir(), "no.gguf"), moe.Config{}, "no such file"},
		{"empty", file(nil), moe.Config{}, "gguf"},
		{"no gguf", file([]byte("MZ\x90\x00 this is no model at all")), moe.Config{}, "gguf"},
		{"truncated header", file(data[:len(data)/200]), moe.Config{}, "gguf"},
		{"truncated tensors", file(data[:len(data)-4096]), moe.Config{}, "gguf"},
		{"draft of another vocabulary", good, moe.Config{Draft: write(t, other)}, "vocabulary"},
		{"template without end", good, moe.Config{Template: "{% for m in messages %}"}, "template"},
		{"template that loops", good, moe.Config{Template: "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}{{ messages[0].content }}"}, "template"},
		{"unknown format", good, moe.Config{Format: "morse"}, "Formats"},
		{"cache smaller than context", good, moe.Config{Context: 1024, KVTokens: 512}, "KVTokens"},
		{"negative", good, moe.Config{Slots: -1}, "Slots"},
		{"kv type", good, moe.Config{KV: "q1_0"}, "KV"},
		{"out of memory", write(t, huge), moe.Config{Context: 1 << 24, KVTokens: 1 << 31}, "MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := moe.Load(c.path, c.cfg)
			if err == nil {
				m.Close()
				t.Fatal("it was loaded")
			}
			if !strings.HasPrefix(err.Error(), "moe: load ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error does not help: %v", err)
			}
		})
	}
}

// TestNaN: with weights that are not numbers the request fails with an error, and the model
// continues to work.
//
// Evidence: engine · NaN weights fail the request, not the model
func TestNaN(t *testing.T) {
	path := writeTiny(t)
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	norm, ok := f.Tensor("output_norm.weight")
	if !ok {
		t.Fatal("no output norm")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(data), string(norm.Data))
	f.Close()
	nan := math.Float32bits(float32(math.NaN()))
	for i := range 4 {
		data[at+i] = byte(nan >> (8 * i))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := moe.Load(path, moe.Config{})
	if err != nil {
		return // refused at once, which is just as good
	}
	defer m.Close()
	for range 2 {
		_, err = agent.Generate(t.Context(), m, ask("hello"))
		refused(t, err, agent.ErrServer, "not numbers")
	}
}

// Evidence: engine · Bad files and requests are refused with a reason
func TestRequestRefused(t *testing.T) {
	m := load(t, moe.Config{Context: 512})
	recursive := json.RawMessage(`{"$ref":"#"}`)
	odd := json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","uniqueItems":true,"items":{"type":"string"}}}}`)
	edit := func(f func(*agent.Request)) *agent.Request {
		r := ask("hello")
		f(r)
		return r
	}
	for _, c := range []struct {
		name string
		req  *agent.Request
		kind agent.ErrorKind
		word string
	}{
		{"too long", ask(strings.Repeat("word ", 2000)), agent.ErrContextLength, "512"},
		{"image", edit(func(r *agent.Request) { r.Messages[0].Parts = []agent.Part{agent.Image{URL: "x"}} }), agent.ErrUnsupported, "image"},
		{"schema that recurses", edit(func(r *agent.Request) { r.Output = &agent.OutputSchema{Schema: recursive} }), agent.ErrUnsupported, "$ref"},
		{"keyword", edit(func(r *agent.Request) { r.Output = &agent.OutputSchema{Schema: odd} }), agent.ErrUnsupported, "uniqueItems"},
		{"broken schema", edit(func(r *agent.Request) { r.Output = &agent.OutputSchema{Schema: json.RawMessage(`{"type":`)} }), agent.ErrUnsupported, ""},
		{"tool's keyword", edit(func(r *agent.Request) { r.Tools = []agent.ToolSpec{{Name: "t", Schema: odd}} }), agent.ErrUnsupported, "uniqueItems"},
		{"grammar", edit(func(r *agent.Request) {
			r.Extra = map[string]json.RawMessage{"grammar": json.RawMessage(`"root ::= ("`)}
		}), agent.ErrInvalid, "grammar"},
		{"top_k", edit(func(r *agent.Request) { r.Extra = map[string]json.RawMessage{"top_k": json.RawMessage(`"many"`)} }), agent.ErrInvalid, "top_k"},
		{"no such tool", edit(func(r *agent.Request) {
			r.Tools, r.ToolChoice = []agent.ToolSpec{weather}, agent.ToolChoice{Mode: agent.ToolModeNamed, Name: "other"}
		}), agent.ErrUnsupported, "other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := agent.Generate(t.Context(), m, c.req)
			refused(t, err, c.kind, c.word)
		})
	}
	if _, err := agent.Generate(t.Context(), m, ask("hello")); err != nil {
		t.Errorf("the model does not answer any more: %v", err)
	}
}

// TestLenient checks that constraints that a grammar cannot enforce are left to the tool.
func TestLenient(t *testing.T) {
	m := load(t, moe.Config{Constrain: moe.ConstrainLenient})
	req := ask("hello")
	req.Tools = []agent.ToolSpec{{Name: "t", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}}`)}}
	req.ToolChoice, req.MaxOutput = agent.ToolChoice{Mode: agent.ToolModeRequired}, 16
	if _, err := agent.Generate(t.Context(), m, req); err != nil {
		t.Error(err)
	}
}

// TestClientVanishes abandons answers at every stage, and checks that slots and pages are returned
// and that nothing keeps running.
//
// Evidence: engine · A client that leaves frees its slot
func TestClientVanishes(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := load(t, moe.Config{Slots: 2, Queue: 4})
	for i := range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		req := ask("go on and on")
		req.MaxOutput = 0
		n := 0
		for _, err := range m.Stream(ctx, req) {
			if n++; err != nil || n > i%5 {
				break
			}
			if i%2 == 0 {
				cancel()
			}
		}
		cancel()
	}
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		running := 0.0
		m.EachMetric(func(name, _ string, _ bool, _ map[string]string, v float64) {
			if name == "luthier_engine_running" || name == "luthier_engine_waiting" {
				running += v
			}
		})
		if running == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("requests that nobody reads are still running")
}

// TestBusy checks that if slots and queue are full, the next request gets an error with the time to
// wait.
//
// Evidence: engine · A full queue refuses the next request
func TestBusy(t *testing.T) {
	m := load(t, moe.Config{Slots: 1, Queue: 1})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := make(chan error, 6)
	for range cap(errs) {
		go func() {
			req := ask("go on")
			req.MaxOutput = 0
			_, err := agent.Generate(ctx, m, req)
			errs <- err
		}()
	}
	busy := 0
	for range cap(errs) - 2 {
		err := <-errs
		if me, ok := errors.AsType[*agent.ModelError](err); ok && me.Kind == agent.ErrRateLimit && me.Status == 429 && me.RetryAfter > 0 {
			busy++
		}
	}
	cancel()
	<-errs
	<-errs
	if busy == 0 {
		t.Error("no request was refused")
	}
}
