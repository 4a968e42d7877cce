package agent

import "github.com/luthier-dev/luthier/internal/tokencount"

// TokenCounter is a [Model] that can count the tokens of a request exactly, such as one that runs
// in this process. It reports false for a request that it cannot count.
type TokenCounter interface {
	CountTokens(req *Request) (int, bool)
}

// prompt holds the next request and its size in tokens. It belongs to the loop's goroutine.
type prompt struct {
	agent   *Agent
	session *Session
	tools   *toolset
	mode    mode

	req    Request
	tokens int64 // of the last prompt and answer plus everything added since; 0 if unknown
}

// fill builds the request for the next model call. Its slices are views: nothing of the history is
// copied.
func (p *prompt) fill() *Request {
	c := &p.agent.cfg
	p.req = Request{
		System: c.System, Messages: p.session.Messages(), Tools: p.tools.specs,
		Output: c.Output, MaxOutput: c.MaxOutput, Temperature: c.Temperature, Stop: c.Stop,
		Effort: c.Effort, Seed: c.Seed, Purpose: c.Purpose, SessionID: p.session.meta.ID, Epoch: p.session.Epoch(),
	}
	if p.mode.plan {
		p.req.Purpose, p.req.Output = PurposePlan, nil
		p.req.System = planSystem(c.System)
	}
	return &p.req
}

// planSystem adds a description of plan mode to the instructions.
func planSystem(system string) string {
	text := promptText(planPrompt)
	if system == "" {
		return text
	}
	return system + "\n\n" + text
}

// grow counts a message that was added since the last prompt.
func (p *prompt) grow(m Message) {
	if p.tokens > 0 {
		p.tokens += int64(partsTokens(m.Parts))
	}
}

// due reports whether the next prompt is over budget, or the compactor considers compacting it
// worthwhile.
func (p *prompt) due() bool {
	c := p.agent.cfg.Compactor
	if c == nil {
		return false
	}
	if p.size() > int64(p.agent.cfg.ContextBudget) {
		return true
	}
	planner, ok := c.(compactionPlanner)
	return ok && planner.Due(p.session.Messages())
}

// estimate returns the tokens of the next prompt if no provider has reported them: counted by a
// model that can count, otherwise estimated.
func (p *prompt) estimate() int64 {
	if tc, ok := p.agent.cfg.Model.(TokenCounter); ok {
		if n, ok := tc.CountTokens(p.fill()); ok {
			return int64(n)
		}
	}
	return p.session.estimate() + p.preamble()
}

// preamble returns the approximate number of tokens of instructions and tools.
func (p *prompt) preamble() int64 {
	return int64(preambleTokens(p.agent.cfg.System, p.tools.specs))
}

func preambleTokens(system string, tools []ToolSpec) int {
	n := tokencount.Estimate(system)
	for i := range tools {
		t := &tools[i]
		n += tokencount.Estimate(t.Name) + tokencount.Estimate(t.Description) + len(t.Schema)/4
	}
	return n
}

// size returns the tokens of the next prompt: as the provider reported them, or estimated.
func (p *prompt) size() int64 {
	if p.tokens > 0 {
		return p.tokens
	}
	return p.estimate()
}

// overflowBudget returns the budget to use after a provider reported that the prompt is too long:
// well below what was sent.
func (p *prompt) overflowBudget() int {
	sent := p.session.estimate()
	return int(min(int64(p.agent.cfg.ContextBudget), p.preamble()+sent/2))
}

// estimate returns the approximate number of tokens of the live history.
func (s *Session) estimate() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.measured < len(s.live); s.measured++ { // each message is measured only once, so that a long history costs no more
		s.liveSize += partsTokens(s.live[s.measured].Parts)
	}
	return int64(s.liveSize)
}

// frameTokens is the number of tokens that a chat format adds around a message.
const frameTokens = 4

// imageTokens is the number of tokens that providers charge for a picture of about one megapixel.
const imageTokens = 1500

func partsTokens(ps []Part) int {
	n := frameTokens
	for _, p := range ps {
		switch p := p.(type) {
		case Text:
			n += tokencount.Estimate(p.Text)
		case Thinking:
			n += tokencount.Estimate(p.Text) + len(p.Signature)/8
		case ToolCall:
			n += tokencount.Estimate(p.Name) + tokencount.Estimate(string(p.Args))
		case ToolResult:
			n += partsTokens(p.Parts)
		case Opaque:
			n += len(p.Data) / 4
		case Image:
			n += imageTokens
		}
	}
	return n
}
