package agent

import "fmt"

// needsCompaction reports whether the next prompt would be over budget. Without usage from the provider it is
// estimated at four bytes a token.
func (r *run) needsCompaction() bool {
	if r.agent.cfg.Compactor == nil {
		return false
	}
	tokens := r.prompt
	if tokens == 0 {
		tokens = r.session.estimate()
	}
	return tokens > int64(r.agent.cfg.ContextBudget)
}

// overflowBudget is the budget after a provider said that the prompt is too long: well below what was sent.
func (r *run) overflowBudget() int {
	sent := r.session.estimate()
	return int(min(int64(r.agent.cfg.ContextBudget), sent/2))
}

// compact shortens the history to a budget. A compactor that fails, or breaks the pairing of calls and results, leaves
// the history as it was.
func (r *run) compact(budget int) error {
	s := r.session
	before := s.Messages()
	after, rep, err := r.agent.cfg.Compactor.Compact(r.ctx, before, budget)
	if err == nil {
		err = CheckPairing(after)
	}
	if err != nil {
		if l := r.agent.cfg.Logger; l != nil {
			l.Warn("agent: compaction failed; the history stays as it is", "err", err)
		}
		return nil
	}
	cost := r.priceOf(rep.Usage)
	r.charge(rep.Usage, cost, 0)
	if err := s.compacted(after, rep, cost); err != nil {
		return err
	}
	r.prompt = 0
	r.emit(Compacted{Report: rep})
	return nil
}

// CheckPairing returns an error unless every tool call of ms has exactly one result, in the message after it and in
// call order, which is what every provider demands. Calls of the last message may still lack theirs.
func CheckPairing(ms []Message) error {
	for i, m := range ms {
		switch m.Role {
		case RoleTool:
			if i == 0 || ms[i-1].Role != RoleAssistant {
				return fmt.Errorf("agent: check pairing: message %d holds tool results and does not follow an assistant message", i)
			}
			if err := pairs(ms[i-1].Calls(), m); err != nil {
				return fmt.Errorf("agent: check pairing: message %d: %w", i, err)
			}
		case RoleAssistant:
			if len(m.Calls()) > 0 && i+1 < len(ms) && ms[i+1].Role != RoleTool {
				return fmt.Errorf("agent: check pairing: message %d has tool calls that no message answers", i)
			}
		case RoleUser:
		default:
			return fmt.Errorf("agent: check pairing: message %d has the unknown role %q", i, m.Role)
		}
	}
	return nil
}

func pairs(calls []ToolCall, m Message) error {
	if len(calls) != len(m.Parts) {
		return fmt.Errorf("%d results answer %d calls", len(m.Parts), len(calls))
	}
	for i, p := range m.Parts {
		r, ok := p.(ToolResult)
		if !ok {
			return fmt.Errorf("part %d is a %T, not a tool result", i, p)
		}
		if r.CallID != calls[i].ID {
			return fmt.Errorf("result %d answers call %q, not %q", i, r.CallID, calls[i].ID)
		}
	}
	return nil
}

// estimate returns the size of the live history in tokens, at four bytes each.
func (s *Session) estimate() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.measured < len(s.live); s.measured++ { // each message once, so that a long history costs no more
		s.liveSize += partsSize(s.live[s.measured].Parts)
	}
	return int64(s.liveSize / 4)
}

func partsSize(ps []Part) int {
	n := 0
	for _, p := range ps {
		switch p := p.(type) {
		case Text:
			n += len(p.Text)
		case Thinking:
			n += len(p.Text) + len(p.Signature)
		case ToolCall:
			n += len(p.Name) + len(p.Args)
		case ToolResult:
			n += partsSize(p.Parts)
		case Opaque:
			n += len(p.Data)
		case Image:
			n += 4 * 1500 // what providers charge for a picture of about a megapixel
		}
	}
	return n
}
