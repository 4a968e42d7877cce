package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// history is a conversation in the API's form: alternating turns that begin with a user, each call
// answered in the turn after it.
type history struct {
	turns   []turn
	pairs   wire.Pairs        // calls and their results
	fit     fit               // the form in which the server takes reasoning
	tools   []string          // names of the tools called, in order of first use
	thinker string            // whose reasoning is sent
	err     *agent.ModelError // the first part that cannot be sent
}

type turn struct {
	user    bool
	results []block // tool results, which must come first
	rest    []block
}

type blockKind uint8

const (
	blockText blockKind = iota
	blockImage
	blockThinking
	blockRedacted
	blockCall
	blockResult
	blockRaw
)

// block is one content block. Which fields are used depends on the kind.
type block struct {
	kind    blockKind
	text    string // text, thinking, or redacted data
	id      string // signature, or id of a call
	name    string
	raw     json.RawMessage // arguments, or the whole block
	image   *image
	content []block                    // of a result
	fields  map[string]json.RawMessage // of a call, to be sent back with it
	isError bool
}

const (
	noResultText = "No result was recorded for this call; it may not have run."
	noOutputText = "(no output)"
	startText    = "(The conversation so far was shortened.)"
)

// newHistory converts msgs. The form of a message depends on it and on those before it, never on
// later ones, except for calls that have no result yet.
func newHistory(msgs []agent.Message, thinker string, f fit) (*history, *agent.ModelError) {
	h := &history{thinker: thinker, fit: f, turns: make([]turn, 0, len(msgs)), pairs: wire.Pairs{Rule: f.ids}}
	for i := range msgs {
		if msgs[i].Role == agent.RoleAssistant {
			h.addAssistant(msgs[i].Parts)
		} else {
			h.addUser(msgs[i].Parts)
		}
		if h.err != nil {
			h.err.Err = fmt.Errorf("message %d: %w", i, h.err.Err)
			return nil, h.err
		}
	}
	h.settle()
	return h, nil
}

// turn returns the turn to add to and starts a new one when the speaker changes.
func (h *history) turn(user bool) *turn {
	if n := len(h.turns); n > 0 && h.turns[n-1].user == user {
		return &h.turns[n-1]
	}
	if len(h.turns) == 0 && !user {
		h.turns = append(h.turns, turn{user: true, rest: []block{{kind: blockText, text: startText}}})
	}
	h.turns = append(h.turns, turn{user: user})
	return &h.turns[len(h.turns)-1]
}

// settle adds results for calls that have none.
func (h *history) settle() {
	for _, id := range h.pairs.Settle() {
		t := h.turn(true)
		t.results = append(t.results, block{kind: blockResult, id: id, isError: true,
			content: []block{{kind: blockText, text: noResultText}}})
	}
}

func (h *history) addAssistant(parts []agent.Part) {
	if n := len(h.turns); n > 0 && h.turns[n-1].user {
		h.settle()
	}
	blocks := make([]block, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			blocks = appendText(blocks, p.Text)
		case agent.Thinking:
			blocks = h.appendThinking(blocks, p)
		case agent.Opaque:
			blocks = appendOpaque(blocks, p)
		case agent.ToolCall:
			blocks = append(blocks, h.call(p, parts))
		case agent.Image:
			blocks = appendText(blocks, "[an image]")
		case agent.ToolResult:
			blocks = appendText(blocks, orphanText(p))
		}
	}
	if len(blocks) == 0 {
		return
	}
	if last := &blocks[len(blocks)-1]; last.kind == blockText {
		last.text = strings.TrimRightFunc(last.text, unicode.IsSpace)
	}
	t := h.turn(false)
	t.rest = append(t.rest, h.withThinking(t, blocks)...)
}

func (h *history) addUser(parts []agent.Part) {
	var results, rest []block
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			rest = appendText(rest, p.Text)
		case agent.Image:
			rest = h.appendImage(rest, p)
		case agent.Opaque:
			rest = appendOpaque(rest, p)
		case agent.ToolResult:
			if wire, ok := h.pairs.Answer(p.CallID); ok {
				results = append(results, h.result(p, wire))
				continue
			}
			rest = appendText(rest, orphanText(p))
			for _, sub := range p.Parts {
				if img, ok := sub.(agent.Image); ok {
					rest = h.appendImage(rest, img)
				}
			}
		case agent.ToolCall:
			rest = appendText(rest, fmt.Sprintf("Call of %s: %s", p.Name, p.Args))
		}
	}
	if len(results)+len(rest) == 0 {
		return
	}
	t := h.turn(true)
	t.results = append(t.results, results...)
	t.rest = append(t.rest, rest...)
}

func (h *history) call(c agent.ToolCall, parts []agent.Part) block {
	name := wire.Name(c.Name, "unknown_tool", "")
	if len(name) > 128 {
		name = name[:128]
	}
	if !slices.Contains(h.tools, name) {
		h.tools = append(h.tools, name)
	}
	return block{kind: blockCall, id: h.pairs.Call(c.ID), name: name, raw: wire.Object(c.Args), fields: wire.FieldsOf(parts, h.thinker, c.ID)}
}

func (h *history) result(r agent.ToolResult, wire string) block {
	b := block{kind: blockResult, id: wire, isError: r.IsError}
	for _, p := range r.Parts {
		switch p := p.(type) {
		case agent.Text:
			b.content = appendText(b.content, p.Text)
		case agent.Image:
			b.content = h.appendImage(b.content, p)
		case agent.Opaque:
			b.content = appendOpaque(b.content, p)
		}
	}
	if len(b.content) == 0 { // the API refuses a failed result without content
		b.content = []block{{kind: blockText, text: noOutputText}}
	}
	return b
}

func (h *history) appendImage(blocks []block, p agent.Image) []block {
	img, err := wireImage(p)
	if err != nil {
		if h.err == nil {
			h.err = err
		}
		return blocks
	}
	return append(blocks, block{kind: blockImage, image: img})
}

// loopThinks reports whether the API accepts a thinking budget for this history: in the middle of a
// tool loop, the first answer since the user's last message must begin with thinking.
func (h *history) loopThinks() bool {
	var first *turn
	for i := len(h.turns) - 1; i >= 0; i-- {
		t := &h.turns[i]
		if t.user && len(t.results) == 0 {
			break
		}
		if !t.user {
			first = t
		}
	}
	return first == nil || first.rest[0].kind == blockThinking || first.rest[0].kind == blockRedacted
}
