package agent

import (
	"context"
	"sync"
	"time"
)

// batch holds the tool calls of the current response, in call order, and decides which may run.
// Calls that do not conflict run concurrently. Each of its verbs has one meaning:
//
//   - announce adds a call that begins to arrive; ready marks its arguments as complete.
//   - acquire waits for a call's turn.
//   - finish sets the result of a call, once; refuse does so before the call could run, abandon if
//     it does not return.
//   - await waits, on the loop's goroutine, until every call is finished; results gathers the
//     results.
//   - wake ends these waits, so that their conditions are checked again.
//
// The list itself is changed only by the loop's goroutine, under mu, so the loop may read it
// without locking.
type batch struct {
	ctx     context.Context // of the run
	cfg     *Config
	session *Session // records every result
	tools   *toolset
	out     *mailbox

	turn sync.Cond  // signalled when a call ended, or the run was steered or cancelled; its lock is mu
	mu   sync.Mutex // guards the fields below and the calls; taken inside Session.mu, outside mailbox.mu

	calls     []*call
	running   int
	steered   bool
	cancelAt  uint8 // set of 1<<CancelPoint
	fatal     error // a session entry could not be written
	ran       int   // calls of the whole run that ran
	abandoned int   // calls of the whole run that were abandoned
}

// call is one tool call. All fields are guarded by batch.mu except those that say otherwise.
type call struct {
	tc      ToolCall
	step    int
	tool    Tool // nil for an unknown tool
	spec    *ToolSpec
	effects Effects
	state   callState
	ran     bool // it started
	changed bool // and may have changed something
	result  ToolResult
	begun   time.Time
	tries   int    // how often it was run; more than once if middleware calls next again
	logged  []byte // the arguments that the session has recorded for it; only for the call's own goroutine

	progress progress // has a lock of its own
	bill     bill     // has a lock of its own
}

type callState uint8

const (
	callArriving callState = iota // its arguments are incomplete: its effects are the tool's upper bound
	callWaiting                   // for permission, or for a call it conflicts with
	callRunning
	callDone
)

// reset forgets the calls of the previous response.
func (b *batch) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.calls)
	b.calls = b.calls[:0]
}

// announce adds a call whose arguments have not arrived yet, so that later calls know what they
// might conflict with.
func (b *batch) announce(cb *callBuilder, step int) {
	c := &call{tc: ToolCall{ID: cb.id, Name: cb.name}, step: step}
	if i, ok := b.tools.byName[cb.name]; ok {
		c.tool, c.spec = b.tools.tools[i], &b.tools.specs[i]
		c.effects = c.spec.Effects
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c)
}

// ready marks the arguments of a call as complete and returns the call, ready to run.
func (b *batch) ready(cb *callBuilder) *call {
	cb.taken = true
	c := b.find(cb.id) // every call of the builder was announced when it began
	tc := cb.call()
	var effects Effects
	if c.tool != nil {
		effects = callEffects(c.tool, c.spec, tc)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.tc, c.state, c.effects = tc, callWaiting, effects
	return c
}

// refuse finishes a call without running it.
func (b *batch) refuse(cb *callBuilder, text string) {
	cb.taken = true
	c := b.find(cb.id)
	b.mu.Lock()
	c.tc, c.state = cb.call(), callWaiting
	b.mu.Unlock()
	b.finish(c, ErrorResult("%s", text))
}

// try counts how often a call is run.
func (b *batch) try(c *call) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.tries++
	return c.tries
}

// rewrite replaces the arguments of a call with those that middleware returned.
func (b *batch) rewrite(c *call, tc *ToolCall) {
	effects := callEffects(c.tool, c.spec, *tc)
	b.mu.Lock()
	defer b.mu.Unlock()
	c.tc.Args, c.effects = tc.Args, effects
}

// callEffects asks the tool for the effects of a call. If the tool panics, the effects are unknown.
func callEffects(t Tool, spec *ToolSpec, tc ToolCall) (e Effects) {
	defer func() {
		if recover() != nil {
			e = Effects{}
		}
	}()
	if t, ok := t.(Effecter); ok {
		return t.CallEffects(tc)
	}
	return spec.Effects
}

func (b *batch) find(id string) *call {
	for _, c := range b.calls {
		if c.tc.ID == id {
			return c
		}
	}
	return nil
}

// same reports whether calls are the calls of the batch.
func (b *batch) same(calls []ToolCall) bool {
	if len(calls) != len(b.calls) {
		return false
	}
	for i, c := range b.calls {
		if c.tc.ID != calls[i].ID {
			return false
		}
	}
	return true
}

// begun reports whether any call has complete arguments.
func (b *batch) begun() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.calls {
		if c.state != callArriving {
			return true
		}
	}
	return false
}

// holds reports whether the batch has a call with this id whose arguments are complete.
func (b *batch) holds(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.find(id)
	return c != nil && c.state != callArriving
}

// dropArriving removes the calls whose arguments were never completed.
func (b *batch) dropArriving() {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.calls[:0]
	for _, c := range b.calls {
		if c.state != callArriving {
			kept = append(kept, c)
		}
	}
	b.calls = kept
	b.wake()
}

// counts returns how many calls of the run ran, and how many were abandoned.
func (b *batch) counts() (ran, abandoned int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ran, b.abandoned
}

// results gathers the results, in call order, and counts repetitions: it returns the highest
// repetition level with the tool that reached it. If a session entry could not be written, it
// returns an error along with the results.
func (b *batch) results(rep *repetition) (m Message, level rung, worst string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m = Message{Role: RoleTool, Parts: make([]Part, len(b.calls))}
	rep.nextBatch()
	for i, c := range b.calls {
		m.Parts[i] = c.result
		if l := rep.observe(&c.tc, &c.result, c.changed && !c.result.IsError); l > level {
			level, worst = l, c.tc.Name
		}
	}
	return m, level, worst, b.fatal
}
