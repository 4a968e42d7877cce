package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/json/jsonstream"
)

// responseBuilder assembles the chunks of one stream into a message. Parts are in the order in
// which they open; interleaved call deltas are assigned to their calls by index.
type responseBuilder struct {
	parts  []Part
	open   openPart
	text   textBuffer
	calls  []callBuilder
	usage  Usage
	finish FinishReason
	ended  bool // Finish was seen
	step   int  // names calls that came without an id, if newID is nil

	thinker string // provider of the open thinking part

	tools   *toolset      // if not nil, corrects the names of its tools
	newID   func() string // if not nil, names calls without an id, so that ids differ between the runs of a session
	maxArgs int           // limit on the bytes kept of one call's arguments; 0 or less keeps all
}

// reset prepares the builder for the response of a step. The parts of the previous response belong
// to its message.
func (b *responseBuilder) reset(step int, tools *toolset, newID func() string) {
	clear(b.calls) // so that their texts can be freed
	b.text.reset()
	*b = responseBuilder{calls: b.calls[:0], step: step, tools: tools, newID: newID, text: b.text}
}

type openPart uint8

const (
	openNone openPart = iota
	openText
	openThinking
)

// callBuilder is one tool call while its arguments are arriving.
type callBuilder struct {
	index int // the model's number for it
	slot  int // position in parts
	id    string
	name  string
	args  textBuffer
	size  int // bytes of arguments received
	last  byte
	over  bool // more bytes came than are accepted: args is empty
	scan  jsonstream.Scanner
	taken bool // passed to the scheduler
}

// textBuffer joins strings. It costs nothing if there is only one.
type textBuffer struct {
	spare []byte // memory to join in, from an earlier use
	one   string
	many  []byte
}

func (t *textBuffer) add(s string) {
	switch {
	case t.many != nil:
		t.many = append(t.many, s...)
	case t.one == "":
		t.one = s
	case s != "":
		if t.spare == nil {
			t.spare = make([]byte, 0, 2*(len(t.one)+len(s))+64)
		}
		t.many = append(append(t.spare[:0], t.one...), s...)
	}
}

// reset empties the buffer and keeps its memory.
func (t *textBuffer) reset() {
	if t.many != nil {
		t.spare = t.many[:0]
	}
	t.one, t.many = "", nil
}

func (t *textBuffer) len() int {
	if t.many != nil {
		return len(t.many)
	}
	return len(t.one)
}

func (t *textBuffer) String() string {
	if t.many != nil {
		return string(t.many)
	}
	return t.one
}

// add takes one chunk and returns the call whose arguments it completed, if any.
func (b *responseBuilder) add(c Chunk) *callBuilder {
	switch c := c.(type) {
	case TextDelta:
		if b.open != openText {
			b.closePart()
			b.open = openText
		}
		b.text.add(c.Text)
	case ThinkingDelta:
		b.addThinking(c)
	case ToolCallStart:
		b.closePart()
		b.startCall(c)
	case ToolCallDelta:
		return b.addArgs(c)
	case Opaque:
		b.closePart()
		b.parts = append(b.parts, c)
	case Usage:
		b.usage = c
		b.usage.clamp()
	case Finish:
		b.closePart()
		b.finish = c.Reason
		b.ended = true
	}
	return nil
}

func (b *responseBuilder) addThinking(c ThinkingDelta) {
	if b.open != openThinking || (c.Provider != b.thinker && c.Provider != "" && b.thinker != "") {
		b.closePart()
		b.open = openThinking
	}
	b.text.add(c.Text)
	if c.Provider != "" {
		b.thinker = c.Provider
	}
	if c.Signature != "" || c.Redacted != nil {
		b.parts = append(b.parts, Thinking{Text: validText(b.text.String()), Signature: c.Signature, Redacted: c.Redacted, Provider: b.thinker})
		b.text.reset()
		b.open, b.thinker = openNone, ""
	}
}

func (b *responseBuilder) startCall(c ToolCallStart) {
	b.parts = append(b.parts, nil) // filled when the message is built
	id := c.ID
	for n := 0; id == "" || !utf8.ValidString(id) || b.hasCall(id); n++ { // two calls with one id could not be answered
		if b.newID != nil && n == 0 {
			id = "call_" + b.newID()
		} else {
			id = fmt.Sprintf("call_%d_%d", b.step, len(b.calls)+n)
		}
	}
	b.calls = append(b.calls, callBuilder{index: c.Index, slot: len(b.parts) - 1, id: id, name: b.name(c.Name)})
}

func (b *responseBuilder) hasCall(id string) bool {
	for i := range b.calls {
		if b.calls[i].id == id {
			return true
		}
	}
	return false
}

