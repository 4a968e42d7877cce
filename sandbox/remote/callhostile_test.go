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
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// frames joins frames, given as pairs of kind and text.
func frames(pairs ...any) (out []byte) {
	for i := 0; i < len(pairs); i += 2 {
		data, ok := pairs[i+1].([]byte)
		if !ok {
			data = []byte(pairs[i+1].(string))
		}
		out = appendFrame(out, byte(pairs[i].(int)), data)
	}
	return out
}

// TestHostileServer checks that a client believes no answer about a call that is not one to it, and
// that no answer makes it hang or run out of memory.
func TestHostileServer(t *testing.T) {
	// A name and a part of the error; a log is made of the call's id and name.
	for what, log := range map[string]func(id string, name []byte) []byte{
		"another call's log|log of another call": func(id string, _ []byte) []byte {
			return frames(8, callName(id, []byte("x")), 7, "1", 3, `{"call":"`+id+`","size":1}`)
		},
		"no name|without its call":               func(id string, _ []byte) []byte { return frames(7, "1", 3, `{"call":"`+id+`","size":1}`) },
		"another call's end|end of another call": func(_ string, n []byte) []byte { return frames(8, n, 7, "1", 3, `{"call":"X","size":1}`) },
		"an end and no more|end of another call": func(id string, _ []byte) []byte { return frames(3, `{"call":"`+id+`"}`) },
		"a result cut short|not whole":           func(id string, n []byte) []byte { return frames(8, n, 7, "1", 3, `{"call":"`+id+`","size":2}`) },
		"a result not JSON|not whole":            func(id string, n []byte) []byte { return frames(8, n, 7, "{", 3, `{"call":"`+id+`","size":1}`) },
		"no result|not whole":                    func(id string, n []byte) []byte { return frames(8, n, 3, `{"call":"`+id+`"}`) },
		"an end not JSON|JSON":                   func(_ string, n []byte) []byte { return frames(8, n, 3, `{`) },
		"two names|kind 8 in the middle":         func(_ string, n []byte) []byte { return frames(8, n, 8, n) },
		"an unknown frame|frame of kind 99":      func(_ string, n []byte) []byte { return frames(8, n, 99, "x") },
		"frame zero|frame of kind 0":             func(_ string, n []byte) []byte { return frames(8, n, 0, "x") },
		"a frame too large|4294967295 bytes":     func(_ string, n []byte) []byte { return append(frames(8, n), 4, 0xff, 0xff, 0xff, 0xff) },
		"question from ahead|question 1, want 0": func(_ string, n []byte) []byte { return frames(8, n, 5, `{"n":1,"question":1}`) },
		"question not JSON|invalid":              func(_ string, n []byte) []byte { return frames(8, n, 5, `?`) },
		"many questions|questions": func(_ string, n []byte) []byte {
			b := frames(8, n)
			for i := range 1000 {
				b = append(b, frames(5, fmt.Sprintf(`{"n":%d,"question":1}`, i))...)
			}
			return b
		},
		"artifact not JSON|invalid":          func(_ string, n []byte) []byte { return frames(8, n, 6, `?`) },
		"artifact's hash|malformed artifact": func(_ string, n []byte) []byte { return frames(8, n, 6, `{"hash":"../../x","size":1}`) },
		"artifact's size|malformed artifact": func(_ string, n []byte) []byte {
			return frames(8, n, 6, `{"hash":"`+fmt.Sprintf("%064d", 1)+`","size":-1}`)
		},
		"artifact not there|it was lost": func(_ string, n []byte) []byte {
			return frames(8, n, 6, `{"hash":"`+fmt.Sprintf("%064d", 1)+`","size":1}`)
		},
		"a large result|result of more": func(_ string, n []byte) []byte {
			return append(frames(8, n), bytes.Repeat(frames(7, strings.Repeat("1", maxFrame)), 1+maxResult/maxFrame)...)
		},
	} {
		what, want, _ := strings.Cut(what, "|")
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tools := liarAbout(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
				id := r.PathValue("call")
				_, _ = w.Write(log(id, callName(id, body)))
			})
			_, err := tools.Call(t.Context(), request("x", fileArgs{}), ToolHandlers{
				Ask: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				},
				Artifact: func(ctx context.Context, a *Artifact) error { return a.Fetch(ctx, io.Discard) },
			})
			var own *ToolError
			if !errors.Is(err, ErrLost) || errors.As(err, &own) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// liarAbout returns the tools of a server whose answers to calls a function writes.
func liarAbout(t *testing.T, call func(w http.ResponseWriter, r *http.Request, body []byte)) *Tools {
	s, _ := newTestServer(t, withTools)
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/sandboxes/{id}/calls/{call}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		call(w, r, body)
	})
	mux.Handle("/", s)
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return openAt(t, Options{URL: h.URL, Patience: 300 * time.Millisecond}).Tools()
}

