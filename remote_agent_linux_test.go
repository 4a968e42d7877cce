package luthier_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding"
)

// farSession makes an agent over a workspace, and runs the turns of its model in one run.
func farSession(t *testing.T, w luthier.Workspace, opts luthier.Options, turns ...agenttest.Turn) (*luthier.Coder, *agent.Session) {
	t.Helper()
	opts.Workspace, opts.Model = w, agenttest.Script(append(turns, agenttest.Text("done"))...)
	if opts.StateDir == "" {
		opts.StateDir = t.TempDir()
	}
	c, err := luthier.New(t.Context(), "", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := c.Run(t.Context(), s, agent.Text{Text: "Do it."}).Collect(); err != nil {
		t.Fatal(err)
	}
	return c, s
}

// inBox runs a script in the sandbox of a workspace.
func inBox(t *testing.T, w luthier.Workspace, script string) string {
	t.Helper()
	exit, err := w.Sandbox().Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", script}})
	if err != nil || !exit.Success() {
		t.Fatal(exit, err)
	}
	return exit.Stdout.String()
}

// asker answers permission questions and remembers them.
type asker struct {
	asked  []*agent.PermissionRequest
	before func() // called before the answer
	no     bool
}

func (a *asker) ask(_ context.Context, req *agent.PermissionRequest, _ agent.Verdict) agent.Answer {
	a.asked = append(a.asked, req)
	if a.before != nil {
		a.before()
	}
	return agent.Answer{Allow: !a.no}
}

// TestRemoteAsks: over a workspace on another machine a person is asked about exactly what would be
// asked about here, with the diff and the place, and what was approved is what runs: if a link was
// exchanged between the question and the act, nothing runs.
//
// Evidence: luthier · On another machine a call runs as it was approved, or not at all
func TestRemoteAsks(t *testing.T) {
	tier.Normal(t)
	open := farServer(t, luthier.ToolboxOptions{NoIndex: true})
	dir := committed(t)
	for name, text := range map[string]string{".env": "KEY=secret\n", "b.txt": "one\n", "c.txt": "two\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("a secret is asked about once", func(t *testing.T) {
		w, a := openWorkspace(t, open(dir)), &asker{}
		_, s := farSession(t, w, luthier.Options{Autonomy: agent.AutonomyEdit, Ask: a.ask},
			call("1", "read", map[string]any{"path": "a.go"}), call("2", "read", map[string]any{"path": ".env"}))
		got := results(s)
		if len(a.asked) != 1 || a.asked[0].Effects.Flags != agent.EffectSecret || len(got) != 2 || !strings.Contains(got[1], "KEY=secret") {
			t.Errorf("asked %v, results %q", a.asked, got)
		}
	})
	t.Run("a link to a secret", func(t *testing.T) {
		w, a := openWorkspace(t, open(dir)), &asker{no: true}
		inBox(t, w, "ln -s .env notes.txt")
		_, s := farSession(t, w, luthier.Options{Autonomy: agent.AutonomyEdit, Ask: a.ask}, call("1", "read", map[string]any{"path": "notes.txt"}))
		if got := results(s); len(a.asked) != 1 || len(got) != 1 || strings.Contains(got[0], "secret\n") {
			t.Errorf("asked %v, results %q", a.asked, got)
		}
	})
	t.Run("nobody to ask", func(t *testing.T) {
		w := openWorkspace(t, open(dir))
		_, s := farSession(t, w, luthier.Options{Autonomy: agent.AutonomySandboxed}, call("1", "read", map[string]any{"path": ".env"}))
		if got := results(s); strings.Contains(got[0], "KEY") || !strings.Contains(got[0], "nobody to ask") {
			t.Errorf("results %q", got)
		}
	})
	t.Run("the diff and the place", func(t *testing.T) {
		w, a := openWorkspace(t, open(dir)), &asker{}
		_, s := farSession(t, w, luthier.Options{Ask: a.ask},
			call("1", "write", map[string]any{"path": "new.txt", "content": "new\n"}), call("2", "shell", map[string]any{"command": "cat new.txt"}))
		if len(a.asked) != 1 || !strings.Contains(a.asked[0].Description.Detail, "+new") || !strings.Contains(a.asked[0].Description.Where, "http://127.0.0.1") {
			t.Errorf("asked %+v", a.asked)
		}
		if got := results(s); !strings.Contains(got[1], "new") {
			t.Errorf("results %q", got)
		}
	})
	for name, change := range map[string]string{"link": "ln -sf c.txt b.txt", "content": "echo other >b.txt"} {
		t.Run("exchanged: "+name, func(t *testing.T) {
			w := openWorkspace(t, open(dir))
			a := &asker{}
			a.before = func() { inBox(t, w, change) }
			_, s := farSession(t, w, luthier.Options{Ask: a.ask},
				call("1", "read", map[string]any{"path": "b.txt"}), call("2", "edit", map[string]any{"path": "b.txt", "old": "one", "new": "1"}))
			if got := results(s); len(a.asked) != 1 || !strings.Contains(got[1], "has changed since it was approved") {
				t.Errorf("asked %v, results %q", a.asked, got)
			}
			if got := inBox(t, w, "cat c.txt"); got != "two\n" {
				t.Errorf("the other file has %q", got)
			}
		})
	}
	t.Run("a policy of the host", func(t *testing.T) {
		w := openWorkspace(t, open(dir))
		policy := agent.Rules{{Name: "no b", Match: func(req *agent.PermissionRequest) bool { return slices.Contains(req.Effects.Writes, "b.txt") }},
			{Name: "rest", Decision: agent.Allow}}
		_, s := farSession(t, w, luthier.Options{Policy: policy},
			call("1", "write", map[string]any{"path": "d.txt", "content": "d\n"}),
			call("2", "read", map[string]any{"path": "b.txt"}), call("3", "edit", map[string]any{"path": "b.txt", "old": "one", "new": "1"}))
		if got := results(s); strings.Contains(got[0], "Not permitted") || !strings.Contains(got[2], "Not permitted (no b)") {
			t.Errorf("results %q", got)
		}
	})
}

