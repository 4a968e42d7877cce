package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// TestCallCutAnywhere cuts the connection after every number of bytes of the server's answers to a
// call with progress, output, a question and an artifact. The call must run once, and everything
// must arrive once.
//
// Evidence: remote · A tool call whose connection is cut at any byte runs once and arrives complete
func TestCallCutAnywhere(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	s, url := newTestServer(t, func(c *Config) { withTools(c); c.Tools = openMixed })
	cut := newCutter(t, url)
	tools := openAt(t, Options{URL: "http://" + cut.Addr().String(), Dir: workspace(t)}).Tools()
	step := tier.Pick[int64](29, 3, 1)
	cuts := 0
	for at := int64(0); ; at += step {
		cut.left.Store(at)
		cuts++
		got := mixedCall(t, tools, at)
		if want := fmt.Sprintf("[begin][out line\n][ask yes][artifact 70000]%d lines", cuts); got != want {
			t.Fatalf("cut after %d bytes: %s, want %s", at, got, want)
		}
		if cut.left.Load() < 1<<59 { // the exchange was shorter
			break
		}
		if at > 200_000 {
			t.Fatal("the exchange has no end")
		}
		if at > 2000 { // within the artifact
			step = max(step, 7919)
		}
	}
	s.mu.Lock()
	kept := len(s.calls)
	s.mu.Unlock()
	if kept > 2 { // the last ones are acknowledged by the next request
		t.Errorf("%d results are kept", kept)
	}
	t.Logf("cut at %d places", cuts)
}

// mixedTools has one tool, which uses everything that a call can.
type mixedTools struct {
	*fileTools
}

func openMixed(ctx context.Context, sb sandbox.Sandbox) (Toolbox, error) {
	f, err := openFileTools(ctx, sb)
	if err != nil {
		return nil, err
	}
	return mixedTools{f.(*fileTools)}, nil
}

func (m mixedTools) Call(ctx context.Context, q ToolRequest, out ToolOutput) (json.RawMessage, error) {
	if q.Name != "mixed" {
		return m.fileTools.Call(ctx, q, out)
	}
	out.Progress("begin")
	if _, err := m.fileTools.Call(ctx, request("run", fileArgs{Script: "echo line"}), out); err != nil {
		return nil, err
	}
	answer, err := out.Ask(ctx, json.RawMessage(`"go on?"`))
	if err != nil || string(answer) != `"yes"` {
		return nil, fmt.Errorf("answer %s, %w", answer, err)
	}
	if _, err := out.Artifact("log", bytes.Repeat([]byte("x"), 70_000)); err != nil {
		return nil, err
	}
	text, err := m.fileTools.Call(ctx, request("append", fileArgs{Path: "count", Text: "once\n"}), silent{out})
	return marshal(strings.Count(string(text), "once"), err)
}

// silent drops progress.
type silent struct{ ToolOutput }

func (silent) Progress(string) {}

// mixedCall makes a call and returns everything that it sent, in order.
func mixedCall(t *testing.T, tools *Tools, at int64) string {
	var mu sync.Mutex
	var got strings.Builder
	add := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&got, format, args...)
	}
	raw, err := tools.Call(t.Context(), ToolRequest{Name: "mixed", Args: json.RawMessage("{}")}, ToolHandlers{
		Progress: func(s string) { add("[%s]", s) },
		Output:   func(_ sandbox.Stream, b []byte) { add("[out %s]", b) },
		Ask: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			add("[ask yes]")
			return json.RawMessage(`"yes"`), nil
		},
		Artifact: func(ctx context.Context, a *Artifact) error {
			var b bytes.Buffer
			err := a.Fetch(ctx, &b)
			add("[artifact %d]", b.Len())
			return err
		},
	})
	if err != nil {
		t.Fatalf("cut after %d bytes: %v", at, err)
	}
	return got.String() + string(raw) + " lines"
}

