package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// serveState is the main of a server that a test kills: it serves the state directory on a socket
// in it.
func serveState(dir string) int {
	srv, err := NewServer(Config{Dir: filepath.Join(dir, "state"), Sandbox: plain(), Tools: openFileTools, Tenants: []Tenant{{Name: "a", Token: token}}})
	if err == nil {
		var l net.Listener
		_ = os.Remove(filepath.Join(dir, "s"))
		if l, err = net.Listen("unix", filepath.Join(dir, "s")); err == nil {
			fmt.Println("ready")
			err = http.Serve(l, srv)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// startServer starts a server process, and returns a function that kills it.
func startServer(t *testing.T, dir string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_SERVER="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	return kill
}

// TestServerKilledDuringCall kills the server's process during a call: its outcome is unknown and
// it is not run again. The result of a call that had ended before is still there, under its name
// only.
//
// Evidence: remote · A server killed during a tool call leaves an unknown outcome, no second run
func TestServerKilledDuringCall(t *testing.T) {
	tier.Normal(t)
	dir, err := os.MkdirTemp("", "k*") // short, for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = removeTree(dir) })
	kill := startServer(t, dir)
	sb := openAt(t, Options{URL: "unix://" + dir + "/s", Dir: workspace(t)})
	done := newID()
	status, log := put(t, sb.c, done, appendOnce)
	if status != http.StatusOK || !bytes.Contains(log, []byte("once")) {
		t.Fatalf("%d %s", status, log)
	}
	for i := 0; ; i++ { // results are kept in memory for a moment
		if found, _ := filepath.Glob(dir + "/state/calls/*/" + done); len(found) == 1 {
			break
		}
		if i > 2000 {
			t.Fatal("the result is in no file")
		}
		time.Sleep(10 * time.Millisecond)
	}
	count := filepath.Join(t.TempDir(), "count")
	_, err = sb.Tools().Call(t.Context(), request("run", fileArgs{Script: "echo ran >> " + count + "; echo on; exec sleep 3"}), ToolHandlers{Output: func(sandbox.Stream, []byte) {
		kill()
		startServer(t, dir)
	}})
	var own *ToolError
	if !errors.Is(err, ErrLost) || errors.As(err, &own) {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(count); err != nil || string(b) != "ran\n" {
		t.Errorf("it ran: %q, %v", b, err)
	}
	if status, again := put(t, sb.c, done, appendOnce); status != http.StatusOK || !bytes.Equal(again, log) {
		t.Errorf("a result of before: %d %q", status, again)
	}
	if status, b := put(t, sb.c, done, appendOnce+" "); status != http.StatusBadRequest {
		t.Errorf("another request of that name: %d %q", status, b)
	}
	if _, err := sb.Tools().Call(t.Context(), request("read", fileArgs{}), ToolHandlers{}); !errors.Is(err, sandbox.ErrClosed) || errors.Is(err, ErrLost) {
		t.Errorf("a new call: %v", err)
	}
}

// TestLostAnswerAfterRestart checks that a call whose request had no answer, and that a restarted
// server does not know, has an unknown outcome: it may have run.
func TestLostAnswerAfterRestart(t *testing.T) {
	s, _ := newTestServer(t, withTools)
	swallow := false
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if swallow && r.Method == "PUT" {
			swallow = false
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, r) // it runs
			s.mu.Lock()
			clear(s.calls) // and is forgotten, with its sandbox
			b := s.boxes["a/"+r.PathValue("id")]
			for _, one := range s.boxes {
				b = one
			}
			s.mu.Unlock()
			_ = b.close()
			panic(http.ErrAbortHandler)
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	sb := openAt(t, Options{URL: h.URL})
	mustCall[string](t, sb.Tools(), request("read", fileArgs{Path: "a.txt"}), ToolHandlers{})
	swallow = true
	_, err := sb.Tools().Call(t.Context(), request("append", fileArgs{Path: "n", Text: "x"}), ToolHandlers{})
	if !errors.Is(err, ErrLost) || !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestQuestionAcrossReconnect cuts every connection while a question is open.
func TestQuestionAcrossReconnect(t *testing.T) {
	s, _ := newTestServer(t, withTools)
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	tools := openAt(t, Options{URL: h.URL}).Tools()
	asked := 0
	got := mustCall[string](t, tools, request("ask", fileArgs{N: 5, Text: "q"}), ToolHandlers{Ask: func(_ context.Context, q json.RawMessage) (json.RawMessage, error) {
		asked++
		h.CloseClientConnections()
		return q, nil
	}})
	if got != `"q0" "q1" "q2" "q3" "q4"` || asked != 5 {
		t.Errorf("%s after %d questions", got, asked)
	}
}

// TestSilentBehindGateway checks that commands and calls without output outlast a gateway that ends
// idle connections, for longer than the client's patience.
func TestSilentBehindGateway(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	s, _ := newTestServer(t, withTools)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), longRead+300*time.Millisecond)
		defer cancel()
		s.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(h.Close)
	sb := openAt(t, Options{URL: h.URL, Patience: time.Second})
	ran := make(chan error, 2)
	go func() {
		_, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"sleep", "4"}})
		ran <- err
	}()
	go func() {
		_, err := sb.Tools().Call(t.Context(), request("run", fileArgs{Script: "sleep 4"}), ToolHandlers{})
		ran <- err
	}()
	for range 2 {
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}
}

// TestCallFromUnreachable checks that a server that was never reached leaves no doubt: nothing ran.
func TestCallFromUnreachable(t *testing.T) {
	s, _ := newTestServer(t, withTools)
	h := httptest.NewServer(s)
	sb := openAt(t, Options{URL: h.URL, Patience: 100 * time.Millisecond})
	h.Close()
	sb.c.http.CloseIdleConnections() // a request on one of them might have arrived
	_, err := sb.Tools().Call(t.Context(), request("read", fileArgs{}), ToolHandlers{})
	if err == nil || errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}
