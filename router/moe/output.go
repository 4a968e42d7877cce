package moe

import (
	"errors"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
)

// output turns tokens into the chunks of an answer.
type output struct {
	decoder *tokenizer.Decoder
	parser  *toolformat.Parser
	stops   *stopFinder
	yield   func(agent.Chunk, error) bool

	stopped   bool // a stop text was found
	gone      bool // the consumer stopped reading
	calls     int
	cut       bool // a call was cut off
	reasoning bool // the last event was reasoning
}

// token handles one token and reports whether more tokens are wanted.
func (o *output) token(id int32) bool {
	return o.text(o.decoder.Write(id))
}

func (o *output) text(s string) bool {
	s, o.stopped = o.stops.feed(s)
	if s != "" {
		o.events(o.parser.Feed(s))
	}
	return !o.stopped && !o.gone
}

// close ends the answer and parses the text that was held back. It must be called once.
func (o *output) close() {
	if !o.stopped {
		if o.text(o.decoder.Flush()); !o.stopped {
			if rest := o.stops.flush(); rest != "" {
				o.events(o.parser.Feed(rest))
			}
		}
	}
	events, _ := o.parser.Close() // the problems are in the events
	o.events(events)
}

func (o *output) events(events []toolformat.Event) {
	for _, e := range events {
		if o.gone {
			return
		}
		for _, c := range o.chunks(e) {
			if !o.yield(c, nil) {
				o.gone = true
				return
			}
		}
	}
}

// chunks converts an event to agent chunks. Text after the calls was written without their results,
// so it is dropped, as every provider does.
func (o *output) chunks(e toolformat.Event) []agent.Chunk {
	o.reasoning = e.Kind == toolformat.Reasoning
	switch e.Kind {
	case toolformat.Content:
		return []agent.Chunk{agent.TextDelta{Text: e.Text}}
	case toolformat.Reasoning:
		return []agent.Chunk{agent.ThinkingDelta{Text: e.Text}}
	case toolformat.CallStart:
		o.calls++
		return []agent.Chunk{agent.ToolCallStart{Index: e.Index, ID: e.ID, Name: e.Name}}
	case toolformat.CallDelta:
		return []agent.Chunk{agent.ToolCallDelta{Index: e.Index, Args: e.Text}}
	case toolformat.CallEnd:
		o.cut = o.cut || e.Problem == toolformat.Truncated
	}
	return nil
}

// finish returns the reason why the answer ended.
func (o *output) finish(length bool) (agent.FinishReason, error) {
	switch {
	case o.cut && o.stopped:
		return "", &agent.ModelError{Kind: agent.ErrIncomplete, Provider: provider, Err: errors.New("a stop text of the request was found inside a tool call and cut it off; choose stop texts that no call holds")}
	case o.cut && !length:
		return "", &agent.ModelError{Kind: agent.ErrIncomplete, Provider: provider, Err: errors.New("the model ended its answer inside a tool call")}
	case length && !o.stopped:
		return agent.FinishLength, nil
	case o.calls > 0:
		return agent.FinishTools, nil
	}
	return agent.FinishStop, nil
}

// stopFinder cuts a text at the first occurrence of any stop text.
type stopFinder struct {
	stops []string
	held  string // text that may be the beginning of a stop text
}

// newStopFinder returns a finder for the stop texts of a request. Empty stop texts, which some
// clients send to mean none, are ignored.
func newStopFinder(stops []string) *stopFinder {
	return &stopFinder{stops: slices.DeleteFunc(slices.Clone(stops), func(s string) bool { return s == "" })}
}

// feed returns the text that cannot be part of a stop text, and whether a stop text was found. The
// returned text ends before the stop text.
func (f *stopFinder) feed(s string) (text string, found bool) {
	if len(f.stops) == 0 {
		return s, false
	}
	s = f.held + s
	f.held = ""
	at := -1
	for _, stop := range f.stops { // none of them is empty
		if i := strings.Index(s, stop); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at >= 0 {
		return s[:at], true
	}
	keep := 0
	for _, stop := range f.stops {
		for n := min(len(stop)-1, len(s)); n > keep; n-- {
			if strings.HasSuffix(s, stop[:n]) {
				keep = n
				break
			}
		}
	}
	f.held = s[len(s)-keep:]
	return s[:len(s)-keep], false
}

// flush returns the text that was held back.
func (f *stopFinder) flush() string {
	s := f.held
	f.held = ""
	return s
}
