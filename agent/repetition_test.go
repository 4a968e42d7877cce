package agent_test

import (
	"context"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// TestRepetitionSpelling checks that the ladder counts calls with the same arguments, however they
// are written: the keys in another order, other white space, numbers or escapes.
//
// Evidence: loop · Calls repeat if their arguments are the same JSON, in any order and spelling
func TestRepetitionSpelling(t *testing.T) {
	same := newScript()
	for _, args := range []string{
		`{"path":"x","range":{"from":1,"to":20},"tags":["a",{"k":1,"l":2}]}`,
		`{"range":{"to":20,"from":1},"path":"x","tags":["a",{"l":2,"k":1}]}`,
		`{ "path": "x", "range": {"from": 1, "to": 20}, "tags": ["a", {"k": 1, "l": 2}] }`,
		"{\n  \"tags\": [\"a\", {\"l\": 2, \"k\": 1}],\n  \"range\": {\"from\": 1, \"to\": 20},\n  \"path\": \"x\"\n}",
		`{"path":"x","range":{"from":1.0,"to":2e1},"tags":["a",{"k":10e-1,"l":2}]}`,
		`{"path":"\u0078","range":{"to":20.00,"from":1},"tags":["\u0061",{"k":1,"l":2}]}`,
		`{"path":"x","tags":["a",{"k":1,"l":2}],"range":{"from":1,"to":20}}`,
		`{"path":"x","path":"x","range":{"from":1,"to":20},"tags":["a",{"k":1,"l":2}]}`,
	} {
		same.turns = append(same.turns, calls(tc{"", "look", args}))
	}
	constant := newTool("look", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
		return agent.TextResult("nothing"), nil
	})
	if res, _ := run(t, newAgent(t, same, constant), agent.NewSession(), "go"); res.Stop != agent.StopRepetition || res.Steps != 8 {
		t.Errorf("result = %+v, want a stop at 8", res)
	}

	other := newScript()
	for _, args := range []string{`{"a":1,"b":2}`, `{"a":2,"b":1}`, `{"a":"1","b":2}`, `{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":{"b":1}}`, `{"b":{"a":1}}`, `{"a":9007199254740993}`, `{"a":9007199254740992}`} {
		other.turns = append(other.turns, calls(tc{"", "look", args}))
	}
	other.turns = append(other.turns, say("ok"))
	res, evs := run(t, newAgent(t, other, constant), agent.NewSession(), "go")
	if res.Stop != agent.StopDone || hasEvent[agent.Reminded](evs) {
		t.Errorf("different calls: %+v", res)
	}
}
