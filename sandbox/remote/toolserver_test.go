package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// cutTrip passes requests to a handler, and cuts one answer after a number of bytes.
type cutTrip struct {
	h    http.Handler
	left int // bytes before the cut; negative: no cut
}

func (c *cutTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, req)
	resp := w.Result()
	n := w.Body.Len()
	switch {
	case c.left < 0:
	case c.left < n || c.left == n && n == 0:
		b := w.Body.Bytes()[:c.left]
		c.left = -1
		if len(b) == 0 {
			return nil, errors.New("cut")
		}
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(string(b)), iotest.ErrReader(io.ErrUnexpectedEOF)))
	default:
		c.left -= n
	}
	return resp, nil
}

// TestToolServer checks that tools are served without a sandbox of this package and without a
// connection, and cuts every answer of a call at every byte.
func TestToolServer(t *testing.T) {
	cfg := plain()
	cfg.Snapshot = sandbox.SnapshotDir(workspace(t))
	sb, err := sandbox.Local(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	s, err := NewToolServer(ToolServerConfig{Dir: t.TempDir(), Open: func(ctx context.Context) (Toolbox, error) { return openFileTools(ctx, sb) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	rt := &cutTrip{h: s, left: -1}
	tools := NewTools(ctx, rt, 10*time.Second)
	if specs, err := tools.Specs(t.Context()); err != nil || !specs.Prepares {
		t.Errorf("%+v, %v", specs, err)
	}
	at := 0
	for ; at < 10_000; at += tier.Pick(97, 11, 1) {
		rt.left = at
		q := request("append", fileArgs{Path: fmt.Sprint("n", at), Text: "x"})
		p, err := tools.Prepare(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		q.Digest = p.Digest
		if got := mustCall[string](t, tools, q, ToolHandlers{}); got != "x" {
			t.Fatalf("cut after %d bytes: %q", at, got)
		}
		if rt.left >= 0 {
			break
		}
	}
	t.Logf("cut at up to %d bytes", at)
	if at < 200 || at == 10_000 {
		t.Errorf("the exchange has %d bytes", at)
	}
	for _, path := range []string{"/v1/sandboxes/" + newID(), "/v1/sandboxes/" + soleID, "/v1/sandboxes/" + soleID + "/commands/" + newID()} {
		req, _ := http.NewRequest("PUT", path, strings.NewReader("{}"))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		if w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
			t.Errorf("PUT %s: %d %s", path, w.Code, w.Body)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := tools.Specs(ctxFor(t, time.Second)); err == nil {
		t.Error("it serves after Close")
	}
	cancel()
	if _, err := tools.Call(t.Context(), request("read", fileArgs{}), ToolHandlers{}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("after the context's end: %v", err)
	}
}

func ctxFor(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, fmt.Errorf("after %v", d))
	t.Cleanup(cancel)
	return ctx
}