// TestRemoteParts: instructions of folders, long outputs, images, questions, notes, plans and undo
// work over a workspace on another machine as they do here.
func TestRemoteParts(t *testing.T) {
	tier.Normal(t)
	dir := committed(t)
	var pic bytes.Buffer
	if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"sub/AGENTS.md": "Sub rules.\n", "sub/x.txt": "x\n", "p.png": pic.String()} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var far coding.QuestionFunc
	confirm, err := tools.New("confirm", "Asks.", func(ctx context.Context, in struct{ Text string }) (string, error) {
		return far(ctx, coding.Question{Text: in.Text, Options: []string{"yes", "no"}})
	}, tools.WithEffects(agent.ReadOnly()))
	if err != nil {
		t.Fatal(err)
	}
	open := farServer(t, luthier.ToolboxOptions{NoIndex: true, Tools: []agent.Tool{confirm}, Customize: func(cfg *coding.Config) { far = cfg.Ask }})
	w := openWorkspace(t, open(dir))
	var asked []coding.Question
	c, s := farSession(t, w, luthier.Options{Autonomy: agent.AutonomySandboxed, Question: func(_ context.Context, q coding.Question) (string, error) {
		asked = append(asked, q)
		return "answer to " + q.Text, nil
	}},
		call("1", "read", map[string]any{"path": "sub/x.txt"}),
		call("2", "read", map[string]any{"path": "sub/x.txt"}),
		call("3", "read", map[string]any{"path": "p.png"}),
		call("4", "confirm", map[string]any{"Text": "far?"}),
		call("5", "ask_user", map[string]any{"question": "near?"}),
		call("6", "plan", map[string]any{"plan": "Do it."}),
		call("7", "todo", map[string]any{"todos": []map[string]string{{"text": "a", "status": "pending"}}}),
		call("8", "shell", map[string]any{"command": "seq 1 20000; echo made >made.txt"}),
		agenttest.Text("go on"))
	got := results(s)
	for i, want := range []string{"Sub rules.", "", "", "answer to far?", "answer to near?", "recorded", "a", "artifact-"} {
		if i >= len(got) || !strings.Contains(got[i], want) {
			t.Fatalf("result %d of %.2000q, want %q", i+1, got, want)
		}
	}
	if strings.Contains(got[1], "Sub rules.") {
		t.Error("the instructions are shown twice")
	}
	if !slices.ContainsFunc(s.Messages(), func(m agent.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p agent.Part) bool {
			r, ok := p.(agent.ToolResult)
			return ok && slices.ContainsFunc(r.Parts, func(p agent.Part) bool { _, ok := p.(agent.Image); return ok })
		})
	}) {
		t.Error("no image arrived")
	}
	if len(asked) != 2 || len(asked[0].Options) != 2 || s.Plan() != "Do it." || len(s.Todos()) != 1 {
		t.Errorf("asked %v, plan %q, todos %v", asked, s.Plan(), s.Todos())
	}
	handle := got[7][strings.Index(got[7], "artifact-"):]
	handle = handle[:len("artifact-")+24]
	kept, _ := filepath.Glob(filepath.Join(filepath.Dir(c.SessionDir()), "artifacts", handle))
	if len(kept) != 1 {
		t.Fatalf("%s was not fetched", handle)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || !strings.Contains(string(text), "\n12345\n") {
		t.Errorf("the artifact has %d bytes, %v", len(text), err)
	}
	if ref, err := c.Undo(t.Context(), s); err != nil || inBox(t, w, "ls") != "AGENTS.md\na.go\na_test.go\ngo.mod\np.png\nsub\n" {
		t.Errorf("undo: %v, %v, %s", ref, err, inBox(t, w, "ls"))
	}
	if _, err := c.Redo(t.Context(), s); err != nil || inBox(t, w, "cat made.txt") != "made\n" {
		t.Errorf("redo: %v", err)
	}
	if _, _, err := c.Resume(s.ID()); err == nil {
		t.Error("an open session was opened twice")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, _, err := c.Resume(s.ID())
	if err != nil {
		t.Fatalf("resume while the sandbox is open: %v", err)
	}
	again.Close()
	other := openWorkspace(t, open(dir))
	c2, err := luthier.New(t.Context(), "", luthier.Options{Workspace: other, Model: agenttest.Script(), StateDir: filepath.Dir(filepath.Dir(c.SessionDir()))})
	if err != nil {
		t.Fatal(err)
	}
	defer c2.Close()
	if _, _, err := c2.Resume(s.ID()); err == nil || !strings.Contains(err.Error(), "can only go on while that is open") {
		t.Errorf("resumed in another sandbox: %v", err)
	}
	if _, err := luthier.SourceOf(again.Meta()); err == nil || !strings.Contains(err.Error(), "on another machine, at http://") {
		t.Errorf("source of the session: %v", err)
	}
}

// counting counts the requests of a client, and cuts it off.
type counting struct {
	of  http.RoundTripper
	n   atomic.Int64
	cut atomic.Bool
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.cut.Load() {
		return nil, errors.New("cut")
	}
	if r.Method != "DELETE" && !strings.HasSuffix(r.URL.Path, "/renew") && !strings.HasSuffix(r.URL.Path, "/lease") {
		c.n.Add(1)
	}
	return c.of.RoundTrip(r)
}

// TestRemoteRoundTrips: a call takes one round trip if the policy allows what its tool can do, and
// two if its effects must be known first.
//
// Evidence: luthier · On another machine a call takes one round trip, and two if it is asked about
func TestRemoteRoundTrips(t *testing.T) {
	tier.Normal(t)
	dir := committed(t)
	for _, c := range []struct {
		name     string
		turn     agenttest.Turn
		autonomy agent.Autonomy
		want     int64
	}{
		{"read", call("1", "read", map[string]any{"path": "a.go"}), agent.AutonomyAsk, 1},
		{"grep", call("1", "grep", map[string]any{"pattern": "Two"}), agent.AutonomyAsk, 1},
		{"git", call("1", "git", map[string]any{"op": "status"}), agent.AutonomyAsk, 1},
		{"write, allowed", call("1", "write", map[string]any{"path": "n.txt", "content": "n\n"}), agent.AutonomyEdit, 2}, // and a checkpoint
		{"write, asked", call("1", "write", map[string]any{"path": "n.txt", "content": "n\n"}), agent.AutonomyAsk, 3},
		{"shell that reads", call("1", "shell", map[string]any{"command": "cat a.go"}), agent.AutonomyAsk, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			count := &counting{of: http.DefaultTransport}
			box, err := remote.Open(t.Context(), remote.Options{URL: farWeb(t, luthier.ToolboxOptions{NoIndex: true}).URL, Token: farToken, Dir: dir, HTTP: &http.Client{Transport: count}})
			if err != nil {
				t.Fatal(err)
			}
			defer box.Close()
			w := openWorkspace(t, luthier.Box(box))
			var before int64
			opts := luthier.Options{Autonomy: c.autonomy, Ask: (&asker{}).ask, Middleware: []agent.Middleware{func(next agent.Handler) agent.Handler {
				return func(ctx context.Context, op *agent.Op) error {
					if op.Call != nil && before == 0 {
						before = count.n.Load()
					}
					return next(ctx, op)
				}
			}}}
			_, s := farSession(t, w, opts, c.turn)
			if got := count.n.Load() - before; got != c.want || len(results(s)) != 1 {
				t.Errorf("%d requests, want %d; results %q", got, c.want, results(s))
			}
		})
	}
}

