package toolformat

import (
	"fmt"
	"slices"
	"strings"
)

// fit converts a conversation to a form that the template accepts.
func (t *Template) fit(c Conversation) Conversation {
	messages := append([]Message(nil), c.Messages...)
	if len(c.Tools) > 0 && !t.caps.Tools {
		messages = withSystem(messages, t.describe(c.Tools))
		c.Tools = nil
	}
	if !t.caps.LongIDs {
		messages = shortIDs(messages)
	}
	if t.caps.Calls && !t.caps.Parallel {
		messages = oneByOne(messages)
	}
	if t.caps.Calls {
		messages = t.besideCalls(messages)
	}
	messages = t.spellOut(messages)
	if !t.caps.Answers {
		messages = transcript(messages)
	}
	if !t.caps.System {
		messages = foldSystem(messages)
	}
	if !t.caps.Repeats {
		messages = mergeUsers(messages)
	}
	c.Messages = messages
	return c
}

// besideCalls changes messages with calls if the template does not accept their text and thinking
// together with calls: text and thinking are joined, or the text is moved to a separate message.
func (t *Template) besideCalls(messages []Message) []Message {
	if t.caps.CallThink {
		return messages
	}
	out := make([]Message, 0, len(messages))
	for _, m := range messages {
		if len(m.Calls) > 0 && (m.Content != "" || len(m.Parts) > 0) {
			m = flat(m)
			if m.Reasoning != "" && t.caps.CallText {
				m.Content, m.Reasoning = m.Reasoning+"\n\n"+m.Content, ""
			}
			if !t.caps.CallText {
				out = append(out, Message{Role: m.Role, Content: m.Content})
				m.Content = ""
			}
		}
		out = append(out, m)
	}
	return out
}

// withSystem appends text to the system message, or adds one.
func withSystem(messages []Message, text string) []Message {
	if len(messages) > 0 && messages[0].Role == "system" {
		m := flat(messages[0])
		m.Content += "\n\n" + text
		return append([]Message{m}, messages[1:]...)
	}
	return append([]Message{{Role: "system", Content: text}}, messages...)
}

// flat returns a message with its typed parts joined into one text.
func flat(m Message) Message {
	for i, p := range m.Parts {
		if i > 0 {
			m.Content += "\n"
		}
		m.Content += p.Text
	}
	m.Parts = nil
	return m
}

// describe describes tools to the model in words, for templates without support for tools.
func (t *Template) describe(tools []Tool) string {
	var b strings.Builder
	b.WriteString("You can call these functions:\n<tools>\n")
	for _, tool := range tools {
		b.Write(toolJSON(tool))
		b.WriteByte('\n')
	}
	b.WriteString("</tools>\n\nTo call one, write its name and arguments in exactly this form:\n")
	b.WriteString(t.example())
	return b.String()
}

// example returns an example of a call for the model.
func (t *Template) example() string {
	call := Call{ID: "call00001", Name: "function_name", Args: []byte(`{"argument": "value"}`)}
	if !t.caps.Calls {
		return t.format.Write([]Call{call})
	}
	c := Conversation{Messages: []Message{{Role: "user", Content: "hello"}}, GenerationPrompt: true}
	before, err := t.render(c, t.shape)
	c.Messages = append(c.Messages, Message{Role: "assistant", Calls: []Call{call}})
	c.GenerationPrompt = false
	after, err2 := t.render(c, t.shape)
	if err != nil || err2 != nil {
		return t.format.Write([]Call{call})
	}
	text := after[commonPrefix(before, after):]
	text = strings.TrimSuffix(strings.TrimSpace(text), strings.TrimSpace(t.eos))
	var reply Reply
	p := t.format.NewParser(nil, ParserOptions{})
	reply.Add(p.Feed(text)...)
	events, _ := p.Close()
	if reply.Add(events...); len(reply.Sound().Calls) != 1 {
		return t.format.Write([]Call{call})
	}
	return text
}

