package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// WireRequest is a request that a conformance server received.
type WireRequest struct {
	HTTP     *http.Request
	Body     []byte // the whole body; HTTP.Body is already read
	Scenario Scenario
	Exchange int   // from 1
	Reply    Reply // what will be sent
}

// NewServer starts a server on loopback. It answers every request with the scenario named by the
// [Marker] in its body, in the format that newWire's result writes. The server is closed when t
// ends. Create a model with the server's URL and pass it to [Conformance].
func NewServer(t testing.TB, newWire func(r *WireRequest) Wire) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(Handler(newWire))
	t.Cleanup(func() {
		srv.CloseClientConnections() // a stalled stream that a faulty model holds open must not block the test
		srv.Close()
	})
	return srv
}

// Handler returns the handler behind [NewServer], for use in another server.
func Handler(newWire func(r *WireRequest) Wire) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "agenttest: read request: "+err.Error(), http.StatusBadRequest)
			return
		}
		req, err := identify(r, body)
		if err != nil {
			http.Error(w, "agenttest: "+err.Error(), http.StatusNotImplemented)
			return
		}
		wire := newWire(req)
		if err := req.check(wire); err != nil {
			contentType, body := wire.Error(http.StatusBadRequest, Failure{Code: FailInvalid, Message: refused + err.Error()})
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, body)
			return
		}
		send(w, r, wire, req.Reply)
	})
}

// refused begins the server's complaint about a request, so that a scenario that expects an error
// does not pass because of the complaint.
const refused = "agenttest: the request is wrong: "

func identify(r *http.Request, body []byte) (*WireRequest, error) {
	name, n, ok := FindMarker(body)
	if !ok {
		return nil, fmt.Errorf("the request has no %q marker", "conformance:")
	}
	sc, ok := FindScenario(name)
	if !ok || n < 1 || n > len(sc.Exchanges) {
		return nil, fmt.Errorf("no scenario %q with exchange %d", name, n)
	}
	return &WireRequest{HTTP: r, Body: body, Scenario: sc, Exchange: n, Reply: sc.Exchanges[n-1].Reply}, nil
}

// check looks for the texts that the reply requires, and calls the check of the wire format.
func (r *WireRequest) check(wire Wire) error {
	texts, err := jsonTexts(r.Body)
	if err != nil {
		return fmt.Errorf("its body is not JSON: %w", err)
	}
	holds := func(want string) bool {
		for _, s := range texts {
			if strings.Contains(s, want) {
				return true
			}
		}
		return false
	}
	for _, want := range r.Reply.Must {
		if !holds(want) {
			return fmt.Errorf("no string in its body holds %.200q", want)
		}
	}
	for _, not := range r.Reply.MustNot {
		if holds(not) {
			return fmt.Errorf("a string in its body holds %.200q", not)
		}
	}
	if c, ok := wire.(WireChecker); ok {
		return c.Check(r)
	}
	return nil
}

// jsonTexts returns every string in a JSON document, including keys. A string that is itself JSON
// is searched too, since formats carry arguments that way.
func jsonTexts(body []byte) ([]string, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	var texts []string
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return texts, nil
		}
		if err != nil {
			return nil, err
		}
		s, ok := tok.(string)
		if !ok {
			continue
		}
		texts = append(texts, s)
		if strings.HasPrefix(s, "{") && json.Valid([]byte(s)) {
			inner, _ := jsonTexts([]byte(s))
			texts = append(texts, inner...)
		}
	}
}

// send writes one reply.
func send(w http.ResponseWriter, r *http.Request, wire Wire, reply Reply) {
	for k, v := range reply.Header {
		w.Header().Set(k, strings.ReplaceAll(v, httpDateSoon, time.Now().Add(soon).UTC().Format(http.TimeFormat)))
	}
	if reply.Status != 0 && reply.Status != http.StatusOK {
		sendError(w, wire, reply)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := &dribbler{w: w, n: reply.Dribble}
	out.write(wire.Event(WireStart{}))
	for _, ev := range reply.Events {
		switch ev := ev.(type) {
		case WireCut:
			return
		case WireReset:
			panic(http.ErrAbortHandler)
		case WireStall:
			<-r.Context().Done()
			return
		case WireWait:
			select {
			case <-r.Context().Done():
				return
			case <-time.After(ev.For):
			}
		default:
			out.write(wire.Event(ev))
		}
	}
}

const htmlError = "<!DOCTYPE html><html><head><title>Bad Gateway</title></head><body><h1>The upstream is away</h1></body></html>"

func sendError(w http.ResponseWriter, wire Wire, reply Reply) {
	contentType, body := wire.Error(reply.Status, reply.Failure)
	if reply.HTML {
		contentType, body = "text/html; charset=utf-8", htmlError
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(reply.Status)
	io.WriteString(w, body)
	junk := strings.Repeat(" junk after the body", 1000)
	for n := reply.Padding; n > 0; n -= len(junk) {
		if _, err := io.WriteString(w, junk[:min(n, len(junk))]); err != nil {
			return
		}
	}
}

// dribbler writes and flushes in pieces of n bytes, so that reads end in the middle of lines,
// escapes and characters.
type dribbler struct {
	w http.ResponseWriter
	n int
}

func (d *dribbler) write(s string) {
	for len(s) > 0 {
		n := len(s)
		if d.n > 0 {
			n = min(n, d.n)
		}
		if _, err := io.WriteString(d.w, s[:n]); err != nil {
			return
		}
		if f, ok := d.w.(http.Flusher); ok {
			f.Flush()
		}
		s = s[n:]
	}
}