// TestRemoteLost: if the connection or the server is lost during a call, the model reads that the
// outcome is unknown, and the call is not repeated.
//
// Evidence: luthier · A call whose connection is lost is reported as unknown and never repeated
func TestRemoteLost(t *testing.T) {
	tier.Normal(t)
	dir := committed(t)
	count := &counting{of: http.DefaultTransport}
	var ran atomic.Int64
	var web *httptest.Server
	slow, err := tools.New("slow", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		ran.Add(1)
		count.cut.Store(true)
		go web.CloseClientConnections()
		<-ctx.Done()
		return "", context.Cause(ctx)
	}, tools.WithEffects(agent.ReadOnly(".")))
	if err != nil {
		t.Fatal(err)
	}
	web = farWeb(t, luthier.ToolboxOptions{NoIndex: true, Tools: []agent.Tool{slow}})
	box, err := remote.Open(t.Context(), remote.Options{URL: web.URL, Token: farToken, Dir: dir, HTTP: &http.Client{Transport: count}, Patience: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	w := openWorkspace(t, luthier.Box(box))
	_, s := farSession(t, w, luthier.Options{}, call("1", "slow", map[string]any{}), call("2", "read", map[string]any{"path": "a.go"}))
	if got := results(s); len(got) != 2 || !strings.Contains(got[0], "not known whether the call ran") || got[1] == "" || ran.Load() != 1 {
		t.Errorf("ran %d times, results %q", ran.Load(), got)
	}
}

// TestToolhost: an agent works in place on the other side of a command: docker exec, ssh, a shell.
// What could be executed later is asked about there too, nothing can be exported or forked, and if
// the command is killed the model reads it.
//
// Evidence: luthier · An agent works through docker exec, ssh and the like, which run a toolhost
func TestToolhost(t *testing.T) {
	tier.Normal(t)
	dir, state, a := committed(t), t.TempDir(), &asker{}
	w := openWorkspace(t, toolhost(dir))
	c, s := farSession(t, w, luthier.Options{Autonomy: agent.AutonomySandboxed, Ask: a.ask, StateDir: state},
		call("1", "test", map[string]any{}),
		call("2", "edit", map[string]any{"path": "a.go", "old": "return 3", "new": "return 2"}),
		call("3", "test", map[string]any{}),
		call("4", "search", map[string]any{"query": "Two"}),
		call("5", "write", map[string]any{"path": ".vscode/tasks.json", "content": "{}\n"}),
		call("6", "shell", map[string]any{"command": "kill -9 $PPID; pwd"}))
	got := results(s)
	for i, want := range []string{"FAIL", "", "PASS", "a.go", ""} {
		if i >= len(got) || !strings.Contains(got[i], want) {
			t.Fatalf("result %d of %q, want %q", i+1, got, want)
		}
	}
	if len(a.asked) != 1 || a.asked[0].Effects.Flags&agent.EffectObeyed == 0 {
		t.Errorf("asked %v", a.asked)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a.go")); err != nil || !strings.Contains(string(b), "return 2") {
		t.Errorf("the directory has %q, %v", b, err)
	}
	if _, err := w.Export(t.Context(), sandbox.ExportOptions{}); !errors.Is(err, sandbox.ErrInPlace) {
		t.Errorf("export: %v", err)
	}
	if _, err := c.Undo(t.Context(), s); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a.go")); err != nil || !strings.Contains(string(b), "return 3") {
		t.Errorf("undone, the directory has %q, %v", b, err)
	}
	if _, err := luthier.BestOf(t.Context(), c, 2, "x", func(context.Context, luthier.Workspace) float64 { return 0 }); err == nil || !strings.Contains(err.Error(), "cannot be forked") {
		t.Errorf("best of several: %v", err)
	}
	for _, argv := range [][]string{{"sh", "-c", "echo no such container >&2; exit 3"}, {"/no/such/command"}} {
		if _, err := luthier.Open(t.Context(), luthier.Command(argv...)); err == nil {
			t.Errorf("%q was opened", argv)
		}
	}
}

