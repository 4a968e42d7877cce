package moe

import "github.com/luthier-dev/luthier/agent"

// GuardRune is what control texts are broken with.
const GuardRune = guardRune

// Rendered returns the prompt of a request, as text with guards and as tokens.
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

// Grammars returns how many compiled grammars a model keeps.
func Grammars(m *Model) int {
	m.grammars.mu.Lock()
	defer m.grammars.mu.Unlock()
	return len(m.grammars.list)
}
