package fleet

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/luthier-dev/luthier/sandbox"
)

// FuzzMessages checks that all readers of network input never panic, and that messages that they
// accept can be written and read again.
func FuzzMessages(f *testing.F) {
	add := func(b []byte, err error) {
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add(EncodeJob(&Job{ID: "j", Class: "c", Tenant: "t", Snapshot: "s", Command: Command{Args: []string{"a", "b"}, Env: []string{"A=b"}, Stdin: []byte("x"), Timeout: 1}}))
	add(EncodeResult(&Result{Job: "j", Host: "h", Attempt: 1, Exit: &sandbox.Exit{Code: 1, Stdout: sandbox.Output{Head: []byte("x"), Tail: []byte("y"), Total: 9}, Isolation: sandbox.Isolation{Tier: sandbox.TierNone}}}))
	add(EncodeResult(&Result{Job: "j", Host: "h", Failure: "f"}))
	add(encode(HostStatus{ID: "h", Classes: []string{"c"}, Places: 1}))
	add(encode(wireLease{Host: "h", Owner: "o", Nonce: "n", Epoch: 1, TTL: 1e9}))
	add(encode(&hostRequest{Op: opExec, Key: "k", Epoch: 1, Number: 1, Command: &Command{Args: []string{"a"}}, Hold: 1e12}))
	add(encode(&hostRequest{Op: opOpen, Key: "k", Epoch: 1, Spec: Spec{Class: "c"}}))
	add(encode(&hostRequest{Op: opTool, Key: "k", Epoch: 1, Number: 1, Tool: &toolRequest{Method: "GET", Path: "/x?y", Header: map[string]string{"Range": "bytes=1-"}, Body: []byte("b")}}))
	add(encode(&hostAnswer{Code: codeStale, Text: "t"}))
	add(encode(&hostAnswer{Tool: &toolAnswer{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: []byte("{}"), Cut: true}}))
	for _, s := range []string{"", "{}", `{"v":1}`, `{"v":2,"b":{}}`, `{"v":1,"b":null}`, `{"v":1,"b":{"Exit":{"Isolation":{"tier":"x"}}}}`, `{"v":1,"b":{"ID":"\u0000","Command":{"Args":[""]}}}`, `[[[[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if j, err := DecodeJob(b); err == nil {
			out, err := EncodeJob(j)
			if err != nil {
				t.Fatalf("accepted job %+v is not written: %v", j, err)
			}
			if _, err := DecodeJob(out); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := DecodeResult(b); err == nil {
			if r.Exit != nil && (r.Exit.Stdout.Omitted() < 0 || r.Exit.Stderr.Omitted() < 0) {
				t.Fatalf("negative omission: %+v", r.Exit)
			}
			if _, err := EncodeResult(r); err != nil {
				t.Fatalf("accepted result %+v is not written: %v", r, err)
			}
		}
		if s, err := DecodeHost(b); err == nil && (s.Load() < 0 || s.ID == "") {
			t.Fatalf("host %+v", s)
		}
		if l, err := decodeLease("k", b, 7); err == nil && (l.Epoch == 0 || l.Epoch > 7 || l.TTL <= 0) {
			t.Fatalf("lease %+v", l)
		}
		if r, err := decodeRequest(b); err == nil && (r.Epoch == 0 || r.Hold > maxHold || r.Hold < 0 || r.Op == opExec && r.Command == nil) {
			t.Fatalf("request %+v", r)
		} else if err == nil && r.Op == opTool {
			if a, err := r.Tool.serve(t.Context(), http.NotFoundHandler()); err == nil && a.Status != http.StatusNotFound {
				t.Fatalf("answer %+v", a)
			}
		}
		if a, err := decodeAnswer(b); err == nil {
			_ = a.err()
			_ = a.Exit.exit()
			if a.Tool != nil {
				if resp, err := a.Tool.response(&http.Request{}); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
				}
			}
		}
	})
}

// TestWireForm checks that the names on the wire stay fixed: each version must be able to read what
// the previous version wrote.
func TestWireForm(t *testing.T) {
	b, err := EncodeResult(&Result{Job: "j", Host: "h", Run: "r1", Attempt: 2, Exit: &sandbox.Exit{Code: 1, Stdout: sandbox.Output{Head: []byte("x"), Total: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"v":1,"b":{"Job":"j","Host":"h","Run":"r1","Attempt":2,"Exit":{"Code":1,"Signal":0,"TimedOut":false,"Canceled":false,"Stdout":{"Head":"eA==","Tail":null,"Total":1},"Stderr":{"Head":null,"Tail":null,"Total":0},"Wall":0,"User":0,"System":0,"MaxRSS":0,"Isolation":null},"Failure":""}}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	if !json.Valid(b) {
		t.Error("not JSON")
	}
}
