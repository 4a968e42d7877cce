package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// maxFile is the largest file that Read accepts.
const maxFile = 256 << 20

// Read reads a recorded run. It accepts a session log of this library ([agent.ReadEntries]), or a
// JSON document with messages in the form of chat completions: an array, or an object with
// "messages". name becomes the run's name.
func Read(name string, r io.Reader) (*Run, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("replay: read %s: %w", name, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("replay: read %s: more than %d bytes", name, maxFile)
	}
	run, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("replay: read %s: %w", name, err)
	}
	run.Name = name
	if len(run.Messages) == 0 {
		return nil, fmt.Errorf("replay: read %s: no messages; give a session log or a JSON document with \"messages\"", name)
	}
	if err := agent.CheckPairing(run.Messages); err != nil {
		return nil, fmt.Errorf("replay: read %s: %w", name, err)
	}
	return run, nil
}

func parse(data []byte) (*Run, error) {
	if isSession(data) {
		return parseSession(data)
	}
	var doc struct {
		Messages []chatMessage `json:"messages"`
	}
	var err error
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '[' {
		err = json.Unmarshal(text, &doc.Messages)
	} else {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		return nil, err
	}
	return fromChat(doc.Messages)
}

// chatMessage is a message in the form of chat completions.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

// chatCall is a call in the form of chat completions. Its name and arguments may also be outside
// "function".
type chatCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// call returns c as a tool call. Arguments given as a string hold JSON, as the API sends them.
func (c chatCall) call(id string) agent.ToolCall {
	name, args := c.Function.Name, c.Function.Arguments
	if name == "" {
		name, args = c.Name, c.Arguments
	}
	var inner string
	if json.Unmarshal(args, &inner) == nil && len(args) > 0 && args[0] == '"' {
		args = json.RawMessage(inner)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return agent.ToolCall{ID: id, Name: name, Args: args}
}

// text returns the content of m: a string, or the text of its parts.
func (m chatMessage) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// fromChat turns chat messages into a run. Runs without any tool call may hold their actions in
// code blocks.
func fromChat(ms []chatMessage) (*Run, error) {
	b := builder{run: &Run{}, inText: true}
	for _, m := range ms {
		b.inText = b.inText && len(m.ToolCalls) == 0
	}
	for i, m := range ms {
		switch m.Role {
		case "system", "developer":
			if len(b.run.Messages) == 0 && b.run.System == "" {
				b.run.System = m.text()
				continue
			}
			b.user(m.text())
		case "user":
			b.user(m.text())
		case "assistant":
			answered := i+1 < len(ms) && ms[i+1].Role == "user"
			b.assistant(m, answered)
		case "tool", "function":
			b.result(m.ToolCallID, m.text())
		default:
			return nil, fmt.Errorf("message %d has the unknown role %q", i, m.Role)
		}
	}
	return b.done(), nil
}
