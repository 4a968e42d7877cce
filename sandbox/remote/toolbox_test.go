package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/luthier-dev/luthier/sandbox"
)

// fileTools is a toolbox over the files of a real sandbox.
type fileTools struct {
	sb     sandbox.Sandbox
	tree   *sandbox.Tree
	closed atomic.Int32
	notes  []string // labels of checkpoints
}

func openFileTools(ctx context.Context, sb sandbox.Sandbox) (Toolbox, error) {
	t, ok := sandbox.As[sandbox.Treer](sb)
	if !ok {
		return nil, errors.New("no tree")
	}
	tree, err := t.Tree(ctx)
	return &fileTools{sb: sb, tree: tree}, err
}

type fileArgs struct {
	Path, Text, Script string
	N                  int
}

func (b *fileTools) Specs(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`["read","append","run","ask","store","wait","fail","panic"]`), nil
}

func (b *fileTools) Close() error {
	b.closed.Add(1)
	return b.tree.Close()
}

func (b *fileTools) read(ctx context.Context, path string) (string, error) {
	var out string
	err := b.tree.View(ctx, func(root *os.Root) error {
		data, err := root.ReadFile(path)
		out = string(data)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return out, err
}

// Prepare describes which file a call would change, through links, and how.
func (b *fileTools) Prepare(ctx context.Context, q ToolRequest) (Prepared, error) {
	var a fileArgs
	if err := json.Unmarshal(q.Args, &a); err != nil {
		return Prepared{}, err
	}
	if a.Path == "refused" {
		return Prepared{}, errors.New("this path is refused")
	}
	target := a.Path
	err := b.tree.View(ctx, func(root *os.Root) error {
		if link, err := root.Readlink(a.Path); err == nil {
			target = link
		}
		return nil
	})
	if err != nil {
		return Prepared{}, err
	}
	old, err := b.read(ctx, a.Path)
	effects, _ := json.Marshal(map[string]any{"writes": target})
	about, _ := json.Marshal("-" + old + "+" + old + a.Text)
	return Prepared{Effects: effects, Description: about}, err
}

func (b *fileTools) Call(ctx context.Context, q ToolRequest, out ToolOutput) (json.RawMessage, error) {
	var a fileArgs
	if err := json.Unmarshal(q.Args, &a); err != nil {
		return nil, err
	}
	switch q.Name {
	case "read":
		s, err := b.read(ctx, a.Path)
		return marshal(s, err)
	case "append":
		out.Progress("appending\n")
		s := ""
		err := b.tree.Change(ctx, func(root *os.Root) error {
			f, err := root.OpenFile(a.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			_, err = f.WriteString(a.Text)
			return errors.Join(err, f.Close())
		})
		if err == nil {
			s, err = b.read(ctx, a.Path)
		}
		return marshal(s, err)
	case "run":
		exit, err := b.sb.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", a.Script}, OnOutput: out.Output})
		if err != nil {
			return nil, err
		}
		return marshal(exit.Code, nil)
	case "ask":
		var answers []string
		for i := range max(a.N, 1) {
			out.Progress(fmt.Sprintf("question %d", i))
			question, _ := json.Marshal(fmt.Sprint(a.Text, i))
			answer, err := out.Ask(ctx, question)
			if err != nil {
				return nil, err
			}
			answers = append(answers, string(answer))
		}
		return marshal(strings.Join(answers, " "), nil)
	case "store":
		hash, err := out.Artifact("long", []byte(strings.Repeat("line\n", a.N)))
		return marshal(hash, err)
	case "result":
		return marshal(strings.Repeat("x", a.N), nil)
	case "wait":
		out.Progress("waiting")
		<-ctx.Done()
		return nil, fmt.Errorf("stopped: %w", context.Cause(ctx))
	case "panic":
		panic("of the tool")
	}
	return nil, fmt.Errorf("there is no tool %q; use one of the list", q.Name)
}

func marshal(v any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// Snapshot keeps only labels: what is tested is how often it is done.
func (b *fileTools) Snapshot(_ context.Context, label string) (string, error) {
	b.notes = append(b.notes, label)
	return fmt.Sprintf("c%d", len(b.notes)), nil
}

func (b *fileTools) Restore(_ context.Context, id string) (string, error) {
	if id == "none" {
		return "", errors.New("there is no such checkpoint")
	}
	return "undo of " + id, nil
}

func (b *fileTools) Undo(context.Context) (string, error) { return "back", nil }
func (b *fileTools) Redo(context.Context) (string, error) { return "forward", nil }
func (b *fileTools) Checkpoints(context.Context) (json.RawMessage, error) {
	return json.Marshal(b.notes)
}

func (b *fileTools) Instructions(_ context.Context, dir string) (json.RawMessage, error) {
	return json.Marshal([]string{dir})
}

// withTools adds the toolbox to a server's configuration.
func withTools(c *Config) { c.Tools, c.Tenants[0].Quota.Sandboxes = openFileTools, -1 }

func request(name string, a fileArgs) ToolRequest {
	args, _ := json.Marshal(a)
	return ToolRequest{Name: name, Args: args}
}

// mustCall calls a tool and decodes its result.
func mustCall[T any](t *testing.T, tools *Tools, q ToolRequest, h ToolHandlers) (v T) {
	t.Helper()
	raw, err := tools.Call(t.Context(), q, h)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", q.Name, q.Args, err)
	}
	return v
}

// TestTools checks that tools work on a server's workspace, and that their output, results and
// errors arrive as they were.
//
// Evidence: remote · Tool calls run next to the sandbox, with progress, questions and long texts
func TestTools(t *testing.T) {
	for _, tier := range []sandbox.Tier{sandbox.TierNamespaces, sandbox.TierNone} {
		t.Run(tier.String(), func(t *testing.T) { checkTools(t, granted(t, tier)) })
	}
}

func checkTools(t *testing.T, cfg sandbox.Config) {
	s, url := newTestServer(t, func(c *Config) { withTools(c); c.Sandbox = cfg })
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	tools := sb.Tools()
	specs, err := tools.Specs(t.Context())
	if err != nil || !strings.Contains(string(specs.Tools), `"read"`) || !specs.Prepares || !specs.Checkpoints || !specs.Undoes || !specs.Instructs {
		t.Fatalf("%+v, %v", specs, err)
	}
	if again, err := tools.Specs(t.Context()); err != nil || again.Hash != specs.Hash || !bytes.Equal(again.Tools, specs.Tools) {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	progress := ""
	got := mustCall[string](t, tools, request("append", fileArgs{Path: "a.txt", Text: "more\n"}), ToolHandlers{Progress: func(s string) { progress += s }})
	if got != "text a\nmore\n" || progress != "appending\n" {
		t.Errorf("%q, %q", got, progress)
	}
	var out, errs bytes.Buffer
	code := mustCall[int](t, tools, request("run", fileArgs{Script: "cat a.txt; echo e >&2; exit 3"}), ToolHandlers{Output: func(s sandbox.Stream, b []byte) {
		if s == sandbox.Stderr {
			errs.Write(b)
			return
		}
		out.Write(b)
	}})
	if code != 3 || out.String() != "text a\nmore\n" || errs.String() != "e\n" {
		t.Errorf("%d %q %q", code, out.String(), errs.String())
	}
	answers := mustCall[string](t, tools, request("ask", fileArgs{Text: "which", N: 2}), ToolHandlers{Ask: func(_ context.Context, q json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(strings.ToUpper(string(q))), nil
	}})
	if answers != `"WHICH0" "WHICH1"` {
		t.Errorf("answers %s", answers)
	}
	var text bytes.Buffer
	hash := mustCall[string](t, tools, request("store", fileArgs{N: 50_000}), ToolHandlers{Artifact: func(ctx context.Context, a *Artifact) error {
		if a.Name != "long" || a.Size != 250_000 {
			t.Errorf("%+v", a)
		}
		return a.Fetch(ctx, &text)
	}})
	if text.String() != strings.Repeat("line\n", 50_000) || !validHash(hash) {
		t.Errorf("artifact of %d bytes, %s", text.Len(), hash)
	}
	if got := mustCall[string](t, tools, request("result", fileArgs{N: 3 << 20}), ToolHandlers{}); len(got) != 3<<20 {
		t.Errorf("result of %d bytes", len(got))
	}
	_, err = tools.Call(t.Context(), request("no", fileArgs{}), ToolHandlers{})
	var own *ToolError
	if !errors.As(err, &own) || err.Error() != `there is no tool "no"; use one of the list` {
		t.Errorf("%v", err)
	}
	_, err = tools.Call(t.Context(), request("panic", fileArgs{}), ToolHandlers{})
	if !errors.As(err, &own) || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("%v", err)
	}
	_, err = tools.Call(t.Context(), request("ask", fileArgs{}), ToolHandlers{})
	if !errors.As(err, &own) || !strings.Contains(err.Error(), "nobody answers") {
		t.Errorf("%v", err)
	}
	_, err = tools.Call(t.Context(), request("result", fileArgs{N: maxResult}), ToolHandlers{})
	if !errors.Is(err, ErrLost) {
		t.Errorf("too large a result: %v", err)
	}
	box := soleToolbox(t, s)
	if err := sb.Close(); err != nil || box.closed.Load() != 1 {
		t.Errorf("closed %d times, %v", box.closed.Load(), err)
	}
	_, err = tools.Call(t.Context(), request("read", fileArgs{Path: "a.txt"}), ToolHandlers{})
	if !errors.Is(err, sandbox.ErrClosed) || errors.Is(err, ErrLost) {
		t.Errorf("after Close: %v", err)
	}
	if _, err = tools.Specs(t.Context()); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// soleToolbox returns the toolbox of a server's only sandbox.
func soleToolbox(t *testing.T, s *Server) *fileTools {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boxes {
		return b.tools.box.(*fileTools)
	}
	t.Fatal("no sandbox is open")
	return nil
}

// TestNoTools checks that a server without tools says so, and that its sandboxes work.
func TestNoTools(t *testing.T) {
	_, url := newTestServer(t, nil)
	sb := openAt(t, Options{URL: url})
	_, err := sb.Tools().Call(t.Context(), request("read", fileArgs{}), ToolHandlers{})
	_, specErr := sb.Tools().Specs(t.Context())
	_, prepErr := sb.Tools().Prepare(t.Context(), request("read", fileArgs{}))
	_, snapErr := sb.Tools().Snapshot(t.Context(), "x")
	for what, err := range map[string]error{"call": err, "specs": specErr, "prepare": prepErr, "snapshot": snapErr} {
		if !errors.Is(err, ErrNoTools) || errors.Is(err, ErrLost) || !strings.HasPrefix(err.Error(), "sandbox: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if e := sh(t, sb, "echo hi"); e.Stdout.String() != "hi\n" {
		t.Error(e)
	}
}

var _ io.Closer = Toolbox(nil)
