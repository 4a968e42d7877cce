package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/serve"
)

// seeded is a model whose answer is the request's seed, as text and as a call. It counts how many
// calls run at once.
type seeded struct {
	wait    time.Duration
	company int32 // the first answer waits until so many calls have run at once
	running atomic.Int32
	mu      sync.Mutex
	most    int32
	seeds   map[int64]bool
}

func (m *seeded) peak() int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

func (m *seeded) Name() string { return "seeded" }

func (m *seeded) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		m.mu.Lock()
		m.most = max(m.most, m.running.Add(1))
		if m.seeds == nil {
			m.seeds = map[int64]bool{}
		}
		seed := int64(-1)
		if req.Seed != nil {
			seed = *req.Seed
		}
		m.seeds[seed] = true
		m.mu.Unlock()
		defer m.running.Add(-1)
		for end := time.Now().Add(time.Minute); m.peak() < m.company && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		select {
		case <-time.After(m.wait):
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
		text := fmt.Sprint(seed)
		if trace := agent.ContextTokenTrace(ctx); trace != nil {
			trace.Token(agent.Token{Text: text})
		}
		_ = yield(agent.TextDelta{Text: "seed "}, nil) && yield(agent.TextDelta{Text: text}, nil) &&
			yield(agent.ToolCallStart{ID: "c" + text, Name: "f"}, nil) && yield(agent.ToolCallDelta{Args: text}, nil) &&
			yield(agent.Usage{Input: 10, Output: 2, CachedInput: 4}, nil) && yield(agent.Finish{Reason: agent.FinishTools}, nil)
	}
}

func officialClient(t *testing.T, m agent.Model, cfg serve.Config) openai.Client {
	t.Helper()
	srv, hc := start(t, m, cfg)
	return openai.NewClient(option.WithBaseURL(srv.URL+"/v1"), option.WithAPIKey("x"), option.WithHTTPClient(hc), option.WithMaxRetries(0))
}

func ask(n int64) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "seeded", N: openai.Int(n), Seed: openai.Int(7), Logprobs: openai.Bool(true),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}}
}