// put makes a call by hand and returns the status and the log.
func put(t *testing.T, c *client, id string, body string) (int, []byte) {
	t.Helper()
	req, err := c.request(t.Context(), "PUT", "/v1/sandboxes/"+c.id+"/calls/"+id+"?from=0", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b
}

const appendOnce = `{"op":"tool","name":"append","args":{"Path":"n","Text":"once\n"}}`

// TestCallIsOne checks that the same name with the same bytes is the same call, for many requests
// at once too, and that other bytes are refused.
func TestCallIsOne(t *testing.T) {
	_, url := newTestServer(t, withTools)
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	id := newID()
	logs := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range logs {
		wg.Go(func() { _, logs[i] = put(t, sb.c, id, appendOnce) })
	}
	wg.Wait()
	for _, l := range logs {
		if !bytes.Equal(l, logs[0]) || !bytes.Contains(l, []byte(`"once\n"`)) {
			t.Errorf("log %q, want %q", l, logs[0])
		}
	}
	for _, other := range []string{strings.Replace(appendOnce, "once", "twice", 1), appendOnce + " ", `{"op":"tool"}`, `no JSON`} {
		if status, b := put(t, sb.c, id, other); status != http.StatusBadRequest || !strings.Contains(string(b), "another request") {
			t.Errorf("%s: %d %s", other, status, b)
		}
	}
	if got := mustCall[string](t, sb.Tools(), request("read", fileArgs{Path: "n"}), ToolHandlers{}); got != "once\n" {
		t.Errorf("the file has %q", got)
	}
	if err := sb.c.call(t.Context(), "DELETE", "/v1/calls/"+id, nil, nil); err != nil {
		t.Error(err)
	}
	if err := sb.c.call(t.Context(), "POST", "/v1/calls/"+id+"/cancel", nil, nil); !errors.Is(err, ErrLost) {
		t.Errorf("after it was acknowledged: %v", err)
	}
}

// TestChanged checks that a call runs only if it would still do what was prepared: the server
// compares what a person saw with what would happen now.
//
// Evidence: remote · What was approved is what runs: a call that would do something else is refused
func TestChanged(t *testing.T) {
	_, url := newTestServer(t, withTools)
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	tools := sb.Tools()
	q := request("append", fileArgs{Path: "link", Text: "more\n"}) // a link to sub/b.txt
	for what, change := range map[string]string{
		"the link leads elsewhere":    "ln -sf a.txt link",
		"the link leads out":          "ln -sf ../a.txt link",
		"the file has changed":        "echo other > sub/b.txt",
		"the link is a file":          "rm link; echo text b > link",
		"the file is gone":            "rm sub/b.txt",
		"the directory is a link":     "mv sub old; ln -s old sub; echo new > old/b.txt",
		"a file where it was missing": "echo x >> sub/b.txt",
	} {
		t.Run(what, func(t *testing.T) {
			sb := openAt(t, Options{URL: url, Dir: workspace(t)})
			tools := sb.Tools()
			p, err := tools.Prepare(t.Context(), q)
			if err != nil || !strings.Contains(string(p.Effects), "sub/b.txt") || string(p.Description) != `"-text b\n+text b\nmore\n"` || !validHash(p.Digest) {
				t.Fatalf("%+v, %v", p, err)
			}
			sh(t, sb, change)
			before := sh(t, sb, "cat link sub/b.txt old/b.txt 2>&1; ls -R").Stdout.String()
			approved := q
			approved.Digest = p.Digest
			_, err = tools.Call(t.Context(), approved, ToolHandlers{})
			var own *ToolError
			if !errors.Is(err, ErrChanged) || errors.Is(err, ErrLost) || errors.As(err, &own) {
				t.Errorf("%v", err)
			}
			if after := sh(t, sb, "cat link sub/b.txt old/b.txt 2>&1; ls -R").Stdout.String(); after != before {
				t.Errorf("it ran: %s", after)
			}
		})
	}
	p, err := tools.Prepare(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	other := request("append", fileArgs{Path: "link", Text: "evil\n"})
	other.Digest = p.Digest
	if _, err := tools.Call(t.Context(), other, ToolHandlers{}); !errors.Is(err, ErrChanged) {
		t.Errorf("other arguments: %v", err)
	}
	q.Digest = p.Digest
	if got := mustCall[string](t, tools, q, ToolHandlers{}); got != "text b\nmore\n" {
		t.Errorf("%q", got)
	}
	if _, err := tools.Call(t.Context(), q, ToolHandlers{}); !errors.Is(err, ErrChanged) {
		t.Errorf("a second time: %v", err)
	}
	_, err = tools.Prepare(t.Context(), request("append", fileArgs{Path: "refused"}))
	var own *ToolError
	if !errors.As(err, &own) || err.Error() != "this path is refused" {
		t.Errorf("%v", err)
	}
}

// TestCallEnds checks that a call ends with its client's context, with the deadlines of both sides
// and with its sandbox, and that the error tells whether the outcome is known.
func TestCallEnds(t *testing.T) {
	s, url := newTestServer(t, withTools)
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	tools := sb.Tools()
	wait := request("wait", fileArgs{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := tools.Call(ctx, wait, ToolHandlers{Progress: func(string) { cancel() }})
	var own *ToolError
	if !errors.As(err, &own) || !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "stopped: ") {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := tools.Call(ctx, wait, ToolHandlers{}); !errors.Is(err, context.Canceled) || errors.Is(err, ErrLost) {
		t.Errorf("cancelled before: %v", err)
	}
	limited := wait
	limited.Timeout = 20 * time.Millisecond
	if _, err := tools.Call(t.Context(), limited, ToolHandlers{}); !errors.As(err, &own) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("its own limit: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := tools.Call(ctx, wait, ToolHandlers{}); !errors.As(err, &own) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the context's limit: %v", err)
	}
	_, err = tools.Call(t.Context(), wait, ToolHandlers{Progress: func(string) {
		s.mu.Lock()
		b := s.boxes["a/"+sb.c.id]
		s.mu.Unlock()
		go b.close() // as when the lease runs out
	}})
	if !errors.Is(err, ErrLost) || !errors.Is(err, sandbox.ErrClosed) || errors.As(err, &own) {
		t.Errorf("the lease ran out meanwhile: %v", err)
	}
	if _, err := tools.Call(t.Context(), wait, ToolHandlers{}); !errors.Is(err, sandbox.ErrClosed) || errors.Is(err, ErrLost) {
		t.Errorf("after that: %v", err)
	}
}

// stubborn ignores the end of its context.
type stubborn struct{ release chan struct{} }

func (stubborn) Specs(context.Context) (json.RawMessage, error) { return json.RawMessage("[]"), nil }
func (s stubborn) Call(_ context.Context, _ ToolRequest, out ToolOutput) (json.RawMessage, error) {
	<-s.release
	out.Progress("too late")
	return json.RawMessage("1"), nil
}
func (stubborn) Close() error { return nil }

// TestStubbornTool checks that a tool that ignores the end of its context holds up neither its
// client nor the end of the sandbox.
func TestStubbornTool(t *testing.T) {
	release := make(chan struct{})
	s, url := newTestServer(t, func(c *Config) {
		c.Tools = func(context.Context, sandbox.Sandbox) (Toolbox, error) { return stubborn{release}, nil }
	})
	t.Cleanup(func() { close(release) }) // before the server is closed
	s.grace = 50 * time.Millisecond
	sb := openAt(t, Options{URL: url})
	q := request("any", fileArgs{})
	q.Timeout = 10 * time.Millisecond
	if _, err := sb.Tools().Call(t.Context(), q, ToolHandlers{}); !errors.Is(err, ErrLost) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "does not return") {
		t.Errorf("%v", err)
	}
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
}

// TestCallOfAnother checks that a tenant has no access to another's calls and artifacts.
func TestCallOfAnother(t *testing.T) {
	_, url := newTestServer(t, func(c *Config) {
		withTools(c)
		c.Tenants = append(c.Tenants, Tenant{Name: "b", Token: "another tenant's token"})
	})
	a := openAt(t, Options{URL: url, Dir: workspace(t)})
	b := openAt(t, Options{URL: url, Token: "another tenant's token"})
	_, err := a.Tools().Call(t.Context(), request("store", fileArgs{N: 10}), ToolHandlers{Artifact: func(ctx context.Context, art *Artifact) error {
		theirs := *art
		theirs.c = b.c
		var got bytes.Buffer
		if err := theirs.Fetch(ctx, &got); !errors.Is(err, ErrLost) || got.Len() > 0 {
			t.Errorf("another's artifact: %v, %q", err, got.String())
		}
		for _, req := range [][2]string{{"GET", "/log?from=0"}, {"POST", "/cancel"}, {"POST", "/answers/0"}} {
			if err := b.c.call(ctx, req[0], "/v1/calls/"+art.call+req[1], nil, nil); !errors.Is(err, ErrLost) {
				t.Errorf("%s of another's call: %v", req[1], err)
			}
		}
		_ = b.c.call(ctx, "DELETE", "/v1/calls/"+art.call, nil, nil)
		b.c.acks.add(art.call)
		_ = b.c.call(ctx, "POST", "/v1/sandboxes/"+b.c.id+"/lease", nil, nil)
		// What the tenant itself uploaded is not another's to read by its hash either.
		own := *art
		own.Hash = fmt.Sprintf("%064d", 1)
		if err := own.Fetch(ctx, io.Discard); !errors.Is(err, ErrLost) {
			t.Errorf("a content that the call has not sent: %v", err)
		}
		return art.Fetch(ctx, io.Discard)
	}})
	if err != nil {
		t.Error(err)
	}
	b.c.id = a.c.id
	if _, err := b.Tools().Call(t.Context(), request("read", fileArgs{Path: "a.txt"}), ToolHandlers{}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("another's sandbox: %v", err)
	}
}

// TestCallQuota checks that calls count as commands, and that their output counts as bytes until it
// is acknowledged.
func TestCallQuota(t *testing.T) {
	s, url := newTestServer(t, func(c *Config) {
		withTools(c)
		c.Tenants[0].Quota = Quota{Commands: 1, Bytes: 4 << 10}
	})
	tools := openAt(t, Options{URL: url, Dir: workspace(t)}).Tools()
	ctx, cancel := context.WithCancel(t.Context())
	_, _ = tools.Call(ctx, request("wait", fileArgs{}), ToolHandlers{Progress: func(string) {
		if _, err := tools.Call(t.Context(), request("read", fileArgs{}), ToolHandlers{}); !errors.Is(err, ErrQuota) || errors.Is(err, ErrLost) {
			t.Errorf("second call: %v", err)
		}
		cancel()
	}})
	for range 20 {
		if got := mustCall[string](t, tools, request("result", fileArgs{N: 2000}), ToolHandlers{}); len(got) != 2000 {
			t.Errorf("%d bytes", len(got))
		}
	}
	if _, err := tools.Call(t.Context(), request("result", fileArgs{N: 5000}), ToolHandlers{}); !errors.Is(err, ErrQuota) || !errors.Is(err, ErrLost) {
		t.Errorf("a result beyond the quota: %v", err)
	}
	if _, err := tools.Call(t.Context(), request("run", fileArgs{Script: "while :; do echo output; done"}), ToolHandlers{}); !errors.Is(err, ErrQuota) {
		t.Errorf("output beyond the quota: %v", err)
	}
	var own *ToolError
	if _, err := tools.Call(t.Context(), request("store", fileArgs{N: 5000}), ToolHandlers{}); !errors.Is(err, ErrQuota) || !errors.As(err, &own) {
		t.Errorf("an artifact beyond the quota: %v", err)
	}
	mustCall[string](t, tools, request("read", fileArgs{Path: "a.txt"}), ToolHandlers{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) > 1 {
		t.Errorf("%d results are kept", len(s.calls))
	}
}

// TestCheckpoints checks the operations on checkpoints, instructions, and that their errors are the
// toolbox's.
func TestCheckpoints(t *testing.T) {
	_, url := newTestServer(t, withTools)
	tools := openAt(t, Options{URL: url, Dir: workspace(t)}).Tools()
	ctx := t.Context()
	got := ""
	add := func(id string, err error) { got += fmt.Sprint(id, " ", err, "; ") }
	add(tools.Snapshot(ctx, "one"))
	add(tools.Snapshot(ctx, "two"))
	add(tools.Restore(ctx, "c1"))
	add(tools.Restore(ctx, "none"))
	add(tools.Undo(ctx))
	add(tools.Redo(ctx))
	list, err := tools.Checkpoints(ctx)
	add(string(list), err)
	in, err := tools.Instructions(ctx, "sub/a&b=c")
	add(string(in), err)
	want := "c1 <nil>; c2 <nil>; undo of c1 <nil>;  there is no such checkpoint; back <nil>; forward <nil>; " +
		`["one","two"] <nil>; ["sub/a\u0026b=c"] <nil>; `
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestToolsOfForks checks that each fork has tools of its own, over its own workspace.
func TestToolsOfForks(t *testing.T) {
	_, url := newTestServer(t, withTools)
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	mustCall[string](t, sb.Tools(), request("append", fileArgs{Path: "a.txt", Text: "before\n"}), ToolHandlers{})
	f := forked(t, sb).(*Sandbox)
	mustCall[string](t, f.Tools(), request("append", fileArgs{Path: "a.txt", Text: "fork\n"}), ToolHandlers{})
	if got := mustCall[string](t, sb.Tools(), request("read", fileArgs{Path: "a.txt"}), ToolHandlers{}); got != "text a\nbefore\n" {
		t.Errorf("the original: %q", got)
	}
	if err := sb.Adopt(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if got := mustCall[string](t, sb.Tools(), request("read", fileArgs{Path: "a.txt"}), ToolHandlers{}); got != "text a\nbefore\nfork\n" {
		t.Errorf("after it was adopted: %q", got)
	}
	out := workspace(t)
	if _, err := sb.Export(t.Context(), sandbox.ExportOptions{Dir: out}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(out + "/a.txt"); err != nil || string(b) != "text a\nbefore\nfork\n" {
		t.Errorf("exported: %q, %v", b, err)
	}
}

// TestExportDuringCalls checks that an export while tools change files of the snapshot is of one
// state, or is busy.
func TestExportDuringCalls(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	_, url := newTestServer(t, withTools)
	dir := t.TempDir()
	const files = 400
	name := func(i int) string { return fmt.Sprintf("f%d", i) }
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, name(i)), []byte("old\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sb := openAt(t, Options{URL: url, Dir: dir})
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for i := range files {
			_, _ = sb.Tools().Call(t.Context(), request("append", fileArgs{Path: name(i), Text: "new\n"}), ToolHandlers{})
		}
	}()
	whole := 0
	for running := true; running; {
		select {
		case <-changed:
			running = false
		default:
		}
		o, err := sb.output(t.Context(), outputRequest{Kind: outputTree})
		if errors.Is(err, sandbox.ErrBusy) {
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		whole++
		if r := o.Review.review(); len(r.Changes) != len(o.Files) {
			t.Errorf("%d paths are reviewed and %d are sent", len(r.Changes), len(o.Files))
		}
		o.drop()
	}
	if whole == 0 {
		t.Error("no export found a quiet moment, although nothing changes any more")
	}
	t.Logf("%d exports found a quiet moment", whole)
}

// TestAbandonedCalls checks that a server keeps nothing of calls whose client stopped waiting.
func TestAbandonedCalls(t *testing.T) {
	s, url := newTestServer(t, withTools)
	sb := openAt(t, Options{URL: url})
	id := newID()
	req, err := sb.c.request(t.Context(), "PUT", "/v1/sandboxes/"+sb.c.id+"/calls/"+id+"?from=0", strings.NewReader(`{"op":"tool","name":"wait","args":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := sb.c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	sb.c.acks.add(id) // while it runs
	if _, err := sb.Tools().Specs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sb.c.call(t.Context(), "POST", "/v1/calls/"+id+"/cancel", nil, nil); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		s.mu.Lock()
		n := len(s.calls)
		s.mu.Unlock()
		if n == 0 {
			break
		}
		if i > 2000 {
			t.Fatalf("%d calls are kept", n)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestRoundTrips checks that a call is one request, and two if it is prepared.
//
// Evidence: remote · A tool call is one round trip, and two if somebody is asked
func TestRoundTrips(t *testing.T) {
	s, _ := newTestServer(t, withTools)
	var requests atomic.Int64
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	tools := openAt(t, Options{URL: h.URL}).Tools()
	requests.Store(0)
	for i := range int64(5) {
		q := request("append", fileArgs{Path: "f", Text: "x"})
		mustCall[string](t, tools, q, ToolHandlers{})
		if n := requests.Load(); n != 3*i+1 {
			t.Fatalf("%d requests", n)
		}
		p, err := tools.Prepare(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		q.Digest = p.Digest
		mustCall[string](t, tools, q, ToolHandlers{})
		if n := requests.Load(); n != 3*i+3 {
			t.Fatalf("%d requests", n)
		}
	}
}
