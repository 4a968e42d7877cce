package tools

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
)

// toResult turns what a tool function returned into a result: a string, []byte or json.RawMessage as it is, results and
// parts passed through, nothing as "Done.", and any other value as compact JSON.
func toResult(out any) (*agent.ToolResult, error) {
	switch out := out.(type) {
	case nil:
		return agent.TextResult("Done."), nil
	case string:
		return agent.TextResult(out), nil
	case []byte:
		return agent.TextResult(string(out)), nil
	case json.RawMessage:
		return agent.TextResult(string(out)), nil
	case *agent.ToolResult:
		if out == nil {
			return agent.TextResult("Done."), nil
		}
		return out, nil
	case agent.ToolResult:
		return &out, nil
	case []agent.Part:
		return &agent.ToolResult{Parts: out}, nil
	case agent.Part:
		return &agent.ToolResult{Parts: []agent.Part{out}}, nil
	case struct{}:
		return agent.TextResult("Done."), nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	return agent.TextResult(string(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))), nil
}
