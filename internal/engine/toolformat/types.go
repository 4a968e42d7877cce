package toolformat

import (
	"encoding/json"
	"time"
)

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments; empty means any object
}

// Call is a tool call, in a conversation or in a message of a model.
type Call struct {
	ID   string
	Name string
	Args json.RawMessage // a JSON object; for a call with a Problem, the part that could be read

	Problem Problem // why the call must not be run; None in a valid call
	Raw     string  // for a call with a Problem: the text of the model
}

// Problem is the reason why a call that a model wrote cannot be run.
type Problem uint8

// The problems of a call.
const (
	None      Problem = iota
	Truncated         // the text ended inside the call
	Malformed         // the text of the call cannot be read
)

// String returns the problem in one word, or "" for None.
func (p Problem) String() string {
	switch p {
	case None:
		return ""
	case Truncated:
		return "truncated"
	}
	return "malformed"
}

// Part is a piece of typed content: text, or a placeholder for something else.
type Part struct {
	Type string // "text", "image", …
	Text string
}

// Message is one message of a conversation.
type Message struct {
	Role      string // system, user, assistant or tool
	Content   string
	Parts     []Part // typed content; used in place of Content when not empty
	Reasoning string // an assistant's thinking
	Calls     []Call // an assistant's tool calls
	CallID    string // for a tool's result: the id of the call it answers
	Name      string // for a tool's result: the tool's name
}

// Conversation is the input of a template.
type Conversation struct {
	Messages []Message
	Tools    []Tool

	// GenerationPrompt requests the opening of the assistant's next message.
	GenerationPrompt bool

	// Thinking sets the template's enable_thinking flag; nil leaves it unset.
	Thinking *bool

	// Vars holds further variables of the template, each a JSON value.
	Vars map[string]json.RawMessage

	// Now is the time that strftime_now uses; the zero time is the Unix epoch.
	Now time.Time
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events.
const (
	Content   EventKind = iota // Text is a piece of the answer
	Reasoning                  // Text is a piece of the thinking
	Trailing                   // Text follows the calls; the model wrote it without waiting for their results
	CallStart                  // a call begins: Index, ID and Name are set
	CallDelta                  // Text is a piece of the arguments of call Index, as JSON
	CallEnd                    // call Index ends; ID is set if the model wrote one after the start
)

// Event is a piece of a model's message.
type Event struct {
	Kind    EventKind
	Text    string
	Index   int // of a call: its position in the message, from 0
	ID      string
	Name    string
	Problem Problem // for CallEnd: the reason why the call must not be run
	Raw     string  // for CallEnd with a Problem: the text of the model
}

// Reply is a model's message assembled from events. The zero Reply is empty.
type Reply struct {
	Content   string
	Reasoning string
	Trailing  string
	Calls     []Call
}

// Add appends the contents of events.
func (r *Reply) Add(events ...Event) {
	for _, e := range events {
		switch e.Kind {
		case Content:
			r.Content += e.Text
		case Reasoning:
			r.Reasoning += e.Text
		case Trailing:
			r.Trailing += e.Text
		case CallStart:
			r.Calls = append(r.Calls, Call{ID: e.ID, Name: e.Name})
		case CallDelta:
			c := &r.Calls[e.Index]
			c.Args = append(c.Args, e.Text...)
		case CallEnd:
			c := &r.Calls[e.Index]
			c.Problem, c.Raw = e.Problem, e.Raw
			if e.ID != "" {
				c.ID = e.ID
			}
		}
	}
}

// Sound returns the reply with only the calls that can be run. The text of the others is moved back
// to the content, so that no text of the model is lost.
func (r Reply) Sound() Reply {
	var calls []Call
	for _, c := range r.Calls {
		if c.Problem == None {
			calls = append(calls, c)
		} else {
			r.Content += c.Raw
		}
	}
	r.Calls = calls
	return r
}

// ParserOptions specifies the way in which the text of a model is parsed. The zero value is for a
// message of which the prompt contains nothing.
type ParserOptions struct {
	// Prompt is the end of the rendered prompt, starting with the opening of the assistant's
	// message. It may have opened the thinking.
	Prompt string

	// Continue reports whether Prompt also contains the beginning of the message itself, which is
	// then reported with the rest.
	Continue bool

	// KeepReasoning specifies that reasoning remains in the content, including its markers.
	KeepReasoning bool

	// NoCalls specifies that calls are treated as plain text.
	NoCalls bool

	// JSON specifies that the answer is one JSON document: it is not treated as a bare call, and
	// white space around it is dropped.
	JSON bool

	// NewID returns the id for call n (from 0) if the model writes none. By default ids are
	// "call00000", "call00001", …: nine letters and digits, which every known template accepts.
	NewID func(n int) string
}
