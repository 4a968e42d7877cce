package remote

import (
	"context"
	"encoding/json"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/luthier-dev/luthier/sandbox"
)

// direct calls a toolbox without a server.
type direct struct{ Toolbox }

func (d direct) Call(ctx context.Context, q ToolRequest, _ ToolHandlers) (json.RawMessage, error) {
	return d.Toolbox.Call(ctx, q, discard{})
}

// discard drops what a call sends.
type discard struct{ ToolOutput }

func (discard) Progress(string)               {}
func (discard) Output(sandbox.Stream, []byte) {}

// BenchmarkToolCall measures what forwarding adds to a call, over HTTP on loopback and over a pipe.
func BenchmarkToolCall(b *testing.B) {
	type caller interface {
		Call(context.Context, ToolRequest, ToolHandlers) (json.RawMessage, error)
	}
	s, err := NewServer(Config{Dir: b.TempDir(), Sandbox: plain(), Tools: openFileTools, Tenants: []Tenant{{Name: "a", Token: token}}})
	if err != nil {
		b.Fatal(err)
	}
	h := httptest.NewServer(s)
	sb, err := Open(b.Context(), Options{URL: h.URL, Token: token})
	if err != nil {
		b.Fatal(err)
	}
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- ServePipe(b.Context(), far, PipeConfig{Dir: b.TempDir(), Sandbox: plain(), Tools: openFileTools})
	}()
	piped, err := DialPipe(b.Context(), near)
	if err != nil {
		b.Fatal(err)
	}
	var box Toolbox
	for _, one := range s.boxes {
		if _, err := sb.Tools().Specs(b.Context()); err != nil { // opens them
			b.Fatal(err)
		}
		box = one.tools.box
	}
	for _, call := range []struct {
		name string
		q    ToolRequest
	}{
		{"read", request("read", fileArgs{Path: "none"})},
		{"100 KB", request("result", fileArgs{N: 100_000})},
		{"command", request("run", fileArgs{Script: "true"})},
		{"10 ms", request("run", fileArgs{Script: "sleep 0.01"})},
	} {
		for _, way := range []struct {
			name string
			c    caller
		}{{"direct", direct{box}}, {"http", sb.Tools()}, {"pipe", piped.Tools()}} {
			b.Run(call.name+"/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := way.c.Call(b.Context(), call.q, ToolHandlers{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	_, _ = sb.Close(), piped.Close()
	<-served
	h.Close()
	_ = s.Close()
}
