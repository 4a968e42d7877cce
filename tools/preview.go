package tools

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsonstream"
)

// Preview reads the arguments of a call while a model is still writing them, so that a host can
// show the path of an edit early and its content as it grows. Each byte is read once, and looking
// at the preview costs nothing, however often it is done.
//
// A preview is only for display. Arguments are run only when they are complete, by [Registry.Call]
// or the tool itself, which also repair malformed arguments; a preview shows malformed arguments up
// to the fault. It is not safe for concurrent use.
type Preview struct {
	parser jsonstream.Parser
	raw    strings.Builder
	seen   map[string]int // bytes of text that Next has returned, by path
	err    error
}

// NewPreview returns an empty preview.
func NewPreview() *Preview { return &Preview{} }

// Feed reads the next piece, such as the Args of an agent.ToolCallDelta. It returns an error if the
// text is not JSON; the part before the fault stays visible, and later pieces are kept only for
// [Preview.Args].
func (p *Preview) Feed(piece string) error {
	p.raw.WriteString(piece)
	if p.err == nil {
		if err := p.parser.Feed(piece); err != nil {
			p.err = fmt.Errorf("tools: preview arguments: %w", err)
		}
	}
	return p.err
}

// Text returns the part of the text at path that has arrived, and whether it is complete. A path
// consists of members and list positions: Text("edits", "0", "old"). The text of a string is
// decoded; a number or literal is as written; an object or list has none. For an argument that has
// not begun it returns "" and false.
func (p *Preview) Text(path ...string) (text string, done bool) {
	n := p.find(path)
	if n == nil {
		return "", false
	}
	return n.Text(), n.Done
}

// Next returns the text at path that arrived since the last call of Next for it.
func (p *Preview) Next(path ...string) string {
	text, _ := p.Text(path...)
	key := strings.Join(path, "\x00")
	if p.seen == nil {
		p.seen = map[string]int{}
	}
	from := p.seen[key]
	p.seen[key] = len(text)
	return text[min(from, len(text)):]
}

// Keys returns the members of the object at path in order of arrival. Without a path it returns
// those of the whole arguments.
func (p *Preview) Keys(path ...string) []string {
	n := p.find(path)
	if n == nil {
		return nil
	}
	keys := make([]string, len(n.Members))
	for i, m := range n.Members {
		keys[i] = m.Key
	}
	return keys
}

// Done reports whether the arguments are complete and well-formed.
func (p *Preview) Done() bool { return p.parser.Done() }

// Args returns the whole text so far and whether it is a complete JSON value.
func (p *Preview) Args() (args json.RawMessage, complete bool) {
	return json.RawMessage(p.raw.String()), p.Done()
}

// Value returns the arguments so far as encoding/json decodes them into an any, numbers as
// [json.Number], without parsing the text again.
func (p *Preview) Value() any { return p.parser.Value() }

func (p *Preview) find(path []string) *jsonstream.Node {
	n := p.parser.Root()
	for _, seg := range path {
		if n == nil {
			return nil
		}
		if n.Kind == jsonstream.Array {
			i, err := strconv.Atoi(seg)
			if err != nil {
				return nil
			}
			n = n.Item(i)
			continue
		}
		n = n.Get(seg)
	}
	return n
}
