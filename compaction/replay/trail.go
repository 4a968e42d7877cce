package replay

import (
	"context"
	"sort"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// trail is the full text of a recorded run, with what each of its calls refers to.
type trail struct {
	text  string
	start []int // offset in text where each message begins
	calls []callThings
	first map[Thing]int // offset where each thing is first shown; -1 if nowhere
}

type callThings struct {
	message int
	things  []Thing
}

// newTrail builds the trail of a run. It stops if ctx ends.
func newTrail(ctx context.Context, run *Run) (*trail, error) {
	t := &trail{first: map[Thing]int{}}
	var b strings.Builder
	b.WriteString(run.System)
	b.WriteByte('\n')
	for i, m := range run.Messages {
		t.start = append(t.start, b.Len())
		writeText(&b, m)
		if m.Role != agent.RoleAssistant {
			continue
		}
		for _, c := range m.Calls() {
			t.calls = append(t.calls, callThings{i, Things(c)})
		}
	}
	t.text = b.String()
	for _, c := range t.calls {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for _, th := range c.things {
			if _, ok := t.first[th]; !ok {
				t.first[th] = th.shownIn(t.text, 0)
			}
		}
	}
	return t, nil
}

// ahead returns the things that the next n calls, from message i on, refer to and that the run had
// shown before that message, without duplicates.
func (t *trail) ahead(i, n int) []Thing {
	from := sort.Search(len(t.calls), func(k int) bool { return t.calls[k].message >= i })
	return t.shown(t.calls[from:min(from+n, len(t.calls))], i)
}

// now returns the things that the calls of message i refer to and that the run had shown before
// that message, without duplicates.
func (t *trail) now(i int) []Thing {
	from := sort.Search(len(t.calls), func(k int) bool { return t.calls[k].message >= i })
	to := sort.Search(len(t.calls), func(k int) bool { return t.calls[k].message > i })
	return t.shown(t.calls[from:to], i)
}

func (t *trail) shown(calls []callThings, i int) []Thing {
	var out []Thing
	seen := map[Thing]bool{}
	for _, c := range calls {
		for _, th := range c.things {
			if at := t.first[th]; at >= 0 && at < t.start[i] && !seen[th] {
				seen[th] = true
				out = append(out, th)
			}
		}
	}
	return out
}

// lastLine returns the line that showed a thing last before message i, at most 400 bytes of it.
func (t *trail) lastLine(th Thing, i int) string {
	text := t.text[:t.start[i]]
	at := strings.LastIndex(text, th.Text)
	if at < 0 {
		return ""
	}
	begin := max(strings.LastIndexByte(text[:at], '\n')+1, at-200)
	end := min(at+len(th.Text)+200, len(text))
	if n := strings.IndexByte(text[at:end], '\n'); n >= 0 {
		end = at + n
	}
	return text[begin:end]
}
