package moe

import (
	"context"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
)

// prompt is a rendered request.
type prompt struct {
	tokens  []int32
	opening string // the part of the answer that the template writes: its header and perhaps the beginning of its reasoning
	tools   []toolformat.Tool
}

// render turns a request into tokens. If open is true, the prompt ends with the opening of the
// answer.
func (m *Model) render(req *agent.Request, open bool) (*prompt, error) {
	conv, err := m.conversation(req)
	if err != nil {
		return nil, err
	}
	p := &prompt{tools: callable(req)}
	var text string
	if open {
		var r toolformat.Prompt
		r, err = m.template.Prompt(conv)
		text, p.opening = r.Text, r.Opening
	} else {
		conv.GenerationPrompt = false
		text, err = m.template.Render(conv)
	}
	if err != nil {
		return nil, invalid(err)
	}
	p.tokens = m.tokens(text)
	return p, nil
}

// tokens tokenizes a rendered prompt, with guarded texts split.
func (m *Model) tokens(text string) []int32 {
	var tokens []int32
	if bos, ok := m.tok.BOS(); ok && m.tok.AddBOS() && !strings.HasPrefix(text, m.pieceOf(bos, true)) {
		tokens = append(tokens, bos)
	}
	for _, piece := range pieces(text) {
		tokens = m.tok.Append(tokens, piece, true)
	}
	return tokens
}

// Warm computes the prompt of a request without answering it, so that the answer to a request that
// begins with the same messages starts at once. An agent can warm a model with the tool results
// that it already has while other tools still run.
func (m *Model) Warm(ctx context.Context, req *agent.Request) error {
	p, err := m.render(req, false)
	if err != nil {
		return modelError(ctx, err)
	}
	if _, err := m.engine.Prefill(ctx, p.tokens); err != nil {
		return modelError(ctx, err)
	}
	return nil
}
