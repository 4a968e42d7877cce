package moe

import (
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// GuardRune is the rune that breaks up control texts.
const GuardRune = guardRune

// Rendered returns the prompt of a request as text with guards, and as tokens.
func Rendered(m *Model, req *agent.Request) (string, []int32, error) {
	conv, err := m.conversation(req)
	if err != nil {
		return "", nil, err
	}
	r, err := m.template.Prompt(conv)
	if err != nil {
		return "", nil, err
	}
	return r.Text, m.tokens(r.Text), nil
}

// Grammars returns the number of compiled grammars in a model's cache.
func Grammars(m *Model) int {
	m.grammars.mu.Lock()
	defer m.grammars.mu.Unlock()
	return len(m.grammars.list)
}

// Constraint returns the constraint on the answer to a request.
func Constraint(m *Model, req *agent.Request) (scheduler.Constraint, error) {
	p, err := m.render(req, true)
	if err != nil {
		return nil, err
	}
	return m.constraint(req, p)
}

// EndTokens returns the tokens that end an answer.
func EndTokens(m *Model) []int32 { return m.tok.EndOfGeneration() }

// EmbedTokens returns the tokens that are embedded for a text.
func EmbedTokens(m *Model, text string) []int32 { return m.embedTokens(text) }
