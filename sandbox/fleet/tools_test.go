package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// boxTools is a toolbox over the directory of a box.
type boxTools struct {
	box fleet.Box
	dir string
}

func openTools(_ context.Context, box fleet.Box) (remote.Toolbox, error) {
	return &boxTools{box, box.(sandbox.Sandbox).Dir()}, nil
}

func (b *boxTools) Specs(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`["append"]`), nil
}
func (b *boxTools) Close() error { return nil }

type toolArgs struct {
	Text string
	N    int
}

func (b *boxTools) Prepare(_ context.Context, q remote.ToolRequest) (remote.Prepared, error) {
	var a toolArgs
	if err := json.Unmarshal(q.Args, &a); err != nil {
		return remote.Prepared{}, err
	}
	old, _ := os.ReadFile(filepath.Join(b.dir, "log"))
	about, err := json.Marshal(string(old) + a.Text)
	return remote.Prepared{Description: about}, err
}

func (b *boxTools) Call(ctx context.Context, q remote.ToolRequest, out remote.ToolOutput) (json.RawMessage, error) {
	var a toolArgs
	if err := json.Unmarshal(q.Args, &a); err != nil {
		return nil, err
	}
	switch q.Name {
	case "append":
		out.Progress("appending")
		exit, err := b.box.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", `printf '%s\n' "$0" >> log; wc -l < log`, a.Text}})
		if err != nil {
			return nil, err
		}
		return json.Marshal(strings.TrimSpace(exit.Stdout.String()))
	case "ask":
		return out.Ask(ctx, json.RawMessage(`"well?"`))
	case "store":
		hash, err := out.Artifact("a", bytes.Repeat([]byte("0123456789"), a.N/10))
		if err != nil {
			return nil, err
		}
		return json.Marshal(hash)
	case "result":
		return json.Marshal(strings.Repeat("x", a.N))
	case "sleep":
		out.Progress("begun")
		select {
		case <-time.After(time.Duration(a.N) * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return json.RawMessage(`"slept"`), nil
	}
	return nil, errors.New("no such tool")
}

func toolCall(t *testing.T, tools *remote.Tools, name string, a toolArgs, h remote.ToolHandlers) (string, error) {
	t.Helper()
	args, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	v, err := tools.Call(t.Context(), remote.ToolRequest{Name: name, Args: args}, h)
	var s string
	if err == nil {
		err = json.Unmarshal(v, &s)
	}
	return s, err
}

// TestSessionTools checks that whole tool calls reach a leased box, with everything that they send.
//
// Evidence: remote · A lease in the fleet runs whole tool calls next to its box
func TestSessionTools(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		host(t, fleet.HostConfig{ID: "h1", Engine: e, Backend: boxes(t), Tools: openTools})
		present(t, e, 1)
		s := openSession(t, e, fleet.Request{})
		tools := s.Tools()
		if specs, err := tools.Specs(t.Context()); err != nil || string(specs.Tools) != `["append"]` || !specs.Prepares || specs.Checkpoints {
			t.Errorf("%+v, %v", specs, err)
		}
		progress := ""
		if got, err := toolCall(t, tools, "append", toolArgs{Text: "one"}, remote.ToolHandlers{Progress: func(s string) { progress += s }}); err != nil || got != "1" || progress != "appending" {
			t.Errorf("%q %q, %v", got, progress, err)
		}
		if exit, err := s.Exec(t.Context(), sh("cat log")); err != nil || exit.Stdout.String() != "one\n" {
			t.Errorf("a command sees %+v, %v", exit, err)
		}
		got, err := toolCall(t, tools, "ask", toolArgs{}, remote.ToolHandlers{Ask: func(_ context.Context, q json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(strings.ToUpper(string(q))), nil
		}})
		if err != nil || got != "WELL?" {
			t.Errorf("%q, %v", got, err)
		}
		var text bytes.Buffer
		if _, err := toolCall(t, tools, "store", toolArgs{N: 2_000_000}, remote.ToolHandlers{Artifact: func(ctx context.Context, a *remote.Artifact) error { return a.Fetch(ctx, &text) }}); err != nil || text.Len() != 2_000_000 {
			t.Errorf("%d bytes, %v", text.Len(), err)
		}
		if got, err := toolCall(t, tools, "result", toolArgs{N: 3_000_000}, remote.ToolHandlers{}); err != nil || len(got) != 3_000_000 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		began, first := time.Now(), time.Duration(0)
		if got, err := toolCall(t, tools, "sleep", toolArgs{N: 2500}, remote.ToolHandlers{Progress: func(string) { first = time.Since(began) }}); err != nil || got != "slept" || first > time.Since(began)-time.Second {
			t.Errorf("%q, %v, progress after %v", got, err, first)
		}
		_, err = toolCall(t, tools, "no", toolArgs{}, remote.ToolHandlers{})
		var own *remote.ToolError
		if !errors.As(err, &own) || err.Error() != "no such tool" {
			t.Errorf("%v", err)
		}
		q := remote.ToolRequest{Name: "append", Args: json.RawMessage(`{"Text":"two"}`)}
		p, err := tools.Prepare(t.Context(), q)
		if err != nil || string(p.Description) != `"one\ntwo"` {
			t.Fatalf("%+v, %v", p, err)
		}
		if _, err := s.Exec(t.Context(), sh("echo other >> log")); err != nil {
			t.Fatal(err)
		}
		q.Digest = p.Digest
		if _, err := tools.Call(t.Context(), q, remote.ToolHandlers{}); !errors.Is(err, remote.ErrChanged) || errors.Is(err, remote.ErrLost) {
			t.Errorf("%v", err)
		}
		if _, err := toolCall(t, tools, "append", toolArgs{Text: strings.Repeat("x", 700<<10)}, remote.ToolHandlers{}); !errors.Is(err, fleet.ErrTooLarge) || errors.Is(err, remote.ErrLost) {
			t.Errorf("large arguments: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := toolCall(t, tools, "append", toolArgs{}, remote.ToolHandlers{}); !errors.Is(err, sandbox.ErrClosed) || errors.Is(err, remote.ErrLost) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestNoSessionTools checks that a host without tools says so.
func TestNoSessionTools(t *testing.T) {
	e := fleet.NewLocal(fleet.LocalConfig{})
	t.Cleanup(func() { e.Close() })
	host(t, fleet.HostConfig{ID: "h1", Engine: e, Backend: boxes(t)})
	present(t, e, 1)
	s := openSession(t, e, fleet.Request{})
	if _, err := toolCall(t, s.Tools(), "append", toolArgs{}, remote.ToolHandlers{}); !errors.Is(err, remote.ErrNoTools) || errors.Is(err, remote.ErrLost) {
		t.Errorf("%v", err)
	}
}

// TestLostToolAnswers checks that calls run once although requests and answers are lost.
func TestLostToolAnswers(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		host(t, fleet.HostConfig{ID: "h1", Engine: newFlaky(e, 1), Backend: boxes(t), Tools: openTools})
		present(t, e, 1)
		s := openSession(t, newFlaky(e, 2), fleet.Request{})
		for i := range 40 {
			if got, err := toolCall(t, s.Tools(), "append", toolArgs{Text: "x"}, remote.ToolHandlers{}); err != nil || got != fmt.Sprint(i+1) {
				t.Fatalf("call %d: %q, %v", i, got, err)
			}
		}
	})
}

// TestExpiredLeaseMidCall checks that a call ends with its lease, and that its outcome is unknown.
func TestExpiredLeaseMidCall(t *testing.T) {
	engines(t, func(t *testing.T, e fleet.Engine) {
		h, _ := host(t, fleet.HostConfig{ID: "h1", Engine: e, Backend: boxes(t), Tools: openTools})
		present(t, e, 1)
		s := openSession(t, stall{e}, fleet.Request{Key: "k", TTL: time.Second})
		_, err := toolCall(t, s.Tools(), "sleep", toolArgs{N: 1_000_000}, remote.ToolHandlers{})
		if !errors.Is(err, remote.ErrLost) || !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("%v", err)
		}
		eventually(t, "the host ended the sandbox", func() bool { return h.Status().Leased == 0 })
		<-s.Lost()
		if _, err := toolCall(t, s.Tools(), "append", toolArgs{}, remote.ToolHandlers{}); !errors.Is(err, sandbox.ErrClosed) || errors.Is(err, remote.ErrLost) {
			t.Errorf("after that: %v", err)
		}
	})
}
