package replay

import (
	"context"

	"github.com/luthier-dev/luthier/agent"
)

// Policy is a method of keeping the context of a run short.
type Policy struct {
	Name string
	// New creates the parts that the policy adds to one run; the parameter summariser is the model
	// that the policy may call. If New is nil, the policy adds nothing.
	New func(summariser agent.Model) (Parts, error)
}

// Parts are the additions of a policy to an agent's configuration. The zero value changes nothing.
type Parts struct {
	Compactor  agent.Compactor  // called if a prompt would be over the budget, or if it has a Due method that returns true
	Middleware agent.Middleware // wraps every model and tool call, to change results as they are recorded
	Budget     int              // tokens above which the Compactor is called; 0 means the replay's budget
}

// CompactorFunc adapts a function that shortens a history to [agent.Compactor].
type CompactorFunc func(ctx context.Context, ms []agent.Message, budget int) ([]agent.Message, agent.CompactionReport, error)

// Compact calls f.
func (f CompactorFunc) Compact(ctx context.Context, ms []agent.Message, budget int) ([]agent.Message, agent.CompactionReport, error) {
	return f(ctx, ms, budget)
}

// OnResult returns middleware that replaces the text of each tool result as it is recorded.
func OnResult(f func(text string) string) agent.Middleware {
	return func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			if err := next(ctx, op); err != nil || op.Result == nil {
				return err
			}
			res := *op.Result
			res.Parts = make([]agent.Part, len(op.Result.Parts))
			for i, p := range op.Result.Parts {
				if t, ok := p.(agent.Text); ok {
					p = agent.Text{Text: f(t.Text)}
				}
				res.Parts[i] = p
			}
			op.Result = &res
			return nil
		}
	}
}
