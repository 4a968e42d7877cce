package anthropic

import (
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// Thinking is the form in which effort is sent to the model.
type Thinking string

// The forms of thinking.
const (
	ThinkingAuto     Thinking = ""         // by model name: adaptive from Claude 4.6 on, a budget before that
	ThinkingAdaptive Thinking = "adaptive" // the model decides how much, steered by output_config.effort
	ThinkingBudget   Thinking = "budget"   // a number of tokens
	ThinkingOff      Thinking = "off"      // effort is ignored
)

func (t Thinking) valid() bool {
	return t == ThinkingAuto || t == ThinkingAdaptive || t == ThinkingBudget || t == ThinkingOff
}

// family holds what a model's name says about the parameters it accepts.
type family struct {
	major, minor int  // version, 0.0 when the name has none
	claude       bool // one of the provider's own models
	always       bool // thinking cannot be turned off
}

// parseFamily reads names such as claude-3-7-sonnet-20250219, claude-opus-4-6,
// anthropic.claude-opus-4-7-v1:0 and anthropic/claude-sonnet-4.5: the first number after "claude"
// that is not a date is the version.
func parseFamily(name string) family {
	_, rest, ok := strings.Cut(strings.ToLower(name), "claude")
	if !ok {
		return family{}
	}
	f := family{claude: true, always: strings.Contains(rest, "mythos") || strings.Contains(rest, "fable")}
	numbers := 0
	for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune("-_.@:/", r) }) {
		n, err := strconv.Atoi(word)
		switch {
		case err != nil && numbers > 0, err == nil && n > 99:
			return f
		case err != nil:
			continue
		case numbers == 0:
			f.major = n
		default:
			f.minor = n
			return f
		}
		numbers++
	}
	return f
}

func (f family) atLeast(major, minor int) bool {
	return f.major > major || f.major == major && f.minor >= minor
}

// form returns the form of thinking that the model accepts.
func (f family) form() Thinking {
	switch {
	case f.always || f.atLeast(4, 6):
		return ThinkingAdaptive
	case f.claude && f.major > 0 && !f.atLeast(3, 7):
		return ThinkingOff
	}
	return ThinkingBudget
}

// noSampling reports whether the model refuses a temperature.
func (f family) noSampling() bool { return f.always || f.atLeast(4, 7) }

// maxOutput returns the limit that is sent if none is set: high enough for a file, within what the
// model allows.
func (f family) maxOutput() int {
	switch {
	case f.always || f.atLeast(4, 0):
		return 32000
	case f.claude && f.major > 0 && !f.atLeast(3, 5):
		return 4096
	}
	return 8192
}

// reasoning holds the thinking parameters of one request.
type reasoning struct {
	kind    string // the thinking type: "", "adaptive", "enabled" or "disabled"
	budget  int    // with "enabled"
	display string
	effort  string // for output_config
}

func (r reasoning) on() bool { return r.kind == "adaptive" || r.kind == "enabled" }

const minBudget = 1024 // the smallest budget the API accepts

// reasoningFor maps an effort to parameters. A forced tool call excludes thinking, and so does,
// with a budget, a tool loop that began without thinking: the API refuses both.
func (m *Model) reasoningFor(req *agent.Request, h *history, maxOutput int, forced bool) reasoning {
	form := m.cfg.Thinking
	if form == ThinkingAuto {
		form = m.family.form()
	}
	if req.Effort == "" || form == ThinkingOff {
		return reasoning{}
	}
	if form == ThinkingAdaptive {
		return m.adaptive(req.Effort, forced)
	}
	budget := budgetFor(req.Effort, maxOutput)
	if budget == 0 || forced || !h.loopThinks() {
		return reasoning{}
	}
	return reasoning{kind: "enabled", budget: budget, display: m.cfg.ThinkingDisplay}
}

func (m *Model) adaptive(effort agent.Effort, forced bool) reasoning {
	if effort == agent.EffortNone {
		if m.family.always {
			return reasoning{effort: string(agent.EffortLow)}
		}
		return reasoning{kind: "disabled"}
	}
	r := reasoning{kind: "adaptive", effort: string(effort), display: m.cfg.ThinkingDisplay}
	if forced {
		r.kind, r.display = "disabled", ""
		if m.family.always {
			r.kind = ""
		}
	}
	return r
}

// budgetFor returns the thinking budget for an effort and leaves a quarter of the output to the
// answer; 0 means no thinking.
func budgetFor(effort agent.Effort, maxOutput int) int {
	budget := 0
	switch effort {
	case agent.EffortNone:
		return 0
	case agent.EffortLow:
		budget = 2048
	case agent.EffortMedium:
		budget = 8192
	default:
		budget = 24576
	}
	budget = max(min(budget, maxOutput/4*3), minBudget)
	if budget >= maxOutput {
		return 0
	}
	return budget
}
