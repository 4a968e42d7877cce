package replay

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// Run is a recorded run of an agent: the system prompt, the model's messages, and the messages that
// it received in reply.
type Run struct {
	Name     string
	System   string          // the system prompt, "" if it was not recorded
	Messages []agent.Message // paired as [agent.CheckPairing] requires; calls of the last message may lack results
}

// Tokens returns the estimated size of everything in the run, in tokens.
func (r *Run) Tokens() int {
	return count(r.System) + Tokens(r.Messages)
}

// Largest returns the size in tokens of the longest prompt of the recorded run. Results that came
// after the model's last answer were never part of a prompt.
func (r *Run) Largest() int {
	last := -1
	for i, m := range r.Messages {
		if m.Role == agent.RoleAssistant {
			last = i
		}
	}
	if last < 0 {
		return 0
	}
	return count(r.System) + Tokens(r.Messages[:last])
}

// argTexts returns the strings and numbers in a call's arguments, in the order of their keys, as a
// reader of the call sees them: without JSON escapes.
func argTexts(args json.RawMessage) []string {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(args)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return []string{string(args)}
	}
	var out []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case json.Number:
			out = append(out, v.String())
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				walk(v[k])
			}
		}
	}
	walk(v)
	return out
}

// writeText appends to b the text of ms as a model reads it, with a line break after each piece.
func writeText(b *strings.Builder, ms ...agent.Message) {
	for _, m := range ms {
		writeParts(b, m.Parts)
	}
}

func writeParts(b *strings.Builder, ps []agent.Part) {
	line := func(s string) { b.WriteString(s); b.WriteByte('\n') }
	for _, p := range ps {
		switch p := p.(type) {
		case agent.Text:
			line(p.Text)
		case agent.Thinking:
			line(p.Text)
		case agent.ToolCall:
			line(p.Name)
			for _, s := range argTexts(p.Args) {
				line(s)
			}
		case agent.ToolResult:
			writeParts(b, p.Parts)
		}
	}
}
