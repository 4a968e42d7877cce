package agenttest

import (
	"context"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/wait"
)

// Turn is one answer of a scripted model: chunks in order, with waits and failures between them.
// Create one with [Text], [Call], [Thinking], [Error] and similar functions, and join pieces with
// [Join]. A Turn may be used many times.
type Turn struct {
	steps []step
	calls int
	open  bool // has no Finish of its own: one is added when the turn is scripted
}

// step is one action: exactly one field is set.
type step struct {
	chunk agent.Chunk // boxed once, so that yielding it does not allocate
	err   error
	delay time.Duration
	hang  bool
	end   bool // stop without Finish
}

func turn(steps ...step) Turn { return Turn{steps: steps, open: true} }

// Text returns an answer of text, one delta per piece.
func Text(pieces ...string) Turn {
	t := turn()
	for _, p := range pieces {
		t.steps = append(t.steps, step{chunk: agent.TextDelta{Text: p}})
	}
	return t
}

// Call returns a call of a tool. The pieces of args are joined; none means a call without
// arguments. [Join] assigns the index, in order.
func Call(id, name string, args ...string) Turn {
	t := turn(step{chunk: agent.ToolCallStart{ID: id, Name: name}})
	for _, a := range args {
		t.steps = append(t.steps, step{chunk: agent.ToolCallDelta{Args: a}})
	}
	t.calls = 1
	return t
}

// Thinking returns a piece of reasoning, closed by its signature if that is not empty.
func Thinking(text, signature string) Turn {
	return turn(step{chunk: agent.ThinkingDelta{Text: text, Signature: signature}})
}

// Usage returns a report of tokens.
func Usage(u agent.Usage) Turn { return turn(step{chunk: u}) }

// Finish ends the answer with a reason other than the one that follows from its content.
func Finish(reason agent.FinishReason) Turn {
	return Turn{steps: []step{{chunk: agent.Finish{Reason: reason}}}}
}

// Chunks returns an answer of exactly these chunks: nothing is added or renumbered.
func Chunks(chunks ...agent.Chunk) Turn {
	var t Turn
	for _, c := range chunks {
		t.steps = append(t.steps, step{chunk: c})
	}
	return t
}

// Error fails the answer at this point.
func Error(err error) Turn { return Turn{steps: []step{{err: err}}} }

// Cut ends the answer at this point without a finish or an error, as a truncated stream does.
func Cut() Turn { return Turn{steps: []step{{end: true}}} }

// Delay waits at this point, or until the context ends.
func Delay(d time.Duration) Turn { return turn(step{delay: d}) }

// Hang sends nothing more until the context ends.
func Hang() Turn { return Turn{steps: []step{{hang: true}}} }

// Join joins several pieces into one answer. Calls are numbered in order.
func Join(parts ...Turn) Turn {
	out := Turn{open: true}
	for _, p := range parts {
		for _, s := range p.steps {
			switch c := s.chunk.(type) {
			case agent.ToolCallStart:
				if p.open {
					c.Index += out.calls
					s.chunk = c
				}
			case agent.ToolCallDelta:
				if p.open {
					c.Index += out.calls
					s.chunk = c
				}
			}
			out.steps = append(out.steps, s)
		}
		out.calls += p.calls
		out.open = out.open && p.open
	}
	return out
}

// closed returns t with a Finish added, unless it has its own end.
func (t Turn) closed() Turn {
	if !t.open {
		return t
	}
	reason := agent.FinishStop
	if t.calls > 0 {
		reason = agent.FinishTools
	}
	t.steps = append(t.steps[:len(t.steps):len(t.steps)], step{chunk: agent.Finish{Reason: reason}})
	t.open = false
	return t
}

// play yields the turn.
func (t *Turn) play(ctx context.Context, yield func(agent.Chunk, error) bool) {
	for i := range t.steps {
		s := &t.steps[i]
		switch {
		case s.chunk != nil:
			if !yield(s.chunk, nil) {
				return
			}
		case s.err != nil:
			yield(nil, s.err)
			return
		case s.end:
			return
		case s.hang:
			<-ctx.Done()
		default:
			_ = wait.For(ctx, s.delay)
		}
		if ctx.Err() != nil {
			yield(nil, &agent.ModelError{Kind: agent.ErrCanceled, Provider: scriptName, Err: context.Cause(ctx)})
			return
		}
	}
}
