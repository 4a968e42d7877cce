package replay

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// builder assembles a run from messages in order. It keeps calls and results paired even if the
// record lacks some.
type builder struct {
	run    *Run
	inText bool // actions are code blocks in the text

	calls   []agent.ToolCall // of the last message, awaiting results
	given   []string         // their ids in the record
	results map[string]string
	action  bool // the open call is a code block, answered by the next user message
	next    int  // number of the next call
}

func (b *builder) add(role agent.Role, parts ...agent.Part) {
	b.run.Messages = append(b.run.Messages, agent.Message{Role: role, Parts: parts})
}

func (b *builder) user(text string) {
	if b.action {
		b.results = map[string]string{b.calls[0].ID: text}
		b.close()
		return
	}
	b.close()
	b.add(agent.RoleUser, agent.Text{Text: text})
}

// assistant adds an answer of the model. answered reports whether a user message follows it.
func (b *builder) assistant(m chatMessage, answered bool) {
	b.close()
	text := m.text()
	calls := m.ToolCalls
	if b.inText && answered {
		if before, command, ok := textAction(text); ok {
			args, _ := json.Marshal(map[string]string{"command": command}) // strings always encode
			text, calls, b.action = before, []chatCall{{Name: "shell", Arguments: args}}, true
		}
	}
	var parts []agent.Part
	if text != "" || len(calls) == 0 {
		parts = append(parts, agent.Text{Text: text})
	}
	for _, c := range calls {
		b.next++
		call := c.call("call_" + strconv.Itoa(b.next))
		b.calls, b.given = append(b.calls, call), append(b.given, c.ID)
		parts = append(parts, call)
	}
	b.add(agent.RoleAssistant, parts...)
}

// result records the result of an open call. A result that matches no call goes to the first open
// call without a result, since some records name no ids. If no call is open, it is recorded as a
// user message.
func (b *builder) result(id, text string) {
	if len(b.calls) == 0 {
		b.add(agent.RoleUser, agent.Text{Text: text})
		return
	}
	at := -1
	for i, g := range b.given {
		if _, done := b.results[b.calls[i].ID]; done {
			continue
		}
		if at < 0 || g == id && b.given[at] != id {
			at = i
		}
	}
	if at < 0 {
		b.close()
		b.add(agent.RoleUser, agent.Text{Text: text})
		return
	}
	if b.results == nil {
		b.results = map[string]string{}
	}
	b.results[b.calls[at].ID] = text
}

// close assigns the results to the open calls.
func (b *builder) close() {
	if len(b.calls) == 0 {
		return
	}
	parts := make([]agent.Part, len(b.calls))
	for i, c := range b.calls {
		text, ok := b.results[c.ID]
		if !ok {
			text = "(no result was recorded)"
		}
		parts[i] = agent.ToolResult{CallID: c.ID, Parts: []agent.Part{agent.Text{Text: text}}}
	}
	b.add(agent.RoleTool, parts...)
	b.calls, b.given, b.results, b.action = nil, nil, nil, false
}

// done returns the run. Calls of the last message that have no result at all stay open.
func (b *builder) done() *Run {
	if len(b.results) > 0 {
		b.close()
	}
	return b.run
}

// textAction splits off the last fenced code block of a text, for agents that act by writing one.
func textAction(text string) (before, command string, ok bool) {
	const fence = "```"
	end := strings.LastIndex(text, fence)
	if end < 0 {
		return "", "", false
	}
	begin := strings.LastIndex(text[:end], fence)
	if begin < 0 {
		return "", "", false
	}
	info, body, ok := strings.Cut(text[begin+len(fence):end], "\n")
	if !ok || strings.ContainsAny(info, " \t") || strings.TrimSpace(body) == "" {
		return "", "", false
	}
	return strings.TrimSpace(text[:begin]), strings.TrimSuffix(body, "\n"), true
}
