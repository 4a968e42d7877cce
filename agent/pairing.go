package agent

import "fmt"

// CheckPairing returns an error unless every tool call in ms has exactly one result, in the next
// message and in call order, which is what every provider requires. Calls of the last message may
// still lack their results.
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
