package harness

import (
	"context"
	"encoding/json"
	"iter"
	"maps"

	"github.com/luthier-dev/luthier/agent"
)

// decoder asks a model for the likeliest decision that was not made before: a beam search over whole answers, in which the
// calls that were made are left out. While the tests fail the answer must be a call.
type decoder struct {
	model agent.Model
	beam  int
	made  func() []call
	done  func() bool
}

// Stream implements [agent.Model].
func (d *decoder) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	r := *req
	r.Extra = maps.Clone(req.Extra)
	if r.Extra == nil {
		r.Extra = map[string]json.RawMessage{}
	}
	r.Extra["beam"], _ = json.Marshal(d.beam)
	r.Extra["parallel_tool_calls"] = json.RawMessage("false")
	if calls := d.made(); len(calls) > 0 {
		r.Extra["avoid_calls"], _ = json.Marshal(calls)
	}
	if !d.done() {
		r.ToolChoice = agent.ToolChoice{Mode: agent.ToolModeRequired}
	}
	return d.model.Stream(ctx, &r)
}
