package replay

import (
	"bytes"
	"errors"

	"github.com/luthier-dev/luthier/agent"
)

// isSession reports whether data begins like a session log, with the session's own entry in the
// first line.
func isSession(data []byte) bool {
	for e, err := range agent.ReadEntries(bytes.NewReader(data)) {
		return err == nil && e.Type == agent.EntrySession
	}
	return false
}

// parseSession rebuilds the conversation of a session log as if it had never been compacted.
// Results are as they are in the log, so those that were shortened as they were recorded stay
// short.
func parseSession(data []byte) (*Run, error) {
	run := &Run{}
	results := map[string]agent.ToolResult{}
	for e, err := range agent.ReadEntries(bytes.NewReader(data)) {
		if _, torn := errors.AsType[*agent.TornError](err); torn {
			break
		}
		if err != nil {
			return nil, err
		}
		switch e.Type {
		case agent.EntryMessage:
			run.closeCalls(results)
			run.Messages = append(run.Messages, *e.Message)
			clear(results)
		case agent.EntryResult:
			results[e.Result.CallID] = *e.Result
		}
	}
	if len(results) > 0 {
		run.closeCalls(results)
	}
	return run, nil
}

// closeCalls appends the results of the last message's calls, in call order.
func (r *Run) closeCalls(results map[string]agent.ToolResult) {
	if len(r.Messages) == 0 {
		return
	}
	last := r.Messages[len(r.Messages)-1]
	calls := last.Calls()
	if last.Role != agent.RoleAssistant || len(calls) == 0 {
		return
	}
	m := agent.Message{Role: agent.RoleTool}
	for _, c := range calls {
		res, ok := results[c.ID]
		if !ok {
			res = agent.ToolResult{CallID: c.ID, Parts: []agent.Part{agent.Text{Text: "(no result was recorded)"}}}
		}
		m.Parts = append(m.Parts, res)
	}
	r.Messages = append(r.Messages, m)
}
