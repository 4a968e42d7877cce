package openai

import (
	"net/http"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// fit is the form in which a server takes a history. Servers that render the conversation with a
// chat template, and those that check it strictly, refuse forms that others demand. A fit begins
// with what is known of the server and the model; a refusal that names the form teaches the rest,
// see [Model.learn].
type fit struct {
	reasoning ReasoningField // the field in which reasoning goes back, or ReasoningOff
	needs     needs          // which messages must have reasoning
	turns     bool           // user and assistant take turns: messages of the user in a row become one
	dummy     bool           // calls without Gemini's signature get the one that it accepts for any
	ids       wire.IDRule
}

// needs says which messages of the assistant must have reasoning, if only a placeholder.
type needs uint8

const (
	needsNone needs = iota
	needsCalls
	needsAll
)

// noReasoning stands for reasoning that another model did not give, or that was not recorded.
const noReasoning = "(no reasoning was recorded)"

// dummySignature is the text that Gemini documents for calls that it did not sign.
const dummySignature = "skip_thought_signature_validator"

const (
	chatIDs      = 40 // bytes of a call's id that OpenAI's chat API takes
	responsesIDs = 64 // the same for the Responses API
)

// fitFor returns what is known of a server and a model by their names.
func fitFor(c *Config, host string, official bool) *fit {
	name := strings.ToLower(c.Model)
	f := &fit{reasoning: c.Reasoning, ids: wire.IDRule{Max: chatIDs}}
	if c.API == Responses {
		f.ids.Max = responsesIDs
		return f
	}
	if !official {
		f.ids.Keep = "__thought__" // LiteLLM puts Gemini's signature into the id
	}
	if f.reasoning == ReasoningAuto {
		f.reasoning = reasoningField(host, official)
	}
	has := func(names ...string) bool {
		for _, n := range names {
			if strings.Contains(name, n) {
				return true
			}
		}
		return false
	}
	switch {
	case has("mistral", "mixtral", "codestral", "devstral", "magistral", "ministral", "pixtral"):
		f.turns, f.ids = true, wire.IDRule{Exact: 9}
	case has("gemma"):
		f.turns = true
	case has("kimi"):
		f.ids.Chars = ".:" // its own ids, such as functions.read:0, are part of its prompt
		f.needs = needsCalls
	case has("deepseek-reasoner", "mimo"):
		f.needs = needsCalls
	case has("gemini-3"):
		f.dummy = under(host, "googleapis.com")
	}
	if f.reasoning == ReasoningOff {
		f.needs = needsNone
	}
	return f
}

// reasoningField returns the field in which a server takes reasoning back.
func reasoningField(host string, official bool) ReasoningField {
	switch {
	case official, under(host, "mistral.ai"), under(host, "googleapis.com"), under(host, "perplexity.ai"):
		return ReasoningOff
	case under(host, "openrouter.ai"), under(host, "groq.com"), under(host, "cerebras.ai"):
		return ReasoningPlain
	}
	return ReasoningContent
}

// under reports whether host is domain or below it.
func under(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }

// learn returns the fit that a refusal asks for. It returns false if the refusal is about anything
// else, or about what the configuration fixes.
func (m *Model) learn(f *fit, err error) (*fit, bool) {
	me := agent.AsModelError(err)
	if me.Kind != agent.ErrInvalid && me.Kind != agent.ErrUnsupported && me.Status != http.StatusInternalServerError {
		return nil, false
	}
	next := *f
	message := me.Err.Error()
	switch wire.Demanded(message) {
	case wire.DemandTurns:
		next.turns = true
	case wire.DemandShortID:
		next.ids = wire.DemandedID(message)
	case wire.DemandSignature:
		next.dummy = true
	case wire.DemandReasoning:
		if m.cfg.Reasoning != ReasoningAuto {
			return nil, false
		}
		if next.reasoning == ReasoningOff {
			next.reasoning = ReasoningContent
		}
		if strings.Contains(message, string(ReasoningContent)) {
			next.reasoning = ReasoningContent
		}
		next.needs = min(f.needs+1, needsAll)
	case wire.DemandNoReasoning:
		if m.cfg.Reasoning != ReasoningAuto {
			return nil, false
		}
		next.reasoning, next.needs = ReasoningOff, needsNone
	}
	return &next, next != *f
}
