package moe

import "github.com/luthier-dev/luthier/agent"

var _ agent.TokenCounter = (*Model)(nil)

// CountTokens returns the exact length of a request's prompt in tokens, up to where the answer
// begins. It reports false if the model cannot take the request.
func (m *Model) CountTokens(req *agent.Request) (int, bool) {
	p, err := m.render(req, true)
	if err != nil {
		return 0, false
	}
	return len(p.tokens), true
}
