package agenttest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/router/serve"
)

func ExampleRecord() {
	dir, err := os.MkdirTemp("", "cassette")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "sum.jsonl")

	live := agenttest.Script(agenttest.Text("5")) // in real use a backend, such as router/openai
	rec, err := agenttest.Record(path, live)
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &agent.Request{Messages: []agent.Message{agent.UserText("2 + 3?")}}
	_, _ = agent.Generate(context.Background(), rec, req)
	_ = rec.Close()

	offline, err := agenttest.Replay(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := agent.Generate(context.Background(), offline, req)
	fmt.Println(resp.Message.Text(), err)
	// Output: 5 <nil>
}

// script returns a live model whose answers contain one of everything.
func script() *agenttest.Scripted {
	return agenttest.Script(
		agenttest.Join(agenttest.Thinking("hm ", ""), agenttest.Thinking("so", "sig=="), agenttest.Text("a ", "b"), agenttest.Call("c1", "x", `{"k":`, `1}`),
			agenttest.Chunks(agent.Opaque{Provider: "p", Data: []byte(`{"z":1,"a":2}`)}, agent.Usage{Input: 3, CachedInput: 2, Output: 1}, agent.Finish{Reason: agent.FinishTools})),
		agenttest.Join(agenttest.Text("half"), agenttest.Error(&agent.ModelError{Kind: agent.ErrRateLimit, Status: 429, RetryAfter: 3 * time.Second, Provider: "live", Err: errors.New("slow down")})),
		agenttest.Join(agenttest.Text("half"), agenttest.Cut()),
		agenttest.Text("last"),
	)
}

func record(t *testing.T, m agent.Model, reqs ...*agent.Request) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.jsonl")
	rec, err := agenttest.Record(path, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reqs {
		_, _ = agent.Generate(t.Context(), rec, r)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Evidence: backends · Recorded streams are replayed as they were
func TestCassetteReplaysWhatWasRecorded(t *testing.T) {
	reqs := []*agent.Request{ask("1"), ask("2"), ask("3"), ask("4")}
	path := record(t, script(), reqs...)
	player, err := agenttest.Replay(path)
	if err != nil {
		t.Fatal(err)
	}
	live := script()
	for i, r := range reqs {
		want, wantErr := chunksOf(live, r)
		got, gotErr := chunksOf(player, r)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request %d (-live +replay):\n%s", i+1, diff)
		}
		if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Errorf("request %d: error %v, want %v", i+1, gotErr, wantErr)
		}
		if wantErr != nil {
			w, g := agent.AsModelError(wantErr), agent.AsModelError(gotErr)
			if w.Kind != g.Kind || w.Status != g.Status || w.RetryAfter != g.RetryAfter {
				t.Errorf("request %d: error %+v, want %+v", i+1, g, w)
			}
		}
	}
	if player.Left() != 0 {
		t.Errorf("%d answers are left", player.Left())
	}
	if _, err := chunksOf(player, ask("4")); err == nil || !strings.Contains(err.Error(), "record again") {
		t.Errorf("an empty cassette said %v", err)
	}
}

func TestCassetteMatchesByRequest(t *testing.T) {
	path := record(t, agenttest.Script(agenttest.Text("to a"), agenttest.Text("to b"), agenttest.Text("to a again")), ask("a"), ask("b"), ask("a"))
	player, _ := agenttest.Replay(path)
	for _, tt := range [][2]string{{"b", "to b"}, {"a", "to a"}, {"a", "to a again"}} {
		resp, err := agent.Generate(t.Context(), player, ask(tt[0]))
		if err != nil || resp.Message.Text() != tt[1] {
			t.Errorf("asked %q, got %v, %v", tt[0], resp, err)
		}
	}
	changed, _ := agenttest.Replay(path)
	req := ask("a")
	req.System = "other"
	if _, err := agent.Generate(t.Context(), changed, req); err == nil {
		t.Error("a changed request was answered")
	}
	ordered, _ := agenttest.Replay(path, agenttest.InOrder())
	if resp, err := agent.Generate(t.Context(), ordered, req); err != nil || resp.Message.Text() != "to a" {
		t.Errorf("in order: %v, %v", resp, err)
	}
}

func TestCassetteIsNotOverwritten(t *testing.T) {
	path := record(t, script(), ask("1"))
	if _, err := agenttest.Record(path, script()); !errors.Is(err, os.ErrExist) {
		t.Errorf("recorded over a cassette: %v", err)
	}
}

