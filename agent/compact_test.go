package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// planner is a compactor that considers a history of a certain length worth compacting.
type planner struct {
	keepLast
	due  int // messages
	same bool
	live []agent.Request
	told []int64
}

func (p *planner) Due(ms []agent.Message) bool { return len(ms) == p.due }

func (p *planner) Compact(ctx context.Context, ms []agent.Message, budget int) ([]agent.Message, agent.CompactionReport, error) {
	req, tokens := agent.LiveRequest(ctx)
	p.live, p.told = append(p.live, *req), append(p.told, tokens)
	if p.same {
		return ms, agent.CompactionReport{}, nil
	}
	return p.keepLast.Compact(ctx, ms, budget)
}

// looking returns a model that calls the tool look n times and then answers.
func looking(n int) *script {
	m := newScript()
	for i := range n {
		m.turns = append(m.turns, calls(tc{fmt.Sprint(i), "look", fmt.Sprintf(`{"n":%d}`, i)}))
	}
	m.turns = append(m.turns, say("done"))
	return m
}

func compactions(evs []agent.Event) int {
	n := 0
	for _, ev := range evs {
		if _, ok := ev.(agent.Compacted); ok {
			n++
		}
	}
	return n
}

// TestCompactorSaysWhen: a compactor with a Due method is asked before every call, and sees the
// request in which it makes room.
func TestCompactorSaysWhen(t *testing.T) {
	p := &planner{due: 7}
	a := configured(t, agent.Config{Model: looking(4), System: "be brief", Tools: []agent.Tool{okTool("look")}, Compactor: p})
	s := agent.NewSession()
	_, evs := run(t, a, s, "go")
	if compactions(evs) != 1 || s.Epoch() != 1 {
		t.Errorf("%d compactions in epoch %d, want one, when it was due", compactions(evs), s.Epoch())
	}
	if len(p.live) != 1 || p.live[0].System != "be brief" || len(p.live[0].Tools) != 1 || len(p.live[0].Messages) != 7 {
		t.Errorf("the compactor saw %+v, want the live request", p.live)
	}
	if p.told[0] <= 0 {
		t.Errorf("it was told of %d tokens, want those the model reported", p.told[0])
	}
	if req, tokens := agent.LiveRequest(t.Context()); req != nil || tokens != 0 {
		t.Errorf("outside a run there is a live request: %+v", req)
	}
}

// TestCompactorMayLeaveAll: returning the history unchanged does not count as a compaction: nothing
// is recorded, the cache stays.
func TestCompactorMayLeaveAll(t *testing.T) {
	p := &planner{due: 3, same: true}
	a := configured(t, agent.Config{Model: looking(3), Tools: []agent.Tool{okTool("look")}, Compactor: p})
	s := agent.NewSession()
	_, evs := run(t, a, s, "go")
	if len(p.live) != 1 || compactions(evs) != 0 || s.Epoch() != 0 {
		t.Errorf("asked %d times, %d compactions, epoch %d; want one question and no change", len(p.live), compactions(evs), s.Epoch())
	}
}

// counting counts its own tokens: ten thousand times the number of the request's messages. It
// reports no usage.
type counting struct {
	*script
	asked int
}

func (c *counting) CountTokens(req *agent.Request) (int, bool) {
	c.asked++
	return 10_000 * len(req.Messages), true
}

func TestModelCountsItsTokens(t *testing.T) {
	m := &counting{script: newScript()}
	for i := range 4 {
		c := calls(tc{fmt.Sprint(i), "look", fmt.Sprintf(`{"n":%d}`, i)})
		m.turns = append(m.turns, func(ctx context.Context, r *agent.Request, yield func(agent.Chunk, error) bool) {
			c(ctx, r, func(ch agent.Chunk, err error) bool {
				if _, ok := ch.(agent.Usage); ok {
					return true
				}
				return yield(ch, err)
			})
		})
	}
	m.turns = append(m.turns, say("done"))
	a := configured(t, agent.Config{Model: m, Tools: []agent.Tool{okTool("look")}, Compactor: keepLast{}, ContextBudget: 45_000})
	_, evs := run(t, a, agent.NewSession(), strings.Repeat("go ", 10))
	if m.asked == 0 || compactions(evs) == 0 {
		t.Errorf("the model was asked %d times and %d compactions followed, want it to decide", m.asked, compactions(evs))
	}
}