// spellOut writes calls and results as text if the template does not accept them.
func (t *Template) spellOut(messages []Message) []Message {
	if t.caps.Calls && t.caps.Results {
		return messages
	}
	const results = "Results:"
	out := make([]Message, 0, len(messages))
	for _, m := range messages {
		m = flat(m)
		if !t.caps.Calls {
			if len(m.Calls) > 0 && m.Content != "" {
				m.Content += "\n"
			}
			m.Content += t.format.Write(m.Calls)
			m.Calls = nil
		}
		if m.Role == "tool" {
			text := "\n<tool_response>\n" + m.Content + "\n</tool_response>"
			if n := len(out); n > 0 && out[n-1].Role == "user" && strings.HasPrefix(out[n-1].Content, results) {
				out[n-1].Content += text
				continue
			}
			m = Message{Role: "user", Content: results + text}
		}
		out = append(out, m)
	}
	return out
}

// transcript puts the whole conversation into one user message.
func transcript(messages []Message) []Message {
	said := func(m Message) bool { return m.Role == "assistant" }
	if !slices.ContainsFunc(messages, said) {
		return messages
	}
	var out []Message
	var b strings.Builder
	for _, m := range messages {
		m = flat(m)
		switch {
		case m.Role == "system":
			out = append(out, m)
			continue
		case said(m):
			b.WriteString("You said:\n")
		default:
			b.WriteString("The user said:\n")
		}
		b.WriteString(m.Content + "\n\n")
	}
	return append(out, Message{Role: "user", Content: strings.TrimSpace(b.String())})
}

// foldSystem puts system messages in front of the user message that follows.
func foldSystem(messages []Message) []Message {
	var out []Message
	held := ""
	for _, m := range messages {
		switch {
		case m.Role == "system":
			held += flat(m).Content + "\n\n"
			continue
		case m.Role == "user" && held != "":
			m = flat(m)
			m.Content = held + m.Content
			held = ""
		}
		out = append(out, m)
	}
	if held != "" {
		out = append(out, Message{Role: "user", Content: strings.TrimSpace(held)})
	}
	return out
}

// mergeUsers joins adjacent user messages.
func mergeUsers(messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		if n := len(out); n > 0 && m.Role == "user" && out[n-1].Role == "user" {
			out[n-1] = flat(out[n-1])
			out[n-1].Content += "\n\n" + flat(m).Content
			continue
		}
		out = append(out, m)
	}
	return out
}

// oneByOne puts every call of a message into a separate message, followed by its result.
func oneByOne(messages []Message) []Message {
	var out []Message
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if len(m.Calls) < 2 {
			out = append(out, m)
			continue
		}
		end := i + 1
		for end < len(messages) && messages[end].Role == "tool" {
			end++
		}
		results := append([]Message(nil), messages[i+1:end]...)
		for k, c := range m.Calls {
			one := Message{Role: m.Role, Calls: []Call{c}}
			if k == 0 {
				one.Content, one.Parts, one.Reasoning = m.Content, m.Parts, m.Reasoning
			}
			out = append(out, one)
			results = slices.DeleteFunc(results, func(r Message) bool {
				mine := r.CallID == c.ID || k == len(m.Calls)-1
				if mine {
					out = append(out, r)
				}
				return mine
			})
		}
		i = end - 1
	}
	return out
}

// shortIDs renames the ids of calls to nine letters and digits, in order.
func shortIDs(messages []Message) []Message {
	ids := map[string]string{}
	short := func(id string) string {
		if id == "" {
			return ""
		}
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("call%05d", len(ids))
		}
		return ids[id]
	}
	out := append([]Message(nil), messages...)
	for i := range out {
		m := &out[i]
		m.CallID = short(m.CallID)
		m.Calls = append([]Call(nil), m.Calls...)
		for k := range m.Calls {
			m.Calls[k].ID = short(m.Calls[k].ID)
		}
	}
	return out
}
