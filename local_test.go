package luthier_test

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/router/moe"
)

// brief keeps a model's answers short and remembers the tools it was offered.
type brief struct {
	*moe.Model
	tools []agent.ToolSpec
}

func (m *brief) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	short := *req
	m.tools, short.MaxOutput = req.Tools, 24
	return m.Model.Stream(ctx, &short)
}

// TestLocalModel wires the complete agent over a model in this process. The model's weights are
// random, so its answers mean nothing; but every coding tool can be offered to it, and every call
// it writes is valid.
//
// Evidence: engine · A complete agent runs on a local model
func TestLocalModel(t *testing.T) {
	tier.Normal(t)
	path := filepath.Join(t.TempDir(), "m.gguf")
	c := synth.Tiny("qwen3moe")
	c.Context = 1 << 16
	if testing.Short() { // a model half as wide: the tool descriptions alone are thousands of tokens
		c.Embd, c.Heads, c.KVHeads = c.Embd/2, c.Heads/2, c.KVHeads/2
	}
	if err := synth.Create(path, c); err != nil {
		t.Fatal(err)
	}
	local, err := moe.Load(path, moe.Config{Context: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	m := &brief{Model: local}
	coder, err := luthier.New(t.Context(), faultyRepo(t), luthier.Options{Model: m, Autonomy: agent.AutonomyReadOnly, NoSandbox: true, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer coder.Close()
	if _, err := coder.Run(t.Context(), agent.NewSession(), agent.Text{Text: "Make the tests pass."}).Collect(); err != nil {
		t.Fatal(err)
	}
	if len(m.tools) < 15 {
		t.Fatalf("%d tools were offered", len(m.tools))
	}
	hot, seed := 1.0, int64(3)
	whole := 0
	for i, tool := range m.tools {
		if testing.Short() && i%4 > 0 {
			continue
		}
		req := &agent.Request{Messages: []agent.Message{agent.UserText("go")}, Tools: m.tools, ToolChoice: agent.ToolChoice{Mode: agent.ToolModeNamed, Name: tool.Name},
			Temperature: &hot, Seed: &seed, MaxOutput: 160, Extra: map[string]json.RawMessage{"parallel_tool_calls": json.RawMessage("false")}}
		resp, err := agent.Generate(t.Context(), local, req)
		if err != nil {
			t.Errorf("%s: %v", tool.Name, err)
			continue
		}
		if resp.Finish == agent.FinishLength {
			continue
		}
		whole++
		call := resp.Message.Calls()[0]
		if call.Name != tool.Name {
			t.Errorf("%s was asked for, %s called", tool.Name, call.Name)
		}
		check(t, tool, call.Args)
	}
	t.Logf("%d of %d tools were called to the end", whole, len(m.tools))
	if whole == 0 {
		t.Error("no call was written to its end")
	}
}

// check validates arguments with a library that was not involved in writing them.
func check(t *testing.T, tool agent.ToolSpec, args json.RawMessage) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("tool.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("tool.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		t.Errorf("%s: the arguments are not JSON: %s", tool.Name, args)
		return
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s: %s: %v", tool.Name, args, err)
	}
}
