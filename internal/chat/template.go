package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/jinja"
)

// Template renders conversations with the chat template of a model. It may be
// used by several goroutines at once.
type Template struct {
	t        *jinja.Template
	bos, eos string
	format   *Format
	caps     Caps
	shape    shape
	stops    []string
	fuel     int // steps that a rendering may take; 0 is the default of jinja
}

// probeFuel is the number of steps that a template may take for the small
// conversations it is probed with.
const probeFuel = 2_000_000

// NewTemplate parses the source of a chat template and finds out what it can
// take, by rendering some small conversations. Bos and eos are the texts of the
// model's tokens for the beginning and the end of a sequence.
func NewTemplate(src, bos, eos string) (*Template, error) {
	parsed, err := jinja.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("chat: parse template: %w", err)
	}
	t := &Template{t: parsed, bos: bos, eos: eos, format: Detect(src), fuel: probeFuel}
	if err := t.probe(); err != nil {
		return nil, err
	}
	t.stops = t.findStops()
	t.fuel = 0
	return t, nil
}

// Format returns how models with this template write calls.
func (t *Template) Format() *Format { return t.format }

// Caps returns what the template can take.
func (t *Template) Caps() Caps { return t.caps }

// Prompt is a rendered conversation.
type Prompt struct {
	Text string

	// Opening is the end of Text that opens the assistant's message. It may open
	// the thinking. It is what ParserOptions.Prompt asks for.
	Opening string
}

// Render returns the text of a conversation. What the template cannot take is put
// in a form that it can: a system prompt goes into the first user message, tools
// are described in the system prompt, results of tools come from the user.
func (t *Template) Render(c Conversation) (string, error) {
	return t.render(t.fit(c), t.shape)
}

// Prompt renders a conversation that the model is to continue, and tells the end
// of the text that opens its message. When the conversation ends with a message
// of the assistant, that message is left open for the model to go on with.
func (t *Template) Prompt(c Conversation) (Prompt, error) {
	last := Message{}
	if n := len(c.Messages); n > 0 && c.Messages[n-1].Role == "assistant" && len(c.Messages[n-1].Calls) == 0 {
		last = c.Messages[n-1]
		c.Messages = c.Messages[:n-1]
	}
	c = t.fit(c)
	c.GenerationPrompt = true
	with, err := t.render(c, t.shape)
	if err != nil {
		return Prompt{}, err
	}
	c.GenerationPrompt = false
	opening := ""
	if without, err := t.render(c, t.shape); err == nil {
		opening = with[commonPrefix(with, without):]
	}
	begun := t.beginning(last, opening)
	return Prompt{with + begun, opening + begun}, nil
}

// beginning returns the text of a message that the model is to go on with.
func (t *Template) beginning(m Message, opening string) string {
	think := t.format.Think
	s := ""
	open := t.format.opensThinking(opening)
	if m.Reasoning != "" && len(think.Open) > 0 {
		if !open {
			s = think.Open[0]
		}
		s += m.Reasoning
		open = true
	}
	text := m.Content
	for _, p := range m.Parts {
		text += p.Text
	}
	if text != "" && open && len(think.Close) > 0 {
		s += "\n" + think.Close[0] + "\n\n"
	}
	return s + text
}

// OpensThinking reports whether the prompt leaves the model inside its thinking.
func (t *Template) OpensThinking(p Prompt) bool { return t.format.opensThinking(p.Opening) }

// opensThinking reports whether text ends inside reasoning.
func (f *Format) opensThinking(text string) bool {
	last := func(marks []string) int {
		at := -1
		for _, m := range marks {
			at = max(at, strings.LastIndex(text, m))
		}
		return at
	}
	return last(f.Think.Open) > last(f.Think.Close)
}

// Stops returns the texts that end an assistant's message: after any of them the
// model has nothing more to say.
func (t *Template) Stops() []string { return t.stops }

// findStops finds what the template writes after an assistant's message.
func (t *Template) findStops() []string {
	var stops []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" && !contains(stops, s) {
			stops = append(stops, s)
		}
	}
	add(t.eos)
	const needle = "needle-of-an-answer"
	text, err := t.Render(Conversation{Messages: []Message{
		{Role: "user", Content: "hello"}, {Role: "assistant", Content: needle},
	}})
	if _, after, ok := strings.Cut(text, needle); err == nil && ok {
		if after = strings.TrimSpace(after); isControl(after) {
			add(after)
		}
	}
	for _, s := range t.format.Stops {
		add(s)
	}
	return stops
}

func contains(list []string, s string) bool {
	for _, t := range list {
		if s == t {
			return true
		}
	}
	return false
}

// isControl reports whether s looks like one control token.
func isControl(s string) bool {
	return len(s) > 2 && (s[0] == '<' && s[len(s)-1] == '>' || s[0] == '[' && s[len(s)-1] == ']') &&
		!strings.ContainsAny(s[1:len(s)-1], "<>[] \n")
}

// render renders messages that are already such as the template takes.
func (t *Template) render(c Conversation, as shape) (string, error) {
	vars, err := t.variables(c, as)
	if err != nil {
		return "", err
	}
	now := c.Now
	if now.IsZero() {
		now = time.Unix(0, 0).UTC()
	}
	text, err := t.t.Render(vars, jinja.Options{Now: now, Fuel: t.fuel})
	if err != nil {
		return "", fmt.Errorf("chat: render template: %w", err)
	}
	return text, nil
}

// commonPrefix returns how many bytes two texts share at the front, cut at a
// whole character.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return whole(a[:n])
}
