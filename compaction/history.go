package compaction

import (
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// history is a conversation being compacted, with the parts that may go and the tokens of each. Its
// messages are replaced, never changed in place, since a session shares them.
type history struct {
	msgs   []agent.Message
	tokens []int // of each message of msgs
	total  int
	cells  []cell
	steps  int // model calls so far
	sent   int // the first sent messages were part of the last request, so a cache may hold them
}

// cell is a part of a message that could be shortened.
type cell struct {
	msg, part int
	what      cellKind
	tokens    int
	step      int    // the number of the model call that the cell belongs to, from 1
	act       action // set for results
	failed    bool   // the result is an error
	stub      bool   // it was shortened before
	stale     bool   // a later result has the same or newer content
	exact     bool   // holds lines that the next edit may need
	pointed   bool   // a later result refers to its lines
	points    []string
}

type cellKind uint8

const (
	cellResult    cellKind = iota // the result of a tool
	cellNarration                 // what the model wrote next to its calls
	cellReasoning                 // unsigned reasoning
	cellArgs                      // the arguments of a call
)

// survey weighs a history and finds the parts that could be shortened.
func (c *Compactor) survey(msgs []agent.Message) *history {
	h := &history{msgs: slices.Clone(msgs), tokens: make([]int, len(msgs)), cells: make([]cell, 0, len(msgs))}
	current := "" // the file that an editor with a current file has open
	var calls *looked
	for i, m := range msgs {
		l := c.look(m)
		h.tokens[i] = l.tokens
		h.total += l.tokens
		switch m.Role {
		case agent.RoleAssistant:
			h.steps++
			h.sent = i
			calls = l
			if i+1 < len(msgs) && msgs[i+1].Role == agent.RoleTool { // otherwise it is an answer, for the user
				h.said(i, l)
			}
		case agent.RoleTool:
			h.results(i, l, calls, &current)
		}
	}
	h.refresh()
	h.markStale()
	h.markExact()
	return h
}

// said adds the model's own words and arguments of message i, where they may be shortened: signed
// reasoning must stay unchanged next to its calls.
func (h *history) said(i int, l *looked) {
	for j, p := range h.msgs[i].Parts {
		cl := cell{msg: i, part: j, tokens: l.parts[j].tokens, step: h.steps, stub: l.parts[j].short}
		switch p.(type) {
		case agent.Text:
			cl.what = cellNarration
		case agent.Thinking:
			if cl.stub { // signed
				continue
			}
			cl.what = cellReasoning
		case agent.ToolCall:
			if cl.tokens <= leastArgs {
				continue
			}
			cl.what, cl.act = cellArgs, l.parts[j].act
		default:
			continue
		}
		h.cells = append(h.cells, cl)
	}
}

// results adds the results of message i, which answer the calls of the message before it.
func (h *history) results(i int, l, said *looked, current *string) {
	part := -1
	for j, p := range h.msgs[i].Parts {
		if _, ok := p.(agent.ToolResult); !ok {
			continue
		}
		part = nextCall(h.msgs[i-1].Parts, part)
		if part < 0 {
			return
		}
		a := said.parts[part].act
		if a.kind == kindRead || a.kind == kindEdit {
			if a.path == "" {
				if a.path = *current; a.kind == kindEdit && a.path != "" {
					a.writes = []string{a.path}
				}
			}
			*current = a.path
		}
		got := &l.parts[j]
		h.cells = append(h.cells, cell{msg: i, part: j, what: cellResult, tokens: got.tokens, step: h.steps,
			act: a, failed: got.failed, stub: got.short, points: got.points})
	}
}

// nextCall returns the index of the first call after part i, or -1.
func nextCall(ps []agent.Part, i int) int {
	for i++; i < len(ps); i++ {
		if _, ok := ps[i].(agent.ToolCall); ok {
			return i
		}
	}
	return -1
}

// refresh treats a result as if it were as recent as the latest result that points at it.
func (h *history) refresh() {
	var at map[string]int
	for i := len(h.cells) - 1; i >= 0; i-- {
		cl := &h.cells[i]
		if cl.what != cellResult {
			continue
		}
		if at != nil {
			r, _ := h.msgs[cl.msg].Parts[cl.part].(agent.ToolResult)
			if step, ok := at[r.CallID]; ok {
				cl.step = max(cl.step, step)
				cl.pointed = true
			}
		}
		for _, id := range cl.points {
			if at == nil {
				at = map[string]int{}
			}
			at[id] = max(at[id], cl.step)
		}
	}
}

// plainParts reports whether parts are all texts and pictures, which a stub can replace.
func plainParts(ps []agent.Part) bool {
	return !slices.ContainsFunc(ps, func(p agent.Part) bool { _, opaque := p.(agent.Opaque); return opaque })
}

func firstText(ps []agent.Part) string {
	for _, p := range ps {
		if t, ok := p.(agent.Text); ok {
			return t.Text
		}
	}
	return ""
}

// markStale finds results that a later one replaces: of the same command, of the same or more lines
// of a file, and failed edits that were followed by a successful edit of the same file.
func (h *history) markStale() {
	later := map[string]bool{}
	reads := map[string][]span{} // ranges read later, by file
	edited := map[string]bool{}  // edited successfully later
	for i := len(h.cells) - 1; i >= 0; i-- {
		cl := &h.cells[i]
		if cl.what != cellResult {
			continue
		}
		a := &cl.act
		switch a.kind {
		case kindRead:
			s := span{a.first, a.last}
			cl.stale = !cl.pointed && a.path != "" && slices.ContainsFunc(reads[a.path], func(o span) bool { return o.covers(s) })
			if !cl.failed && !cl.stub {
				reads[a.path] = append(reads[a.path], s)
			}
		case kindEdit:
			cl.stale = cl.failed && edited[a.path]
			for _, w := range a.writes {
				edited[w] = edited[w] || !cl.failed
			}
		default:
			key := a.key()
			cl.stale = !cl.pointed && key != "" && later[key]
			if key != "" {
				later[key] = true
			}
		}
	}
}

// span is a range of lines. If both are 0, it is the whole file; if only last is 0, it extends to
// the end of the file.
type span struct{ first, last int }

func (s span) covers(o span) bool {
	switch {
	case s.first <= 1 && s.last == 0:
		return true
	case o.first == 0:
		return false
	case s.last == 0:
		return s.first <= o.first
	}
	return s.first <= o.first && o.last != 0 && o.last <= s.last
}

// Limits of the current work. Its exact lines stay as long as anything else can be removed.
const (
	workFiles = 3  // number of files changed most recently
	workReads = 2  // number of latest reads of each of these files
	workEdits = 3  // number of results of the latest edits
	workSteps = 25 // an edit more than this many model calls ago is finished
)

// markExact protects the exact lines that the current work needs: the latest edits, and the latest
// reads of the files they changed.
func (h *history) markExact() {
	files := map[string]int{} // the files of the latest edits, and the number of protected reads of each
	edits := 0
	for i := len(h.cells) - 1; i >= 0; i-- {
		cl := &h.cells[i]
		if cl.what != cellResult || cl.act.kind != kindEdit || h.steps-cl.step > workSteps {
			continue
		}
		if edits++; edits <= workEdits {
			cl.exact = true
			h.exactArgs(i)
		}
		for _, w := range cl.act.writes {
			if _, ok := files[w]; !ok && len(files) < workFiles {
				files[w] = 0
			}
		}
	}
	for i := len(h.cells) - 1; i >= 0; i-- {
		cl := &h.cells[i]
		if n, ok := files[cl.act.path]; ok && cl.what == cellResult && cl.act.kind == kindRead && n < workReads && !cl.stale {
			cl.exact = true
			files[cl.act.path]++
		}
	}
}

// exactArgs protects the arguments of the call whose result is cell i.
func (h *history) exactArgs(i int) {
	for k := i - 1; k >= 0 && h.cells[k].msg >= h.cells[i].msg-1; k-- {
		if h.cells[k].what == cellArgs && h.cells[k].msg == h.cells[i].msg-1 {
			h.cells[k].exact = true
		}
	}
}

// replace puts p in the place of a cell's part and weighs the message again.
func (h *history) replace(c *Compactor, cl *cell, p agent.Part) {
	m := h.msgs[cl.msg]
	m.Parts = slices.Clone(m.Parts)
	m.Parts[cl.part] = p
	h.msgs[cl.msg] = m
	before := h.tokens[cl.msg]
	h.tokens[cl.msg] = c.meter.message(m)
	h.total += h.tokens[cl.msg] - before
	cl.tokens += h.tokens[cl.msg] - before
}

// age returns the number of model calls after the call that the cell belongs to.
func (h *history) age(cl *cell) int { return h.steps - cl.step }

// isStub reports whether a compaction wrote the text.
func isStub(text string) bool { return strings.HasPrefix(text, stubMark) }
