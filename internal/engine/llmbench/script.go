package main

import (
	"context"
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// script makes a network of random weights say a given text: as the request's Constraint it allows
// the one next token. All else is computed as ever.
//
// A constraint is also asked whether drafts are allowed, and one that refuses wrong drafts would
// spare their costs, which are what is to be measured. So while a pass is planned the script allows
// everything. It knows the time by being a drafter too, which is asked for a draft when the
// planning of a pass begins, and by the number of passes, which rises when it has been computed.
type script struct {
	text     []int32
	engine   *scheduler.Engine
	planning bool
	passes   uint64 // when the planning began
}

// undecided is the state of a draft, which may be anything.
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

// say makes the engine generate text after the request's prompt and calls each, unless it is nil,
// at every token.
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
