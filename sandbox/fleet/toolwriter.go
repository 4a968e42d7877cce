package fleet

import (
	"cmp"
	"errors"
	"net/http"
	"sync"
)

// toolWriter collects an answer of package remote's handler, up to a message's size. It makes the
// handler stop sending a log when there is something to pass on.
type toolWriter struct {
	mu     sync.Mutex
	head   http.Header
	status int
	body   []byte
	over   bool   // the body is cut off
	cut    func() // ends the request
	log    bool   // the body is a log
}

// Header implements http.ResponseWriter.
func (w *toolWriter) Header() http.Header { return w.head }

// WriteHeader implements http.ResponseWriter.
func (w *toolWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(status)
}

func (w *toolWriter) begin(status int) {
	if w.status == 0 {
		w.status = status
		w.log = status == http.StatusOK && w.head.Get("Content-Type") == "application/octet-stream"
	}
}

var errAnswerFull = errors.New("the answer is as long as a message may be")

// Write implements http.ResponseWriter.
func (w *toolWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(http.StatusOK)
	n := min(len(b), maxToolBody-len(w.body))
	w.body = append(w.body, b[:n]...)
	if n < len(b) {
		w.over = true
		return n, errAnswerFull
	}
	return n, nil
}

// Flush is called when the handler has sent all that there is, and is about to wait for more.
func (w *toolWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(http.StatusOK)
	if w.log && len(w.body) > 0 {
		w.cut()
	}
}

// late ends the wait for a log that has nothing to say.
func (w *toolWriter) late() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.log {
		w.cut()
	}
}

func (w *toolWriter) answer() *toolAnswer {
	a := &toolAnswer{Status: cmp.Or(w.status, http.StatusOK), Header: map[string]string{}, Body: w.body, Cut: w.over}
	for _, h := range toolHeaders() {
		if v := w.head.Get(h); v != "" {
			a.Header[h] = v
		}
	}
	return a
}
