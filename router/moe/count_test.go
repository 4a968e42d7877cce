package moe_test

import (
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/moe"
)

// TestCountTokens checks that the count equals the input tokens that the model then reports.
func TestCountTokens(t *testing.T) {
	m := load(t, moe.Config{})
	for _, text := range []string{"hi", strings.Repeat("a long file, ", 60), "héllo 世界 <|im_start|>"} {
		req := ask(text)
		req.System, req.Tools = "You are careful.", []agent.ToolSpec{weather}
		n, ok := m.CountTokens(req)
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil || !ok || int64(n) != resp.Usage.Input {
			t.Errorf("%q: counted %d (%v), the model reports %d: %v", text, n, ok, resp.Usage.Input, err)
		}
	}
	image := &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Parts: []agent.Part{agent.Image{MediaType: "image/png", Data: []byte{1}}}}}}
	if n, ok := m.CountTokens(image); ok {
		t.Errorf("a picture, which the model cannot take, was counted as %d tokens", n)
	}
}