// TestChoices: n choices come with their index, each from a call of the model, whole and streamed;
// the usage is their sum. The number of calls at once stays within MaxConcurrent.
//
// Evidence: server · A request for n choices gets n, whole and streamed
func TestChoices(t *testing.T) {
	agenttest.CheckLeaks(t)
	for _, places := range []int{0, 1, 2} {
		m := &seeded{wait: 5 * time.Millisecond}
		if places == 0 {
			m.company = 2
		}
		client := officialClient(t, m, serve.Config{MaxConcurrent: places})
		params := ask(4)
		want := []string{"0 seed 7 c7 7 7", "1 seed 8 c8 8 8", "2 seed 9 c9 9 9", "3 seed 10 c10 10 10"}

		whole, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range whole.Choices {
			call := c.Message.ToolCalls[0]
			got = append(got, fmt.Sprint(c.Index, " ", c.Message.Content, " ", call.ID, " ", call.Function.Arguments, " ", c.Logprobs.Content[0].Token))
			if c.FinishReason != "tool_calls" {
				t.Errorf("choice %d finished by %q", c.Index, c.FinishReason)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("whole, %d places (-want +got):\n%s", places, diff)
		}
		if u := whole.Usage; u.PromptTokens != 40 || u.CompletionTokens != 8 || u.PromptTokensDetails.CachedTokens != 16 {
			t.Errorf("usage %s", u.RawJSON())
		}

		params.StreamOptions.IncludeUsage = openai.Bool(true)
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		var acc openai.ChatCompletionAccumulator
		tokens, roles := map[int64]string{}, map[int64]int{}
		for stream.Next() {
			if !acc.AddChunk(stream.Current()) {
				t.Fatal("the client could not add a chunk")
			}
			for _, c := range stream.Current().Choices {
				if c.Delta.Role != "" {
					roles[c.Index]++
				}
				for _, lp := range c.Logprobs.Content {
					tokens[c.Index] += lp.Token
				}
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		got = nil
		for i, c := range acc.Choices {
			call := c.Message.ToolCalls[0]
			got = append(got, fmt.Sprint(i, " ", c.Message.Content, " ", call.ID, " ", call.Function.Arguments, " ", tokens[int64(i)]))
			if roles[int64(i)] != 1 || c.FinishReason != "tool_calls" {
				t.Errorf("choice %d: %d roles, finished by %q", i, roles[int64(i)], c.FinishReason)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("streamed, %d places (-want +got):\n%s", places, diff)
		}
		if acc.Usage.TotalTokens != 48 {
			t.Errorf("usage of the stream %+v", acc.Usage)
		}
		if places > 0 && int(m.most) > places || places == 0 && m.most < 2 {
			t.Errorf("%d calls at once with %d places", m.most, places)
		}
	}
}

// TestFailedChoice: if one choice fails, the request does, and the calls of the others are
// cancelled.
func TestFailedChoice(t *testing.T) {
	agenttest.CheckLeaks(t)
	var calls, cancelled atomic.Int32
	m := agent.ModelFunc(func(ctx context.Context, _ *agent.Request) iter.Seq2[agent.Chunk, error] {
		return func(yield func(agent.Chunk, error) bool) {
			if calls.Add(1)%3 == 0 {
				yield(nil, &agent.ModelError{Kind: agent.ErrOverloaded, Err: fmt.Errorf("too warm")})
				return
			}
			if !yield(agent.TextDelta{Text: "a"}, nil) {
				return
			}
			<-ctx.Done()
			cancelled.Add(1)
			yield(nil, ctx.Err())
		}
	})
	srv, hc := start(t, m, serve.Config{})
	status, body, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", strings.Replace(hello, "{", `{"n":3,`, 1))
	if status != 503 || !strings.Contains(body, "too warm") {
		t.Errorf("status %d, %s", status, body)
	}
	_, body, _ = call(t, hc, "POST", srv.URL+"/v1/chat/completions", strings.Replace(streamed, "{", `{"n":3,`, 1))
	if !strings.Contains(body, "too warm") || strings.Contains(body, "[DONE]") {
		t.Errorf("streamed: %s", body)
	}
	if calls.Load() != 6 || cancelled.Load() == 0 {
		t.Errorf("%d calls, %d cancelled", calls.Load(), cancelled.Load())
	}
	if got := metric(t, hc, srv.URL, `luthier_requests_total{outcome="overloaded"}`); got != "2" {
		t.Errorf("%s overloaded requests are counted, want 2", got)
	}
}

// TestModelNames: the names that are listed are the ones that are answered; another is refused in
// the API's form, and a request without a name gets the model.
//
// Evidence: server · A request for a model that is not served is refused as model_not_found
func TestModelNames(t *testing.T) {
	for _, c := range []struct {
		cfg    serve.Config
		listed string
		wrong  string // a name that is refused
		fine   string // another that is not
	}{
		{serve.Config{}, "seeded", "gpt-5", ""},
		{serve.Config{Name: "front"}, "front", "seeded", ""},
		{serve.Config{Name: "org/front:8b", Aliases: []string{"small", "org/front:8b", "small"}}, "org/front:8b small", "org", ""},
		{serve.Config{Name: "front", Aliases: []string{"*"}}, "front", "", "whatever"},
	} {
		client := officialClient(t, &seeded{}, c.cfg)
		page, err := client.Models.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for _, m := range page.Data {
			listed = append(listed, m.ID)
		}
		if got := strings.Join(listed, " "); got != c.listed {
			t.Errorf("listed %q, want %q", got, c.listed)
		}
		params := ask(1)
		for _, name := range append(listed, "", c.fine) {
			params.Model = name
			if a, err := client.Chat.Completions.New(t.Context(), params); err != nil || a.Model != listed[0] {
				t.Errorf("model %q: %+v, %v", name, a, err)
			}
			if name != "" {
				if m, err := client.Models.Get(t.Context(), name); err != nil || m.ID != name {
					t.Errorf("get %q: %+v, %v", name, m, err)
				}
			}
		}
		if c.wrong == "" {
			continue
		}
		params.Model = c.wrong
		_, err = client.Chat.Completions.New(t.Context(), params)
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		stream.Next()
		_, getErr := client.Models.Get(t.Context(), c.wrong)
		for how, err := range map[string]error{"whole": err, "streamed": stream.Err(), "get": getErr} {
			var e *openai.Error
			if e, _ = err.(*openai.Error); e == nil || e.StatusCode != 404 || e.Code != "model_not_found" || e.Type != "invalid_request_error" || e.Param != "model" {
				t.Errorf("%s, model %q: %v", how, c.wrong, err)
			}
		}
	}
}

// TestLongModelName: an error does not repeat a name of any length.
func TestLongModelName(t *testing.T) {
	srv, hc := start(t, &seeded{}, serve.Config{})
	body, _ := json.Marshal(map[string]any{"model": strings.Repeat("x", 1<<20), "messages": []any{map[string]string{"role": "user", "content": "hi"}}})
	if status, got, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", string(body)); status != 404 || len(got) > 1000 {
		t.Errorf("status %d, %d bytes", status, len(got))
	}
}