// TestSlowServer checks that a client's context ends its wait for a server that never answers, or
// says nothing but progress.
func TestSlowServer(t *testing.T) {
	for what, answer := range map[string]func(http.ResponseWriter, *http.Request, []byte){
		"silent": func(_ http.ResponseWriter, r *http.Request, _ []byte) { <-r.Context().Done() },
		"endless": func(w http.ResponseWriter, r *http.Request, body []byte) {
			_, _ = w.Write(frames(8, callName(r.PathValue("call"), body)))
			for r.Context().Err() == nil {
				_, _ = w.Write(frames(4, "x"))
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tools := liarAbout(t, answer)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, err := tools.Call(ctx, request("x", fileArgs{}), ToolHandlers{})
			if !errors.Is(err, ErrLost) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			if d := time.Since(began); d > 30*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestHostileSpecs checks the client's reading of specs.
func TestHostileSpecs(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{
		"wrong hash":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"tools":[],"hash":"x"}`) },
		"not modified":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
		"a page":         func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<html>`) },
		"another status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"tools":"`)
			for {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, _ := newTestServer(t, withTools)
			mux := http.NewServeMux()
			mux.HandleFunc("GET /v1/sandboxes/{id}/tools", answer)
			mux.HandleFunc("POST /v1/sandboxes/{id}/prepare", answer)
			mux.Handle("/", s)
			h := httptest.NewServer(mux)
			t.Cleanup(h.Close)
			tools := openAt(t, Options{URL: h.URL, Patience: 100 * time.Millisecond}).Tools()
			if got, err := tools.Specs(t.Context()); err == nil {
				t.Errorf("%+v", got)
			}
			if got, err := tools.Prepare(t.Context(), request("x", fileArgs{})); err == nil && what != "wrong hash" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// FuzzCallLog checks that a client takes any log for the result of a call only if it says so.
func FuzzCallLog(f *testing.F) {
	id := strings.Repeat("A", 26)
	name := callName(id, nil)
	f.Add(frames(8, name, 4, "x", 1, "o", 7, "1", 3, `{"call":"`+id+`","size":1}`))
	f.Add(frames(8, name, 5, `{"n":0,"question":"q"}`, 6, `{"name":"a","hash":"`+strings.Repeat("0", 64)+`","size":3}`))
	f.Add(frames(3, `{"error":{"text":"lost","is":["lost"]}}`))
	f.Add([]byte{8, 0, 0, 0, 0})
	c, err := newClient(Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		f.Fatal(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	f.Fuzz(func(t *testing.T, b []byte) {
		call := &caller{c: c, id: id, name: name, ctx: over, h: ToolHandlers{
			Progress: func(string) {}, Output: func(sandbox.Stream, []byte) {}, Artifact: func(context.Context, *Artifact) error { return nil }}}
		err := call.frames(bytes.NewReader(b), call.frame)
		call.asks.Wait()
		if call.at > int64(len(b)) || (err == nil) != call.logReader.over {
			t.Fatalf("at %d of %d, %v", call.at, len(b), err)
		}
		if err == nil && call.end.Error == nil && (!json.Valid(call.result) || call.end.Call != id || !bytes.Contains(b, name)) {
			t.Fatalf("took %q for a result", b)
		}
	})
}

// quiet is a toolbox that does nothing.
type quiet struct{}

func (quiet) Specs(context.Context) (json.RawMessage, error) { return json.RawMessage("[]"), nil }
func (quiet) Close() error                                   { return nil }
func (quiet) Call(_ context.Context, q ToolRequest, _ ToolOutput) (json.RawMessage, error) {
	return marshal(q.Name, nil)
}
func (quiet) Prepare(_ context.Context, q ToolRequest) (Prepared, error) {
	return Prepared{Effects: q.Args}, nil
}

// FuzzCallRequest checks that any request for a call gets an answer, and that the server goes on.
func FuzzCallRequest(f *testing.F) {
	f.Add([]byte(appendOnce), "0")
	f.Add([]byte(`{"op":"restore","arg":"x"}`), "0")
	f.Add([]byte(`{"op":"tool","name":"x","args":{},"digest":"d","timeout":-1}`), "38")
	f.Add([]byte(`{"op":"tool","name":"x","timeout":1}{}`), "-1")
	cfg := Config{Dir: f.TempDir(), Sandbox: plain(), Tenants: []Tenant{{Name: "a", Token: token}},
		Tools: func(context.Context, sandbox.Sandbox) (Toolbox, error) { return quiet{}, nil }}
	s, err := NewServer(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	do := func(method, path string, body []byte) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, bytes.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	box := "/v1/sandboxes/" + newID()
	if w := do("PUT", box, []byte("{}")); w.Code != http.StatusOK {
		f.Fatal(w.Body)
	}
	f.Fuzz(func(t *testing.T, body []byte, from string) {
		id := newID()
		for _, path := range []string{"/calls/", "/checkpoints/"} {
			w := do("PUT", box+path+id+"?from="+httpEscape(from), body)
			if w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusUnprocessableEntity {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		do("POST", box+"/prepare", body)
		do("POST", "/v1/calls/"+id+"/answers/0", body)
		do("DELETE", "/v1/calls/"+id, nil)
	})
}

func httpEscape(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789-", r) {
			return r
		}
		return -1
	}, s)
}
