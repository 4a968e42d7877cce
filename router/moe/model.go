package moe

import (
	"context"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/grammar"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// Model is a language model that runs in this process. It is an [agent.Model], safe for concurrent
// use; make one with [Load].
type Model struct {
	cfg      Config
	name     string
	tok      *tokenizer.Tokenizer
	template *toolformat.Template
	format   *toolformat.Format
	guard    *guard
	controls map[string]int32      // control tokens by their text
	vocab    func() *grammar.Vocab // built when first needed
	grammars grammarCache

	embedding embedding

	pool    *tensor.Pool
	net     *transformer.Network
	engine  *scheduler.Engine
	closers []func() error
	closing sync.Once
}

// Name returns the model's name: Config.Name or the name in its file.
func (m *Model) Name() string { return m.name }

// Format returns the name of the model's tool-call format.
func (m *Model) Format() string { return m.format.Name }

// Formats returns the names that are valid for [Config].Format.
func Formats() []string { return toolformat.Formats() }

// Capabilities returns what the model can do.
func (m *Model) Capabilities() agent.Capabilities {
	return agent.Capabilities{
		Tools: true, StreamingTools: true, ParallelTools: true, ToolChoice: true, Thinking: true,
		StructuredOutput: true, Stop: true, Usage: true, CacheUsage: true, TypedErrors: true,
		MaxContext: m.engine.Context(),
		Notes:      []string{"It takes text only.", "Reasoning is not signed; whether it goes back to the model is up to its chat template."},
	}
}

// Close ends running requests with an error and releases the memory. It may be called more than
// once.
func (m *Model) Close() (err error) {
	m.closing.Do(func() { err = m.free() })
	return err
}

// Shutdown accepts no more requests and returns when the running requests have ended. If ctx ends
// first, Shutdown ends the running requests and returns. The model must still be closed.
func (m *Model) Shutdown(ctx context.Context) error { return m.engine.Shutdown(ctx) }

// Tokenize returns the tokens of text. If special is true, the texts of control tokens become
// control tokens; otherwise they are plain text. No token is added at the beginning.
func (m *Model) Tokenize(text string, special bool) []int32 { return m.tok.Encode(text, special) }

// Detokenize returns the text of tokens, with control tokens written out.
func (m *Model) Detokenize(tokens []int32) string { return m.tok.Decode(tokens) }

// Logits returns a row of vocabulary logits for each of tokens. A row is the model's prediction of
// the token that follows.
func (m *Model) Logits(ctx context.Context, tokens []int32) ([][]float32, error) {
	rows, err := m.engine.Logits(ctx, tokens)
	if err != nil {
		return nil, modelError(ctx, err)
	}
	return rows, nil
}