// name returns the name of a call in the history: that of the offered tool that it means.
func (b *responseBuilder) name(name string) string {
	if b.tools != nil {
		if tool, ok := b.tools.canonical(name); ok {
			return tool
		}
	}
	return historyName(name)
}

// historyName makes a tool name safe to send back: providers reject a whole history because of one
// invalid name.
func historyName(name string) string {
	if toolName.MatchString(name) {
		return name
	}
	clean := []byte(name[:min(len(name), 64)])
	for i, c := range clean {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			clean[i] = '_'
		}
	}
	if len(clean) == 0 {
		return "unnamed"
	}
	return string(clean)
}

// addArgs finds the call by index, newest first: if a backend reuses an index, it means the latest
// call.
func (b *responseBuilder) addArgs(c ToolCallDelta) *callBuilder {
	for i := len(b.calls) - 1; i >= 0; i-- {
		call := &b.calls[i]
		if call.index != c.Index {
			continue
		}
		if !call.taken && call.add(c.Args, b.maxArgs) { // whatever follows complete arguments is not part of them
			return call
		}
		return nil
	}
	// Arguments for a call that never started: keep them under a name no tool has, so that the
	// model receives an error.
	b.closePart()
	b.startCall(ToolCallStart{Index: c.Index})
	return b.addArgs(c)
}

// add appends a piece of the arguments and reports whether they are complete. Beyond the limit
// nothing is kept: arguments that will be refused must fill neither the memory nor, later, the
// history.
func (c *callBuilder) add(piece string, limit int) bool {
	c.size += len(piece)
	if t := strings.TrimRight(piece, " \t\r\n"); t != "" {
		c.last = t[len(t)-1]
	}
	switch {
	case limit > 0 && c.size > limit:
		c.args, c.over = textBuffer{}, true
	default:
		c.args.add(piece)
	}
	return c.scan.Feed(piece)
}

// truncated reports whether the arguments began as an object and stop in the middle of it. Text
// that ends like an object, or like a code fence around one, is merely malformed: the tool may be
// able to repair it.
func (c *callBuilder) truncated() bool {
	if c.over || c.scan.Complete() || !strings.HasPrefix(strings.TrimLeft(c.args.String(), " \t\r\n"), "{") {
		return false
	}
	return !strings.ContainsRune("}`;)", rune(c.last))
}

// validText is strings.ToValidUTF8 with a fast path for valid text.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// closePart ends the open text or thinking part.
func (b *responseBuilder) closePart() {
	switch {
	case b.open == openText && b.text.len() > 0:
		b.parts = append(b.parts, Text{Text: validText(b.text.String())})
	case b.open == openThinking && b.text.len() > 0:
		b.parts = append(b.parts, Thinking{Text: validText(b.text.String()), Provider: b.thinker})
	}
	b.text.reset()
	b.open, b.thinker = openNone, ""
}

// call returns the finished call; empty arguments become an empty object.
func (c *callBuilder) call() ToolCall {
	args := c.args.String()
	if !c.scan.Started() || c.over {
		args = "{}"
	}
	return ToolCall{ID: c.id, Name: c.name, Args: json.RawMessage(args)}
}

// response returns what has been collected so far.
func (b *responseBuilder) response() *Response {
	b.closePart()
	for i := range b.calls {
		if c := &b.calls[i]; b.parts[c.slot] == nil {
			b.parts[c.slot] = c.call()
		}
	}
	return &Response{Message: Message{Role: RoleAssistant, Parts: b.parts}, Usage: b.usage, Finish: b.finish}
}

var errNoFinish = errors.New("the stream ended before the response was finished; send the request again")

// complete returns an error unless the stream ended with Finish in a live context.
func (b *responseBuilder) complete(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &ModelError{Kind: ErrCanceled, Err: fmt.Errorf("collect stream: %w", context.Cause(ctx))}
	}
	if !b.ended {
		return &ModelError{Kind: ErrIncomplete, Err: errNoFinish}
	}
	return nil
}

// maxRoom is the largest buffer that a run passes on; a larger one is garbage collected.
const maxRoom = 1 << 20

// takeRoom returns a buffer from an earlier run for joining streamed text, or nil.
func (a *Agent) takeRoom() []byte {
	if p, ok := a.rooms.Get().(*[]byte); ok {
		return *p
	}
	return nil
}

// giveRoom keeps the buffer of a run that ended for the next run.
func (a *Agent) giveRoom(t *textBuffer) {
	t.reset()
	if room := t.spare; room != nil && cap(room) <= maxRoom {
		a.rooms.Put(&room)
	}
	t.spare = nil
}
