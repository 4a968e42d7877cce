package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/serve"
)

var streamed = strings.Replace(hello, "{", `{"stream":true,`, 1)

// chunk holds the fields of a stream's event that the tests check.
type chunk struct {
	Choices []struct {
		Delta struct {
			Role string
		}
		LogProbs *struct {
			Content []struct{ Token string }
		}
	}
}

func chunks(t *testing.T, body string) (all []chunk) {
	t.Helper()
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.HasPrefix(data, "[DONE]") {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		all = append(all, c)
	}
	return all
}

// TestRoleAfterHeartbeat: the role is sent once, in the first chunk, even if heartbeats came before
// it.
func TestRoleAfterHeartbeat(t *testing.T) {
	m := &blocking{begun: make(chan struct{}, 1), release: make(chan struct{})}
	srv, hc := start(t, m, serve.Config{Heartbeat: 2 * time.Millisecond})
	res, err := hc.Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(streamed))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, 18)); err != nil {
		t.Fatal(err)
	}
	close(m.release)
	rest, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, c := range chunks(t, string(rest)) {
		roles = append(roles, c.Choices[0].Delta.Role)
	}
	if diff := cmp.Diff([]string{"assistant", ""}, roles); diff != "" {
		t.Error(diff)
	}
}

// TestPanic: if the model panics, before or in the middle of a stream, the client gets an error and
// the server continues.
func TestPanic(t *testing.T) {
	agenttest.CheckLeaks(t)
	for _, said := range []int{0, 1} {
		m := agent.ModelFunc(func(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
			return func(yield func(agent.Chunk, error) bool) {
				for range said {
					yield(agent.TextDelta{Text: "half"}, nil)
				}
				panic("out of ideas")
			}
		})
		srv, hc := start(t, m, serve.Config{MaxConcurrent: 1})
		for range 2 {
			status, body, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", streamed)
			if status != 500 && said == 0 || !strings.Contains(body, "error") || !strings.Contains(body, "out of ideas") {
				t.Errorf("status %d, %s", status, body)
			}
			status, body, _ = call(t, hc, "POST", srv.URL+"/v1/chat/completions", hello)
			if status != 500 || !strings.Contains(body, "out of ideas") {
				t.Errorf("status %d, %s", status, body)
			}
		}
	}
}

// plainWriter is a host's writer that cannot flush.
type plainWriter struct{ rec *httptest.ResponseRecorder }

func (w plainWriter) Header() http.Header         { return w.rec.Header() }
func (w plainWriter) WriteHeader(status int)      { w.rec.WriteHeader(status) }
func (w plainWriter) Write(b []byte) (int, error) { return w.rec.Write(b) }

// TestNoFlusher: behind a middleware whose writer cannot flush, all of a stream arrives, but late.
func TestNoFlusher(t *testing.T) {
	h, err := serve.New(traced{[]string{"a", "b"}}, serve.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(plainWriter{rec}, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(streamed)))
	if body := rec.Body.String(); !strings.HasSuffix(body, "data: [DONE]\n\n") || !strings.Contains(body, `"b"`) {
		t.Error(body)
	}
}

// held is a model that reports tokens of which some have no chunk, like those of a call's marks.
type held struct{}

func (held) Stream(ctx context.Context, _ *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		n := int32(0)
		say := func(tokens int, c agent.Chunk) bool {
			for range tokens {
				if trace := agent.ContextTokenTrace(ctx); trace != nil {
					trace.Token(agent.Token{ID: n, Text: fmt.Sprint(n)})
				}
				n++
			}
			return yield(c, nil)
		}
		_ = say(3, agent.TextDelta{Text: "x"}) && say(0, agent.ThinkingDelta{}) && say(2, agent.ThinkingDelta{Text: ""}) &&
			say(4, agent.ToolCallStart{ID: "1", Name: "f"}) && say(2, agent.ToolCallDelta{Args: "{}"}) &&
			say(3, agent.Usage{Output: 14}) && say(1, agent.Finish{Reason: agent.FinishTools})
	}
}

