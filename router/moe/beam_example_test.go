package moe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/router/moe"
)

// The program requests the likelier of two possible answers. Then it excludes each call that it has
// received, until there is no other answer.
func Example_avoidCalls() {
	var file bytes.Buffer // a model with random weights; a real one is opened by moe.Load
	w, err := synth.NewWriter(synth.Tiny("qwen3moe"))
	if err != nil {
		panic(err)
	}
	if _, err := w.WriteTo(&file); err != nil {
		panic(err)
	}
	m, err := moe.LoadBytes("example", file.Bytes(), moe.Config{Format: "qwen3-coder-xml", Constrain: moe.ConstrainExact})
	if err != nil {
		panic(err)
	}
	defer m.Close()

	req := &agent.Request{
		Messages:   []agent.Message{agent.UserText("The door is stuck.")},
		Tools:      []agent.ToolSpec{{Name: "door", Schema: json.RawMessage(`{"type":"object","properties":{"how":{"enum":["pull","push"]}},"required":["how"],"additionalProperties":false}`)}},
		ToolChoice: agent.ToolChoice{Mode: agent.ToolModeRequired},
		Extra:      map[string]json.RawMessage{"beam": json.RawMessage("8"), "parallel_tool_calls": json.RawMessage("false")},
	}
	type call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	var tried []call
	for {
		req.Extra["avoid_calls"], _ = json.Marshal(tried)
		resp, err := agent.Generate(context.Background(), m, req)
		if errors.Is(err, moe.ErrAvoided) {
			break
		}
		if err != nil {
			panic(err)
		}
		for _, c := range resp.Message.Calls() {
			tried = append(tried, call{c.Name, c.Args})
		}
	}
	fmt.Println(len(tried), "different calls were tried")
	// Output: 2 different calls were tried
}
