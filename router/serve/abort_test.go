package serve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/serve"
)

// metric returns the value of a line of /metrics, or "".
func metric(t *testing.T, hc *http.Client, url, name string) string {
	t.Helper()
	_, body, _ := call(t, hc, "GET", url+"/metrics", "")
	for line := range strings.Lines(body) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// counted polls until a metric has a value.
func counted(t *testing.T, hc *http.Client, url, name, want string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if metric(t, hc, url, name) == want {
			return
		}
	}
	t.Errorf("%s is %q after a minute, want %s", name, metric(t, hc, url, name), want)
}

// onlyAborted checks that n aborted requests are the only ones that are counted.
func onlyAborted(t *testing.T, hc *http.Client, url string, n int) {
	t.Helper()
	counted(t, hc, url, `luthier_requests_total{outcome="aborted"}`, fmt.Sprint(n))
	_, body, _ := call(t, hc, "GET", url+"/metrics", "")
	if strings.Count(body, "luthier_requests_total{") != 1 {
		t.Errorf("other outcomes are counted:\n%s", body)
	}
}

// endless is a model that says one word and then waits for its context.
func endless(begun chan<- struct{}, ended chan<- error) agent.Model {
	return agent.ModelFunc(func(ctx context.Context, _ *agent.Request) iter.Seq2[agent.Chunk, error] {
		return func(yield func(agent.Chunk, error) bool) {
			begun <- struct{}{}
			if yield(agent.TextDelta{Text: "word"}, nil) {
				<-ctx.Done()
				yield(nil, fmt.Errorf("backend: %w", ctx.Err()))
			}
			ended <- ctx.Err()
		}
	})
}

// TestAborts: a client that leaves is counted as aborted and nothing else, and the calls of the
// model are cancelled, whether the answer is streamed or whole, with one choice or more.
//
// Evidence: server · A client that leaves is counted as aborted, and its model calls are cancelled
func TestAborts(t *testing.T) {
	agenttest.CheckLeaks(t)
	for _, stream := range []bool{true, false} {
		for _, n := range []int64{1, 3} {
			begun, ended := make(chan struct{}, 8), make(chan error, 8)
			srv, hc := start(t, endless(begun, ended), serve.Config{})
			client := openai.NewClient(option.WithBaseURL(srv.URL+"/v1"), option.WithAPIKey("x"), option.WithHTTPClient(hc), option.WithMaxRetries(0))
			ctx, leave := context.WithCancel(t.Context())
			params := openai.ChatCompletionNewParams{N: openai.Int(n), Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}}
			left := make(chan error, 1)
			if stream {
				s := client.Chat.Completions.NewStreaming(ctx, params)
				if !s.Next() {
					t.Fatal(s.Err())
				}
				go func() {
					for s.Next() {
					}
					left <- s.Err()
				}()
			} else {
				go func() {
					_, err := client.Chat.Completions.New(ctx, params)
					left <- err
				}()
			}
			for range n {
				<-begun
			}
			leave()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("the client: %v", err)
			}
			for range n {
				select {
				case err := <-ended:
					if err == nil {
						t.Error("the call of the model was not cancelled")
					}
				case <-time.After(time.Minute):
					t.Fatal("the call of the model runs on")
				}
			}
			onlyAborted(t, hc, srv.URL, 1)
		}
	}
}

// TestAbortedInQueue: a client that leaves while it waits for its turn is counted as aborted.
func TestAbortedInQueue(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := &blocking{begun: make(chan struct{}, 8), release: make(chan struct{})}
	srv, hc := start(t, m, serve.Config{MaxConcurrent: 1, Queue: 4})
	first := make(chan int, 1)
	go func() {
		status, _, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", hello)
		first <- status
	}()
	<-m.begun
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+"/v1/chat/completions", strings.NewReader(hello))
		if res, err := hc.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	waiting(t, hc, srv.URL, 1)
	leave()
	<-gone
	onlyAborted(t, hc, srv.URL, 1)
	close(m.release)
	if status := <-first; status != 200 {
		t.Errorf("status %d", status)
	}
	counted(t, hc, srv.URL, `luthier_requests_total{outcome="ok"}`, "1")
}

// TestAbortedBody: so is a client that leaves before its request has arrived.
func TestAbortedBody(t *testing.T) {
	agenttest.CheckLeaks(t)
	srv, hc := start(t, traced{}, serve.Config{})
	for _, head := range []string{"Content-Length: 500", "Transfer-Encoding: chunked"} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", head)
		if strings.HasPrefix(head, "T") {
			fmt.Fprint(conn, "10\r\n")
		}
		fmt.Fprint(conn, `{"mess`)
		conn.Close()
	}
	onlyAborted(t, hc, srv.URL, 2)
}

// TestAbortedHTTP2: a stream that an HTTP/2 client resets is one, too; the connection stays.
func TestAbortedHTTP2(t *testing.T) {
	agenttest.CheckLeaks(t)
	begun, ended := make(chan struct{}, 1), make(chan error, 1)
	handler, err := serve.New(endless(begun, ended), serve.Config{})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(handler)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	ctx, leave := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+"/v1/chat/completions", strings.NewReader(streamed))
	res, err := srv.Client().Do(req)
	if err != nil || res.ProtoMajor != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	leave()
	res.Body.Close()
	if err := <-ended; err == nil {
		t.Error("the call of the model was not cancelled")
	}
	onlyAborted(t, srv.Client(), srv.URL, 1)
}

// TestNotAborted: the model's own cancellation, the host's deadline and an upstream that breaks off
// are no aborts of the client, and a client that hangs up after its whole answer was served.
func TestNotAborted(t *testing.T) {
	agenttest.CheckLeaks(t)
	for _, c := range []struct {
		err     error
		outcome string
	}{
		{&agent.ModelError{Kind: agent.ErrCanceled, Err: errors.New("stopped by its owner")}, "canceled"},
		{&agent.ModelError{Kind: agent.ErrNetwork, Err: io.ErrUnexpectedEOF}, "network"},
		{&agent.ModelError{Kind: agent.ErrTimeout, Err: context.DeadlineExceeded}, "timeout"},
	} {
		srv, hc := start(t, agenttest.Script(agenttest.Join(agenttest.Text("half"), agenttest.Error(c.err))), serve.Config{})
		call(t, hc, "POST", srv.URL+"/v1/chat/completions", streamed)
		counted(t, hc, srv.URL, `luthier_requests_total{outcome="`+c.outcome+`"}`, "1")
		if got := metric(t, hc, srv.URL, `luthier_requests_total{outcome="aborted"}`); got != "" {
			t.Errorf("%v: counted as aborted", c.err)
		}
	}
	srv, hc := start(t, traced{[]string{"a"}}, serve.Config{})
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(streamed), streamed)
	for in := bufio.NewReader(conn); ; {
		if line, err := in.ReadString('\n'); err != nil || strings.Contains(line, "[DONE]") {
			break
		}
	}
	conn.Close()
	counted(t, hc, srv.URL, `luthier_requests_total{outcome="ok"}`, "1")
}