// TestRemoteForks: sub-agents and attempts work on forks on the server, and the best is taken over.
func TestRemoteForks(t *testing.T) {
	tier.Normal(t)
	dir := committed(t)
	w := openWorkspace(t, farServer(t, luthier.ToolboxOptions{NoIndex: true})(dir))
	c, err := luthier.New(t.Context(), "", luthier.Options{Workspace: w, StateDir: t.TempDir(), Autonomy: agent.AutonomySandboxed, Model: attempts{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	best, err := luthier.BestOf(t.Context(), c, 3, "write", func(ctx context.Context, w luthier.Workspace) float64 {
		exit, err := w.Sandbox().Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", "wc -c <best.txt"}})
		if err != nil {
			return 0
		}
		n, _ := strconv.Atoi(strings.TrimSpace(exit.Stdout.String()))
		return float64(n)
	})
	if err != nil || len(best.Attempts) != 3 {
		t.Fatal(best, err)
	}
	if got := inBox(t, w, "cat best.txt"); got != "x\n" {
		t.Errorf("the workspace has %q", got)
	}
}

// attempts is a model that writes a file and then ends.
type attempts struct{}

func (attempts) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	turn := agenttest.Text("done")
	if len(req.Messages) == 1 {
		turn = call("1", "write", map[string]any{"path": "best.txt", "content": "x\n"})
	}
	return agenttest.Script(turn).Stream(ctx, req)
}
