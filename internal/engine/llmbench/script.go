package main

import (
	"context"
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// script makes a network with random weights generate a given text: as the request's Constraint it
// allows only the next token. Everything else is computed as usual.
//
// The engine also asks a constraint whether drafts are allowed. If script refused wrong drafts, it
// would save exactly the cost that is to be measured. So while a pass is planned, script allows
// everything. It recognises the beginning of planning because it is also a drafter, which the
// engine then asks for a draft, and the end because the number of passes increases when a pass has
// been computed.
type script struct {
	text     []int32
	engine   *scheduler.Engine
	planning bool
	passes   uint64 // number of passes when the planning began
}

// undecided is the state of a draft, in which any token is allowed.
const undecided = -1

func (c *script) Start() int32 { return 0 }

func (c *script) Next(s, t int32) (int32, bool) {
	if s == undecided || c.planned() {
		return undecided, true
	}
	return s + 1, int(s) < len(c.text) && c.text[s] == t
}

func (c *script) planned() bool {
	if c.planning && c.engine.Metrics().Passes != c.passes {
		c.planning = false
	}
	return c.planning
}

func (c *script) Mask(s int32, allowed []uint64) {
	clear(allowed)
	allowed[c.text[s]>>6] |= 1 << (c.text[s] & 63)
}

func (c *script) Forced(_ int32, dst []int32) []int32 { return dst }

// Name returns "script".
func (c *script) Name() string { return "script" }

// Draft proposes nothing.
func (c *script) Draft(_ []int32, _ int, dst []int32) []int32 {
	c.planning, c.passes = true, c.engine.Metrics().Passes
	return dst
}

// say makes the engine generate text after the request's prompt. It calls the function each, unless
// it is nil, at every token.
func say(e *scheduler.Engine, r scheduler.Request, text []int32, each func()) (scheduler.Stats, error) {
	c := &script{text: text, engine: e}
	r.Constraint, r.MaxTokens = c, len(text)
	r.Drafters = append([]scheduler.Drafter{c}, r.Drafters...)
	said := 0
	for t, err := range e.Generate(context.Background(), r) {
		switch {
		case err != nil:
			return scheduler.Stats{}, err
		case t.Final == nil && t.ID != text[said]:
			return scheduler.Stats{}, fmt.Errorf("token %d is %d, the script has %d", said, t.ID, text[said])
		case t.Final != nil && said < len(text):
			return scheduler.Stats{}, fmt.Errorf("generated %d tokens of %d", said, len(text))
		case t.Final != nil:
			return *t.Final, nil
		}
		if said++; each != nil {
			each()
		}
	}
	return scheduler.Stats{}, fmt.Errorf("the text did not end")
}
