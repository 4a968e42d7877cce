package replay

import (
	"context"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// Baselines returns the simple policies that others are measured against.
func Baselines() []Policy {
	return []Policy{
		Raw(),
		DropOldest(0.5),
		MaskOnBudget(10),
		Truncate("truncate-8k", 8000),
		Truncate("head-tail-2k", 2000),
	}
}

// Raw leaves everything unchanged.
func Raw() Policy { return Policy{Name: "raw"} }

// DropOldest drops the oldest turns if the prompt is over the budget, until it is at the share keep
// of the budget, and leaves a line that says so.
func DropOldest(keep float64) Policy {
	return onBudget("drop-oldest", 0, func(ms []agent.Message, budget int) []agent.Message {
		head, tail := splitTask(ms)
		size, dropped := Tokens(ms), 0
		for size > int(float64(budget)*keep) {
			n := turn(tail)
			if n == len(tail) {
				break
			}
			size -= Tokens(tail[:n])
			tail, dropped = tail[n:], dropped+n
		}
		if dropped == 0 {
			return ms
		}
		note := agent.UserText(fmt.Sprintf("[%d older messages left out]", dropped))
		return append(append(append([]agent.Message(nil), head...), note), tail...)
	})
}

// MaskOnBudget replaces all results except those of the last n turns with a placeholder if the
// prompt is over the budget.
func MaskOnBudget(n int) Policy {
	return onBudget(fmt.Sprintf("mask-%d", n), 0, func(ms []agent.Message, _ int) []agent.Message { return mask(ms, n) })
}

// MaskAlways replaces all results except those of the last n turns with a placeholder before every
// model call.
func MaskAlways(n int) Policy {
	return onBudget(fmt.Sprintf("mask-always-%d", n), 1, func(ms []agent.Message, _ int) []agent.Message { return mask(ms, n) })
}

// Truncate cuts the middle out of every result of more than limit bytes as it is recorded. If the
// prompt is still over the budget, it drops the oldest turns.
func Truncate(name string, limit int) Policy {
	drop := DropOldest(0.5)
	return Policy{Name: name, New: func(m agent.Model) (Parts, error) {
		parts, err := drop.New(m)
		parts.Middleware = OnResult(func(text string) string { return cutMiddle(text, limit) })
		return parts, err
	}}
}

func onBudget(name string, budget int, f func(ms []agent.Message, budget int) []agent.Message) Policy {
	compact := func(_ context.Context, ms []agent.Message, budget int) ([]agent.Message, agent.CompactionReport, error) {
		return f(ms, budget), agent.CompactionReport{}, nil
	}
	return Policy{Name: name, New: func(agent.Model) (Parts, error) {
		return Parts{Compactor: CompactorFunc(compact), Budget: budget}, nil
	}}
}

// splitTask splits a history after the user messages at its beginning.
func splitTask(ms []agent.Message) (task, rest []agent.Message) {
	n := 0
	for n < len(ms) && ms[n].Role == agent.RoleUser {
		n++
	}
	return ms[:n], ms[n:]
}

// turn returns the number of messages in the first turn: a single message that is not from the
// assistant, or an assistant message with its results.
func turn(ms []agent.Message) int {
	if len(ms) > 1 && ms[1].Role == agent.RoleTool {
		return 2
	}
	return min(len(ms), 1)
}

// mask replaces the results in all but the last n tool messages.
func mask(ms []agent.Message, n int) []agent.Message {
	out := append([]agent.Message(nil), ms...)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i].Role != agent.RoleTool {
			continue
		}
		if n--; n >= 0 {
			continue
		}
		parts := make([]agent.Part, len(out[i].Parts))
		for k, p := range out[i].Parts {
			res := p.(agent.ToolResult)
			if text := res.Text(); !strings.HasPrefix(text, maskPrefix) {
				res.Parts = []agent.Part{agent.Text{Text: fmt.Sprintf("%s%d lines]", maskPrefix, strings.Count(text, "\n")+1)}}
			}
			parts[k] = res
		}
		out[i].Parts = parts
	}
	return out
}

const maskPrefix = "[output left out: "

// cutMiddle keeps the beginning and the end of a text of more than limit bytes.
func cutMiddle(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := strings.ToValidUTF8(text[:limit/2], ""), strings.ToValidUTF8(text[len(text)-limit/2:], "")
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", head, len(text)-len(head)-len(tail), tail)
}