// TestEveryTokenOnce: each token appears once in the log-probabilities, in order, however the
// chunks were cut.
func TestEveryTokenOnce(t *testing.T) {
	srv, hc := start(t, held{}, serve.Config{})
	var want []string
	for i := range 15 {
		want = append(want, fmt.Sprint(i))
	}
	_, body, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", strings.Replace(streamed, "{", `{"logprobs":true,`, 1))
	var got []string
	for _, c := range chunks(t, body) {
		if lp := c.Choices[0].LogProbs; lp != nil {
			for _, tok := range lp.Content {
				got = append(got, tok.Token)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestManyClients: of hundreds of clients at once, a third vanish; the others are served or told to
// retry, and every place is free afterwards.
func TestManyClients(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := agent.ModelFunc(func(ctx context.Context, _ *agent.Request) iter.Seq2[agent.Chunk, error] {
		return func(yield func(agent.Chunk, error) bool) {
			for range 5 {
				select {
				case <-time.After(time.Millisecond):
				case <-ctx.Done():
					yield(nil, ctx.Err())
					return
				}
				if !yield(agent.TextDelta{Text: strings.Repeat("x", 1000)}, nil) {
					return
				}
			}
			yield(agent.Finish{Reason: agent.FinishStop}, nil)
		}
	})
	srv, hc := start(t, m, serve.Config{MaxConcurrent: 8, Queue: 100})
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%3 == 0 {
				ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*100*time.Microsecond)
				defer cancel()
			}
			req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+"/v1/chat/completions", strings.NewReader([]string{hello, streamed}[i%2]))
			res, err := hc.Do(req)
			if err == nil {
				var body []byte
				body, err = io.ReadAll(res.Body)
				res.Body.Close()
				if err == nil && res.StatusCode != 429 && (res.StatusCode != 200 || strings.Count(string(body), "x") < 5000) {
					t.Errorf("status %d: %.200s", res.StatusCode, body)
				}
				if res.StatusCode == 429 && res.Header.Get("Retry-After") == "" {
					t.Error("429 without Retry-After")
				}
			}
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	waiting(t, hc, srv.URL, 0)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, body, _ := call(t, hc, "GET", srv.URL+"/metrics", ""); strings.Contains(body, "luthier_running 0\n") {
			return
		}
	}
	t.Error("a place is still taken")
}

// TestDeafClient: a client that stays connected and reads nothing loses its place. One that reads
// slowly gets everything, and its connection can be used again.
func TestDeafClient(t *testing.T) {
	agenttest.CheckLeaks(t)
	ended := make(chan struct{}, 1)
	flood := agent.ModelFunc(func(ctx context.Context, _ *agent.Request) iter.Seq2[agent.Chunk, error] {
		return func(yield func(agent.Chunk, error) bool) {
			defer func() { ended <- struct{}{} }()
			for yield(agent.TextDelta{Text: strings.Repeat("x", 1<<16)}, nil) {
			}
		}
	})
	srv, _ := start(t, flood, serve.Config{MaxConcurrent: 1, WriteTimeout: 50 * time.Millisecond})
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(streamed), streamed)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("a client that reads nothing keeps its place")
	}

	srv, hc := start(t, traced{[]string{"a", "b"}}, serve.Config{WriteTimeout: time.Second}) // much longer than a write waits for its turn
	for _, body := range []string{streamed, hello, streamed} {
		status, got, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", body)
		if status != 200 || !strings.Contains(got, "b") {
			t.Errorf("status %d, %s", status, got)
		}
		time.Sleep(1100 * time.Millisecond) // past the deadline of the last answer
		if status, got, _ := call(t, hc, "GET", srv.URL+"/health", ""); status != 200 {
			t.Errorf("status %d, %s", status, got)
		}
	}
}
