package toolformat

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/jinja"
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
	fuel     int // maximum number of steps of a rendering; 0 means the default of jinja
}

// probeFuel is the maximum number of steps of a template for the small conversations of a probe.
const probeFuel = 2_000_000

// NewTemplate parses the source of a chat template and determines the features that it accepts, by
// rendering some small conversations. The parameters bos and eos are the texts of the model's
// tokens for the beginning and the end of a sequence.
func NewTemplate(src, bos, eos string) (*Template, error) {
	parsed, err := jinja.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("toolformat: parse template: %w", err)
	}
	t := &Template{t: parsed, bos: bos, eos: eos, format: Detect(src), fuel: probeFuel}
	if err := t.probe(); err != nil {
		return nil, err
	}
	t.stops = t.findStops()
	t.fuel = 0
	return t, nil
}

// Format returns the format in which models with this template write calls.
func (t *Template) Format() *Format { return t.format }

// Caps returns the features that the template accepts.
func (t *Template) Caps() Caps { return t.caps }

// Prompt is a rendered conversation.
type Prompt struct {
	Text string

	// Opening is the end of Text that opens the assistant's message. It may open the thinking. It
	// must be passed as ParserOptions.Prompt.
	Opening string
}

// Render returns the text of a conversation. Anything that the template does not accept is
// converted to a form that it accepts: a system prompt is moved to the first user message, tools
// are described in the system prompt, and results of tools are written as messages of the user.
func (t *Template) Render(c Conversation) (string, error) {
	text, _, err := t.fitted(c)
	return text, err
}

// fitted renders a conversation in a form that the template accepts, and returns that form. If the
// schemas of the tools are the problem, it adds the parts that templates expect in them, or else
// describes the tools in words.
func (t *Template) fitted(c Conversation) (string, Conversation, error) {
	fit := t.fit(c)
	text, err := t.render(fit, t.shape)
	if err == nil || len(fit.Tools) == 0 {
		return text, fit, err
	}
	filled := c
	filled.Tools = make([]Tool, len(c.Tools))
	for i, tool := range c.Tools {
		tool.Parameters = filledSchema(tool.Parameters)
		filled.Tools[i] = tool
	}
	filled = t.fit(filled)
	if text, err2 := t.render(filled, t.shape); err2 == nil {
		return text, filled, nil
	}
	words := c
	words.Messages = withSystem(c.Messages, t.describe(c.Tools))
	words.Tools = nil
	words = t.fit(words)
	if text, err2 := t.render(words, t.shape); err2 == nil {
		return text, words, nil
	}
	return "", fit, err
}

// Prompt renders a conversation that the model is to continue, and finds the end of the text that
// opens the model's message. If the conversation ends with a message of the assistant, that message
// is left open so that the model can continue it.
func (t *Template) Prompt(c Conversation) (Prompt, error) {
	last := Message{}
	if n := len(c.Messages); n > 0 && c.Messages[n-1].Role == "assistant" && len(c.Messages[n-1].Calls) == 0 {
		last = c.Messages[n-1]
		c.Messages = c.Messages[:n-1]
	}
	c.GenerationPrompt = true
	with, c, err := t.fitted(c)
	if err != nil {
		return Prompt{}, err
	}
	c.GenerationPrompt = false
	opening := ""
	if without, err := t.render(c, t.shape); err == nil {
		opening = with[commonMarks(with, without):]
	}
	begun := t.beginning(last, opening)
	return Prompt{with + begun, opening + begun}, nil
}

// beginning returns the text of a message that the model is to continue.
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

// OpensThinking reports whether the prompt ends inside the model's thinking.
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

// Stops returns the texts that end an assistant's message: after any of them, the message is
// complete.
func (t *Template) Stops() []string { return t.stops }

// findStops finds the text that the template writes after an assistant's message.
func (t *Template) findStops() []string {
	var stops []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" && !contains(stops, s) {
			stops = append(stops, s)
		}
	}
	add(t.eos)
	const question, needle = "needle-of-a-question", "needle-of-an-answer"
	text, err := t.Render(Conversation{Messages: []Message{
		{Role: "user", Content: question}, {Role: "assistant", Content: needle},
	}})
	if _, after, ok := strings.Cut(text, needle); err == nil && ok {
		if after = strings.TrimSpace(after); isControl(after) {
			add(after)
		}
		// Of several tokens there, the message ends with the last one that also ends a user's
		// message.
		asked, last := controlsAfter(text, question), ""
		for _, c := range controlsAfter(text, needle) {
			if contains(asked, c) && !t.format.marks(c) {
				last = c
			}
		}
		add(last)
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

// marks reports whether a control token is part of a longer marker.
func (f *Format) marks(token string) bool {
	return slices.ContainsFunc(f.Drop, func(d string) bool { return d != token && strings.Contains(d, token) })
}

// opensTurn matches tokens that begin a message.
var opensTurn = regexp.MustCompile(`(?i)start|begin|open|bos|bom|assistant|user|chatbot|model`)

// controlsAfter returns the control tokens that follow a needle in a text. It stops at any other
// text and at a token that begins a message.
func controlsAfter(text, needle string) []string {
	_, s, _ := strings.Cut(text, needle)
	var list []string
	for {
		s = strings.TrimSpace(s)
		end := strings.IndexAny(s, ">]")
		if end < 0 || !isControl(s[:end+1]) || opensTurn.MatchString(s[:end+1]) {
			return list
		}
		list, s = append(list, s[:end+1]), s[end+1:]
	}
}

// isControl reports whether s looks like one control token.
func isControl(s string) bool {
	return len(s) > 2 && (s[0] == '<' && s[len(s)-1] == '>' || s[0] == '[' && s[len(s)-1] == ']') &&
		!strings.ContainsAny(s[1:len(s)-1], "<>[] \n")
}

// render renders messages that are already in a form that the template accepts.
func (t *Template) render(c Conversation, as shape) (string, error) {
	vars, err := t.variables(c, as)
	if err != nil {
		return "", err
	}
	now := c.Now
	if now.IsZero() {
		now = time.Unix(0, 0).UTC()
	}
	// Some templates modify lists, which Hugging Face refuses and other engines allow.
	text, err := t.t.Render(vars, jinja.Options{Now: now, Fuel: t.fuel, AllowMutation: true})
	if err != nil {
		return "", fmt.Errorf("toolformat: render template: %w", err)
	}
	return text, nil
}

// commonMarks returns the number of bytes in the common prefix of two texts, shortened to whole
// markers.
func commonMarks(a, b string) int {
	n := commonPrefix(a, b)
	if i := strings.LastIndexByte(a[:n], '<'); i >= 0 && n < len(a) && !strings.ContainsAny(a[i:n], "> \n") {
		return i
	}
	return n
}

// commonPrefix returns the number of bytes in the common prefix of two texts, shortened to whole
// characters.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return whole(a[:n])
}