// TestCassetteCutAnywhere truncates the file after every byte, as a killed process would, and
// checks that whole answers are kept and a torn one is reported.
func TestCassetteCutAnywhere(t *testing.T) {
	data, err := os.ReadFile(record(t, script(), ask("1"), ask("2"), ask("3"), ask("4")))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.jsonl")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	step := tier.Pick(7, 1, 1)
	for n := len(data); n >= 0; n -= step {
		if err := os.Truncate(path, int64(n)); err != nil {
			t.Fatal(err)
		}
		p, err := agenttest.Replay(path)
		if err != nil {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
		if want := bytes.Count(data[:n], []byte("\n")); p.Left() != want || p.Torn() != (n > 0 && data[n-1] != '\n') {
			t.Fatalf("cut at byte %d: %d answers and torn %v, want %d", n, p.Left(), p.Torn(), want)
		}
	}
}

func TestCassetteHoldsNoSecret(t *testing.T) {
	const key, token, custom = "sk-proj-abcdefghijklmnopqrstuv", "ghp_0123456789abcdefghijABCDEFGHIJ456789", "hunter2-hunter2"
	path := filepath.Join(t.TempDir(), "c.jsonl")
	hide := agenttest.Scrub(func(s string) string { return strings.ReplaceAll(s, custom, "***") })
	rec, err := agenttest.Record(path, agenttest.Script(
		agenttest.Join(agenttest.Text("the key is\n"+key+" and "+key[:8], key[8:]), agenttest.Thinking("Bearer "+key, ""), agenttest.Call("c", "write", `{"text":"KEY=\n`+token[:10], token[10:]+`"}`)),
		agenttest.Error(&agent.ModelError{Err: errors.New("bad key " + key)}),
	), hide)
	if err != nil {
		t.Fatal(err)
	}
	req := ask("my password is " + custom + " and the token " + token)
	for range 2 {
		_, _ = agent.Generate(t.Context(), rec, req)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	for _, secret := range []string{key, token, custom, token[10:], key[8:]} {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("the cassette holds %q:\n%s", secret, data)
		}
	}
	player, err := agenttest.Replay(path, hide)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := agent.Generate(t.Context(), player, req)
	if err != nil || !strings.Contains(resp.Message.Text(), "the key is\n[secret removed]") {
		t.Errorf("the replay gave %+v, %v", resp, err)
	}
}

func post(t *testing.T, client *http.Client, url, body string) (int, string) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer sk-secret-secret-secret-secret")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// offer serves m through the chat completions API until t ends.
func offer(t *testing.T, m agent.Model) *httptest.Server {
	t.Helper()
	handler, err := serve.New(m, serve.Config{})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return srv
}

func TestWireCassette(t *testing.T) {
	agenttest.CheckLeaks(t)
	live := offer(t, agenttest.Script(
		agenttest.Join(agenttest.Text("hello ", "wörld 🧰"), agenttest.Call("c1", "x", `{"a":`, `1}`), agenttest.Usage(agent.Usage{Input: 9, Output: 4})),
		agenttest.Error(&agent.ModelError{Kind: agent.ErrRateLimit, Status: 429, RetryAfter: 2 * time.Second, Err: errors.New("slow down")}),
	))
	path := filepath.Join(t.TempDir(), "wire.jsonl")
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	rec, err := agenttest.RecordTransport(path, transport)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(n string) string {
		return `{"model":"agenttest","stream":true,"messages":[{"role":"user","content":"` + n + `"}]}`
	}
	url := "/v1/chat/completions?key=sk-query-query-query-query"
	_, first := post(t, &http.Client{Transport: rec}, live.URL+url, ask("one"))
	status, second := post(t, &http.Client{Transport: rec}, live.URL+url, ask("two"))
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if status != 429 || !strings.Contains(first, "wörld 🧰") || !strings.HasSuffix(first, "data: [DONE]\n\n") {
		t.Fatalf("the live server said %d:\n%s", status, first)
	}
	data, _ := os.ReadFile(path)
	if bytes.Contains(data, []byte("secret-secret")) || bytes.Contains(data, []byte("query-query")) {
		t.Errorf("the cassette holds the key:\n%s", data)
	}

	replay := agenttest.NewReplayServer(t, path)
	client := &http.Client{Transport: transport}
	if status, got := post(t, client, replay.URL+url, ask("two")); status != 429 || got != second {
		t.Errorf("replayed %d %s", status, got)
	}
	if _, got := post(t, client, replay.URL+url, ask("a changed question")); got != first {
		t.Errorf("replayed %s, want %s", got, first)
	}
}
