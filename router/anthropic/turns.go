package anthropic

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// messages writes the turns. The last block of each of the last two user turns carries a cache
// marker. The next request finds this one's prefix at the end of the last turn, and this request
// finds the previous one's at the end of the turn before.
func (b *body) messages(turns []turn) {
	marked := markedTurns(turns)
	b.key("messages")
	for i := range turns {
		t := &turns[i]
		b.buf = append(b.buf, separator(i)...)
		if t.user {
			b.buf = append(b.buf, `{"role":"user","content":`...)
		} else {
			b.buf = append(b.buf, `{"role":"assistant","content":`...)
		}
		markAt := -1
		if i == marked[0] || i == marked[1] {
			markAt = t.lastMarkable()
		}
		for j := range t.results {
			b.buf = append(b.buf, separator(j)...)
			b.block(&t.results[j], j == markAt)
		}
		for j := range t.rest {
			j += len(t.results)
			b.buf = append(b.buf, separator(j)...)
			b.block(t.at(j), j == markAt)
		}
		b.buf = append(b.buf, "]}"...)
	}
	b.buf = append(b.buf, ']')
}

// markedTurns returns the indices of the last two user turns, -1 for one that does not exist.
func markedTurns(turns []turn) [2]int {
	marked, n := [2]int{-1, -1}, 0
	for i := len(turns) - 1; i >= 0 && n < len(marked); i-- {
		if turns[i].user {
			marked[n] = i
			n++
		}
	}
	return marked
}

// at returns the turn's j-th block, results first.
func (t *turn) at(j int) *block {
	if j < len(t.results) {
		return &t.results[j]
	}
	return &t.rest[j-len(t.results)]
}

// lastMarkable returns the index of the last block that may carry a cache marker, or -1.
func (t *turn) lastMarkable() int {
	for j := len(t.results) + len(t.rest) - 1; j >= 0; j-- {
		switch t.at(j).kind {
		case blockText, blockImage, blockCall, blockResult:
			return j
		}
	}
	return -1
}

// block writes one content block.
func (b *body) block(x *block, mark bool) {
	if x.kind == blockRaw {
		b.buf = append(b.buf, x.raw...)
		return
	}
	switch x.kind {
	case blockText:
		b.buf = append(b.buf, `{"type":"text"`...)
		b.buf = appendField(b.buf, "text", x.text)
	case blockImage:
		b.image(x.image)
	case blockThinking:
		b.buf = append(b.buf, `{"type":"thinking"`...)
		b.buf = appendField(b.buf, "thinking", x.text)
		b.buf = appendField(b.buf, "signature", x.id)
	case blockRedacted:
		b.buf = append(b.buf, `{"type":"redacted_thinking"`...)
		b.buf = appendField(b.buf, "data", x.text)
	case blockCall:
		b.buf = append(b.buf, `{"type":"tool_use"`...)
		b.buf = appendField(b.buf, "id", x.id)
		b.buf = appendField(b.buf, "name", x.name)
		b.buf = append(append(b.buf, `,"input":`...), x.raw...)
		b.members(x.fields)
	case blockResult:
		b.result(x)
	}
	if mark {
		b.buf = append(b.buf, b.marker...)
	}
	b.buf = append(b.buf, '}')
}

// members writes the fields that the server put on a call.
func (b *body) members(fields map[string]json.RawMessage) {
	if len(fields) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		b.key(name)
		b.buf = append(b.buf, fields[name]...)
	}
}

func (b *body) image(img *image) {
	b.buf = append(b.buf, `{"type":"image","source":{"type":"`...)
	if img.url != "" {
		b.buf = append(b.buf, `url"`...)
		b.buf = appendField(b.buf, "url", img.url)
	} else {
		b.buf = append(b.buf, `base64"`...)
		b.buf = appendField(b.buf, "media_type", img.mediaType)
		b.buf = append(append(append(b.buf, `,"data":"`...), img.base64...), '"')
	}
	b.buf = append(b.buf, '}')
}

func (b *body) result(x *block) {
	b.buf = append(b.buf, `{"type":"tool_result"`...)
	b.buf = appendField(b.buf, "tool_use_id", x.id)
	if x.isError {
		b.buf = append(b.buf, `,"is_error":`...)
		b.buf = strconv.AppendBool(b.buf, true)
	}
	b.buf = append(b.buf, `,"content":`...)
	for i := range x.content {
		b.buf = append(b.buf, separator(i)...)
		b.block(&x.content[i], false)
	}
	b.buf = append(b.buf, ']')
}
