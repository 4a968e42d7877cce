package agenttest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/wait"
)

// wireEntry is one line of a wire cassette: an HTTP exchange.
type wireEntry struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"` // without the query, which may hold a key
	Request string            `json:"request"`
	Status  int               `json:"status"`
	Header  map[string]string `json:"header,omitempty"`
	Pieces  []wirePiece       `json:"pieces"`
	Broken  bool              `json:"broken,omitempty"` // the body ended in an error
}

type wirePiece struct {
	At   int64  `json:"ms"` // time since the request
	Data string `json:"data"`
}

// keptHeaders are the response headers that are recorded. No other header, and no request header,
// is ever written.
var keptHeaders = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Request-Id", "Request-Id"}

// TransportRecorder is an [http.RoundTripper] that records the exchanges it carries to a cassette.
type TransportRecorder struct {
	next http.RoundTripper
	tape *tape
	opts *cassetteOptions
}

// RecordTransport returns a round tripper that sends requests through next (nil means
// [http.DefaultTransport]) and writes them and their responses, byte for byte and with timings, to
// a new file at path. Only a few harmless response headers are written; queries are dropped;
// secrets in bodies are removed, see [Scrub]. An exchange is written when its body is closed. Close
// the recorder when done. [NewReplayServer] plays the file.
func RecordTransport(path string, next http.RoundTripper, opts ...CassetteOption) (*TransportRecorder, error) {
	if next == nil {
		next = http.DefaultTransport
	}
	t, err := newTape(path)
	if err != nil {
		return nil, err
	}
	return &TransportRecorder{next: next, tape: t, opts: newCassetteOptions(opts)}, nil
}

// Close ends the recording and returns the first write error.
func (r *TransportRecorder) Close() error { return r.tape.close() }

// RoundTrip sends req and records the exchange.
func (r *TransportRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	entry := &wireEntry{Method: req.Method, Path: req.URL.Path, Header: map[string]string{}}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("agenttest: record request: %w", err)
		}
		entry.Request = r.opts.scrub(string(body))
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	began := time.Now()
	res, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	entry.Status = res.StatusCode
	for _, h := range keptHeaders {
		if v := res.Header.Get(h); v != "" {
			entry.Header[h] = v
		}
	}
	res.Body = &recordedBody{body: res.Body, began: began, entry: entry, recorder: r}
	return res, nil
}

// recordedBody records what is read of a response.
type recordedBody struct {
	body     io.ReadCloser
	began    time.Time
	recorder *TransportRecorder
	mu       sync.Mutex
	entry    *wireEntry
	done     bool
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 {
		b.entry.Pieces = append(b.entry.Pieces, wirePiece{At: time.Since(b.began).Milliseconds(), Data: string(p[:n])})
	}
	if err != nil && err != io.EOF {
		b.entry.Broken = true
	}
	return n, err
}

func (b *recordedBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.done {
		b.done = true
		b.entry.Pieces = b.recorder.scrubPieces(b.entry.Pieces)
		b.recorder.tape.write(b.entry)
	}
	return b.body.Close()
}

// scrubPieces removes secrets from a body. Pieces are joined up to the ends of events, so that JSON
// text, which must be valid UTF-8, never holds half a character. All pieces are joined if a secret
// spans them.
func (r *TransportRecorder) scrubPieces(in []wirePiece) []wirePiece {
	var all strings.Builder
	var out []wirePiece
	var open strings.Builder
	for _, p := range in {
		all.WriteString(p.Data)
		open.WriteString(p.Data)
		if strings.HasSuffix(p.Data, "\n") {
			out = append(out, wirePiece{p.At, open.String()})
			open.Reset()
		}
	}
	if open.Len() > 0 {
		out = append(out, wirePiece{in[len(in)-1].At, open.String()})
	}
	whole := r.opts.scrub(all.String())
	if whole == all.String() {
		return out
	}
	return []wirePiece{{in[len(in)-1].At, whole}}
}

// NewReplayServer starts a server on loopback that plays the wire cassette at path: a request
// receives the first unused response recorded for an equal body, or else the first unused one of
// the same method and path. If none is left, the server answers with status 501 and t fails. The
// server is closed when t ends.
func NewReplayServer(t testing.TB, path string, opts ...CassetteOption) *httptest.Server {
	t.Helper()
	entries, torn, err := readTape[wireEntry](path)
	if err != nil {
		t.Fatal(err)
	}
	if torn {
		t.Logf("agenttest: replay %s: its last line was cut and is left out", path)
	}
	p := &wirePlayer{t: t, path: path, opts: newCassetteOptions(opts), entries: entries}
	srv := httptest.NewServer(p)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}

type wirePlayer struct {
	t       testing.TB
	path    string
	opts    *cassetteOptions
	mu      sync.Mutex
	entries []wireEntry
}

func (p *wirePlayer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e, ok := p.take(r.Method, r.URL.Path, p.opts.scrub(string(body)))
	if !ok {
		p.t.Errorf("agenttest: replay %s: no response is left for %s %s", p.path, r.Method, r.URL.Path)
		http.Error(w, "agenttest: no recorded response is left", http.StatusNotImplemented)
		return
	}
	for k, v := range e.Header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(e.Status)
	var at int64
	for _, piece := range e.Pieces {
		if p.opts.paced > 0 {
			_ = wait.For(r.Context(), time.Duration(float64(piece.At-at)*float64(time.Millisecond)/p.opts.paced))
			at = piece.At
		}
		if _, err := io.WriteString(w, piece.Data); err != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	if e.Broken {
		panic(http.ErrAbortHandler)
	}
}

// take finds and removes the entry that answers a request.
func (p *wirePlayer) take(method, path, body string) (wireEntry, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := func(e wireEntry) bool { return e.Method == method && e.Path == path }
	i := -1
	if !p.opts.order {
		i = slices.IndexFunc(p.entries, func(e wireEntry) bool { return same(e) && e.Request == body })
	}
	if i < 0 {
		i = slices.IndexFunc(p.entries, same)
	}
	if i < 0 {
		return wireEntry{}, false
	}
	e := p.entries[i]
	p.entries = slices.Delete(p.entries, i, i+1)
	return e, true
}
