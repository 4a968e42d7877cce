package tools

import (
	"encoding/json"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/toolschema"
)

const doneText = "Done."

// toResult converts the return value of a tool function to a result; see [New].
func toResult(out any) (*agent.ToolResult, error) {
	switch out := out.(type) {
	case nil, struct{}:
		return agent.TextResult(doneText), nil
	case string:
		return agent.TextResult(out), nil
	case []byte:
		return agent.TextResult(string(out)), nil
	case json.RawMessage:
		return agent.TextResult(string(out)), nil
	case *agent.ToolResult:
		if out == nil {
			return agent.TextResult(doneText), nil
		}
		return out, nil
	case agent.ToolResult:
		return &out, nil
	case []agent.Part:
		return &agent.ToolResult{Parts: out}, nil
	case agent.Part:
		return &agent.ToolResult{Parts: []agent.Part{out}}, nil
	}
	text, err := toolschema.Encode(out)
	if err != nil {
		return nil, fmt.Errorf("the call ran, but its result cannot be written as JSON: %w", err)
	}
	return agent.TextResult(string(text)), nil
}

// failed combines what a function returned along with its error: a result that it built, such as
// the output so far, is kept.
func failed(out any, err error) (*agent.ToolResult, error) {
	res, ok := out.(*agent.ToolResult)
	if !ok || res == nil || len(res.Parts) == 0 {
		return nil, err
	}
	kept := *res
	kept.IsError = true
	kept.Parts = append(append([]agent.Part(nil), res.Parts...), agent.Text{Text: "\n" + err.Error()})
	return &kept, nil
}
