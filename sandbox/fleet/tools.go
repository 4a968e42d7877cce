package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// toolRequest is a request about the tools of a session's box, of the protocol of package remote.
// It is answered once, under its number, like a command.
type toolRequest struct {
	Method string
	Path   string // with the query
	Header map[string]string
	Body   []byte
}

// toolAnswer is the answer to it.
type toolAnswer struct {
	Status int
	Header map[string]string
	Body   []byte
	Cut    bool // the body is a beginning; a log and an artifact are read on from there
}

// maxToolBody limits the body of a request and of an answer: in base 64 it has to fit in a message.
const maxToolBody = 640 << 10

// toolHeaders lists the headers that the protocol uses.
func toolHeaders() []string {
	return []string{"Content-Type", "Etag", "If-None-Match", "Range", "Content-Range", "Luthier-Done"}
}

func (t *toolRequest) validate() error {
	switch {
	case t == nil:
		return errors.New("request: tools need a request")
	case len(t.Method) > 10 || len(t.Path) > 4096 || len(t.Body) > maxToolBody || len(t.Header) > len(toolHeaders()):
		return errors.New("request: the request about tools is too large")
	}
	return nil
}

// Tools returns the tools of the session's box, if its host has some ([HostConfig].Tools);
// otherwise calls fail with [remote.ErrNoTools]. A call is run once, also if the engine or the host
// cannot be reached for a while. The tools end with the session: a call that runs while the lease
// ends fails with [remote.ErrLost]. A request of more than 640 KiB fails with [ErrTooLarge].
func (s *Session) Tools() *remote.Tools { return s.tools }

// toolTrip makes requests of package remote through the engine.
type toolTrip struct{ s *Session }

// RoundTrip makes one request.
func (t toolTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	r, err := toMessage(req)
	if err != nil {
		return nil, notSent(err)
	}
	s := t.s
	if s.ctx.Err() != nil {
		return nil, notSent(fmt.Errorf("%w: %w", sandbox.ErrClosed, context.Cause(s.ctx)))
	}
	number := s.number()
	defer s.arrived(number)
	a, err := s.ask(req.Context(), &hostRequest{Op: opTool, Number: number, Tool: r}, 0)
	if err == nil {
		err = a.err()
	}
	if errors.Is(err, ErrLost) {
		err = fmt.Errorf("%w: %w", sandbox.ErrClosed, err)
	}
	if err == nil && a.Tool == nil {
		err = errors.New("the host's answer has nothing about tools")
	}
	if err != nil { // ask has repeated what can be repeated
		return nil, remote.Permanent(fail("use tools on", s.lease.Host, err))
	}
	return a.Tool.response(req)
}

// notSent marks the error of a request that had no effect.
func notSent(err error) error {
	return &net.OpError{Op: "dial", Net: "fleet", Err: remote.Permanent(err)}
}

func toMessage(req *http.Request) (*toolRequest, error) {
	r := &toolRequest{Method: req.Method, Path: req.URL.RequestURI(), Header: map[string]string{}}
	for _, h := range toolHeaders() {
		if v := req.Header.Get(h); v != "" {
			r.Header[h] = v
		}
	}
	if req.Body == nil {
		return r, nil
	}
	defer req.Body.Close()
	var err error
	r.Body, err = readAtMost(req.Body, maxToolBody)
	return r, err
}

func (a *toolAnswer) response(req *http.Request) (*http.Response, error) {
	out := &http.Response{StatusCode: a.Status, Status: http.StatusText(a.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: req}
	for k, v := range a.Header {
		if slices.Contains(toolHeaders(), k) {
			out.Header.Set(k, v)
		}
	}
	var body io.Reader = bytes.NewReader(a.Body)
	if a.Cut {
		body = io.MultiReader(body, cutReader{})
		if out.Header.Get("Content-Type") == "application/json" {
			return nil, remote.Permanent(fmt.Errorf("%w: the host's answer about tools has more than %d bytes", ErrTooLarge, maxToolBody))
		}
	}
	out.Body = io.NopCloser(body)
	return out, nil
}

// cutReader ends a body that is cut off.
type cutReader struct{}

func (cutReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// logHold is the time for which a host waits for something to answer about a call that is silent.
const logHold = 2 * time.Second

// serve answers the request by a handler. A log ends as soon as it has something to say, or after
// logHold; everything else takes as long as it takes, until ctx ends.
func (t *toolRequest) serve(ctx context.Context, h http.Handler) (*toolAnswer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, t.Method, "http://tools"+t.Path, bytes.NewReader(t.Body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for _, k := range toolHeaders() {
		if v, ok := t.Header[k]; ok {
			req.Header.Set(k, v)
		}
	}
	w := &toolWriter{head: http.Header{}, cut: cancel}
	late := time.AfterFunc(logHold, w.late)
	defer late.Stop()
	func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				panic(p)
			} else if p != nil {
				w.over = true
			}
		}()
		h.ServeHTTP(w, req)
	}()
	return w.answer(), nil
}
