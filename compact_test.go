package luthier_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/artifact"
	"github.com/luthier-dev/luthier/tools/coding"
)

// noisy is a command that prints what a build prints: the same warning over and over, and one error
// near the beginning.
const noisy = `for i in $(seq 2000); do echo "warning: option foo is deprecated in module $i"; done; echo "src/parse.c:17:3: error: expected ';' before 'return'"; for i in $(seq 2000); do echo "compiled object file number $i of the tree"; done; exit 2`

// plainCoder returns a coder over an empty directory, without a sandbox.
func plainCoder(t *testing.T, opts luthier.Options) (*luthier.Coder, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	opts.NoSandbox, opts.NoIndex, opts.StateDir = true, true, t.TempDir()
	opts.Ask = func(context.Context, *agent.PermissionRequest, agent.Verdict) agent.Answer {
		return agent.Answer{Allow: true}
	}
	c, err := luthier.New(context.Background(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, dir
}

func resultTexts(ms []agent.Message) []string {
	var out []string
	for _, m := range ms {
		for _, p := range m.Parts {
			if r, ok := p.(agent.ToolResult); ok {
				out = append(out, r.Text())
			}
		}
	}
	return out
}

// TestLongOutputBecomesItsSignal: when a real program prints 150 kB, the model sees the error and a
// handle with which it can read the rest back.
func TestLongOutputBecomesItsSignal(t *testing.T) {
	turn := func(req *agent.Request) agenttest.Turn {
		switch rs := resultTexts(req.Messages); len(rs) {
		case 0:
			return agenttest.Call("1", "shell", fmt.Sprintf(`{"command":%q}`, noisy))
		case 1:
			return agenttest.Call("2", "read_artifact", fmt.Sprintf(`{"handle":%q,"pattern":"module 777$"}`, artifact.Find(rs[0])))
		}
		return agenttest.Text("done")
	}
	c, _ := plainCoder(t, luthier.Options{Model: agenttest.ScriptFunc(turn)})
	s := agent.NewSession()
	if _, err := c.Run(context.Background(), s, agent.Text{Text: "build"}).Collect(); err != nil {
		t.Fatal(err)
	}
	rs := resultTexts(s.Messages())
	if len(rs[0]) > 4000 || !strings.Contains(rs[0], "error: expected ';' before 'return'") || !strings.Contains(rs[0], "exit code 2") {
		t.Errorf("%d bytes of the build's output are shown:\n%s", len(rs[0]), rs[0])
	}
	if !strings.Contains(rs[1], "deprecated in module 777") {
		t.Errorf("reading it back by pattern gave %q", rs[1])
	}
}

func TestNoCompaction(t *testing.T) {
	m := agenttest.Script(agenttest.Call("1", "shell", fmt.Sprintf(`{"command":%q}`, noisy)), agenttest.Text("done"))
	c, _ := plainCoder(t, luthier.Options{Model: m, NoCompaction: true})
	s := agent.NewSession()
	if _, err := c.Run(context.Background(), s, agent.Text{Text: "build"}).Collect(); err != nil {
		t.Fatal(err)
	}
	if text := resultTexts(s.Messages())[0]; len(text) < 10_000 {
		t.Errorf("the output has %d bytes:\n%s", len(text), text)
	}
}

// small is a model with a small context.
type small struct {
	agent.Model
	context int
}

func (m small) Capabilities() agent.Capabilities {
	c := agent.AllCapabilities()
	c.MaxContext = m.context
	return c
}

func (m small) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return m.Model.Stream(ctx, req)
}

func TestContextBudgetFollowsTheModel(t *testing.T) {
	for _, c := range []struct{ context, asked, want int }{
		{0, 0, 150_000}, {32_000, 0, 24_000}, {1_000_000, 0, 150_000}, {32_000, 9_000, 9_000},
	} {
		got := 0
		look := func(_ *coding.Config, a *agent.Config) {
			got = a.ContextBudget
			if a.Compactor == nil {
				t.Error("there is no compactor")
			}
		}
		plainCoder(t, luthier.Options{Model: small{agenttest.Script(), c.context}, ContextBudget: c.asked, Customize: look})
		if got != c.want {
			t.Errorf("a model of %d tokens, %d asked: the budget is %d, want %d", c.context, c.asked, got, c.want)
		}
	}
}

// TestLongRunStaysWithinItsBudget: a run of the real loop over real files stays within its budget,
// although it reads eight times that much.
func TestLongRunStaysWithinItsBudget(t *testing.T) {
	const files, budget = 60, 16_000
	seen := 0
	turn := func(req *agent.Request) agenttest.Turn {
		n := 0
		for _, m := range req.Messages {
			n += len(m.Text())/4 + len(strings.Join(resultTexts([]agent.Message{m}), ""))/4
		}
		if n > budget {
			t.Errorf("a request of some %d tokens, the budget is %d", n, budget)
		}
		if req.Purpose == agent.PurposeSummarise {
			return agenttest.Text("Goal: read them all.")
		}
		if seen == files {
			return agenttest.Text("done")
		}
		seen++
		return agenttest.Call(fmt.Sprint("c", seen), "read", fmt.Sprintf(`{"path":"f%d.txt"}`, seen))
	}
	c, dir := plainCoder(t, luthier.Options{Model: agenttest.ScriptFunc(turn).Forget(), ContextBudget: budget})
	for i := range files + 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte(strings.Repeat(fmt.Sprintf("line of file %d, with words\n", i), 300)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	res, err := c.Run(context.Background(), s, agent.Text{Text: "read them all"}).Collect()
	if err != nil || res.Stop != agent.StopDone || seen != files {
		t.Fatalf("%+v, %v, %d files read", res, err, seen)
	}
	if s.Epoch() == 0 || s.Epoch() > files/3 {
		t.Errorf("the history was rewritten %d times", s.Epoch())
	}
	if n := len(resultTexts(s.Transcript())); n < files {
		t.Errorf("the transcript has %d results of %d", n, files)
	}
}
