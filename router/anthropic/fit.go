package anthropic

import (
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// fit is the form in which a server takes a history. It begins with what is known of the server; a
// refusal that names the form teaches the rest.
type fit struct {
	unsigned    bool // the server signs nothing, and takes its own thinking back without a signature
	placeholder bool // answers without thinking begin with a placeholder
	noThinking  bool // no thinking goes back
	ids         wire.IDRule
}

const (
	maxID          = 64 // bytes of a call's id that every server of this API takes
	noThinkingText = "(no reasoning was recorded)"
)

// learn returns the fit that a refusal asks for. It returns false if the refusal is about anything
// else.
func (m *Model) learn(f *fit, err *agent.ModelError) (*fit, bool) {
	if err.Kind != agent.ErrInvalid {
		return nil, false
	}
	next := *f
	message := err.Err.Error()
	switch wire.Demanded(message) {
	case wire.DemandNoReasoning: // signatures of another account or model, or a server without thinking
		next.noThinking, next.placeholder = true, false
	case wire.DemandReasoning:
		next.placeholder = m.thinker != provider // the provider's own models take no placeholder
	case wire.DemandShortID:
		next.ids = wire.DemandedID(message)
	}
	return &next, next != *f
}
