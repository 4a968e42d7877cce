package router

import (
	"fmt"
	"hash/maphash"

	"github.com/luthier-dev/luthier/agent"
)

// planPhase determines the member that answers next.
type planPhase uint8

const (
	phasePlan planPhase = iota // the planner: there is no plan, or it has failed
	phaseAct                   // the actor
	phaseTake                  // the planner, for the rest of the task
)

// planState is the state of a task. It is derived from the messages alone, so that a resumed or
// forked conversation is in the same state as the original.
type planState struct {
	phase    planPhase
	explored int    // answers since a plan was last needed
	plans    int    // plans that the task has had
	stray    string // reason why the last plan failed
}

// planLimits are the limits at which a plan has failed.
type planLimits struct {
	failures int     // failing tool results in a row
	repeats  int     // repetitions of the same call with the same result
	slack    float64 // answers per answer that the plan expects
	plans    int     // plans for one task before the planner takes over
	seed     maphash.Seed
}

// freeSteps is granted to every plan in addition to the steps that it expects. The number unstated
// is assumed for a plan that does not state how many steps it expects.
const freeSteps, unstated = 3, 30

// stateOf derives the state of the task that the messages end in. A task begins at a user message
// that follows a finished answer. The message of a check that the work did not pass also counts as
// a user message.
func stateOf(ms []agent.Message, l *planLimits) planState {
	var s planState
	var run planRun
	acting := false
	for i := taskStart(ms); i < len(ms); i++ {
		m := &ms[i]
		switch m.Role {
		case agent.RoleAssistant:
			mk := readMarks(m.Text())
			if mk.plan {
				s.plans++
				s.explored, s.stray = 0, ""
				acting, run = true, planRun{limit: limitOf(mk.steps, l.slack)}
			}
			if !acting {
				s.explored++
				continue
			}
			run.answered()
			if mk.replan != "" {
				s.stray = mk.replan
			}
		case agent.RoleTool:
			if acting {
				run.results(ms, i, l.seed)
			}
		}
		if acting && s.stray == "" {
			s.stray = run.stray(l)
		}
		if acting && s.stray != "" {
			acting = false
		}
	}
	switch {
	case acting:
		s.phase = phaseAct
	case s.stray != "" && s.plans >= l.plans:
		s.phase = phaseTake
	}
	return s
}

func limitOf(steps int, slack float64) int {
	if steps == 0 {
		return unstated
	}
	return int(float64(steps)*slack) + freeSteps
}

// taskStart returns the index at which the last task begins.
func taskStart(ms []agent.Message) int {
	for i := len(ms) - 1; i > 0; i-- {
		if ms[i].Role == agent.RoleUser && ms[i-1].Role == agent.RoleAssistant && !hasCalls(ms[i-1].Parts) {
			return i
		}
	}
	return 0
}

func hasCalls(ps []agent.Part) bool {
	for _, p := range ps {
		if _, ok := p.(agent.ToolCall); ok {
			return true
		}
	}
	return false
}

// planRun tracks the progress of one plan.
type planRun struct {
	limit    int // answers allowed; 0 before there is a plan
	steps    int
	failures int // in a row
	repeated int // how often the most repeated call occurred
	seen     [maxSightings]sighting
	n        int // total number of sightings recorded in seen
}

// sighting is a call with its result.
type sighting struct {
	hash uint64
	n    int
}

// maxSightings limits the calls that are remembered for one plan. Repetitions further apart do not
// count as a loop.
const maxSightings = 64

func (r *planRun) answered() { r.steps++ }

// results records the results in message i, which belong to the calls of the message before it.
func (r *planRun) results(ms []agent.Message, i int, seed maphash.Seed) {
	n := 0
	for _, p := range ms[i].Parts {
		res, ok := p.(agent.ToolResult)
		if !ok {
			continue
		}
		if res.IsError {
			r.failures++
		} else {
			r.failures = 0
		}
		if call, ok := callAt(ms, i-1, n); ok {
			r.sight(hashCall(&call, &res, seed))
		}
		n++
	}
}

// callAt returns call n of a message.
func callAt(ms []agent.Message, i, n int) (agent.ToolCall, bool) {
	if i < 0 {
		return agent.ToolCall{}, false
	}
	for _, p := range ms[i].Parts {
		if c, ok := p.(agent.ToolCall); ok {
			if n == 0 {
				return c, true
			}
			n--
		}
	}
	return agent.ToolCall{}, false
}

// hashCall hashes a call with its result. Of long texts, only the beginning and end are hashed.
func hashCall(c *agent.ToolCall, res *agent.ToolResult, seed maphash.Seed) uint64 {
	h := maphash.String(seed, c.Name)
	for _, end := range ends(c.Args) {
		h = mix(h ^ maphash.Bytes(seed, end))
	}
	for _, p := range res.Parts {
		if t, ok := p.(agent.Text); ok {
			n := min(len(t.Text), endBytes)
			h = mix(h ^ uint64(len(t.Text)) ^ maphash.String(seed, t.Text[:n]))
			h = mix(h ^ maphash.String(seed, t.Text[len(t.Text)-n:]))
		}
	}
	return h
}

const endBytes = 256

func ends(b []byte) [2][]byte {
	n := min(len(b), endBytes)
	return [2][]byte{b[:n], b[len(b)-n:]}
}

func (r *planRun) sight(h uint64) {
	for i := range min(r.n, maxSightings) {
		if r.seen[i].hash == h {
			r.seen[i].n++
			r.repeated = max(r.repeated, r.seen[i].n)
			return
		}
	}
	r.seen[r.n%maxSightings] = sighting{h, 1} // overwrites the oldest
	r.n++
}

// stray returns the reason the plan has failed, or "" while it may still succeed.
func (r *planRun) stray(l *planLimits) string {
	switch {
	case l.failures > 0 && r.failures >= l.failures:
		return fmt.Sprintf("%d tool calls in a row failed", r.failures)
	case l.repeats > 0 && r.repeated >= l.repeats:
		return fmt.Sprintf("the same call was made %d times with the same result", r.repeated)
	case r.limit > 0 && r.steps > r.limit:
		return fmt.Sprintf("it took more than %d answers, far beyond what was expected", r.limit)
	}
	return ""
}
