package moe

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
)

// Stream implements [agent.Model].
func (m *Model) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, modelError(ctx, err))
			return
		}
		a, err := m.answer(ctx, req)
		if err != nil {
			yield(nil, modelError(ctx, err))
			return
		}
		a.run(ctx, yield)
	}
}

// answer is one request in progress through the engine.
type answer struct {
	m     *Model
	req   scheduler.Request
	out   output
	beam  int       // width of the beam search for the likeliest answer; 0 for none
	avoid avoidList // calls that must not be made
	trace *agent.TokenTrace
	usage agent.Usage
}

// answer prepares a request: its tokens, the sampling parameters, the constraint on the answer, and
// its parser.
func (m *Model) answer(ctx context.Context, req *agent.Request) (*answer, error) {
	p, err := m.render(req, true)
	if err != nil {
		return nil, err
	}
	a := &answer{m: m, trace: agent.ContextTokenTrace(ctx)}
	a.req = scheduler.Request{Prompt: p.tokens, MaxTokens: req.MaxOutput, StopTokens: m.tok.EndOfGeneration(), Key: req.SessionID}
	if a.req.MaxTokens <= 0 {
		a.req.MaxTokens = m.cfg.MaxOutput
	}
	if a.req.Sample, err = m.sampling(req); err != nil {
		return nil, err
	}
	if a.beam, err = readBeam(req); err != nil {
		return nil, err
	}
	if a.avoid.calls, err = readAvoided(req); err != nil {
		return nil, err
	}
	if a.req.Constraint, err = m.constraint(req, p); err != nil {
		return nil, err
	}
	if a.trace != nil {
		if a.req.LogProbs = a.trace.Top; a.req.LogProbs == 0 {
			a.req.LogProbs = -1
		}
	}
	if !m.cfg.NoSpeculation {
		for _, text := range references(req, m.format.JSONArguments()) {
			a.req.References = append(a.req.References, m.tok.Encode(text, false))
		}
	}
	mustCall := req.ToolChoice.Mode == agent.ToolModeRequired || req.ToolChoice.Mode == agent.ToolModeNamed
	parser := func() *toolformat.Parser {
		return m.format.NewParser(p.tools, toolformat.ParserOptions{
			Prompt: p.opening, NoCalls: len(p.tools) == 0, JSON: req.Output != nil && !mustCall, NewID: newIDs(req)})
	}
	a.out = output{decoder: m.tok.NewDecoder(), stops: newStopFinder(req.Stop), parser: parser()}
	a.avoid.tok, a.avoid.parser = m.tok, parser
	return a, nil
}

// newIDs returns a function that numbers calls, continuing from those in the conversation, even if
// its beginning was cut off, so that no two calls share an id. An id has nine letters and digits,
// which every known template accepts.
func newIDs(req *agent.Request) func(n int) string {
	calls, next := 0, 0
	for _, msg := range req.Messages {
		for _, c := range msg.Calls() {
			calls++
			number, ours := strings.CutPrefix(c.ID, "call")
			if n, err := strconv.Atoi(number); ours && err == nil && len(number) == 5 {
				next = max(next, n+1)
			}
		}
	}
	first := max(calls, next)
	return func(n int) string { return fmt.Sprintf("call%05d", first+n) }
}

// run generates the answer and yields it. It stops generating as soon as the consumer stops or a
// stop text is found.
func (a *answer) run(ctx context.Context, yield func(agent.Chunk, error) bool) {
	a.out.yield = yield
	a.usage.Input = int64(len(a.req.Prompt))
	length, err := a.generate(ctx)
	if a.out.gone {
		return
	}
	if errors.Is(err, scheduler.ErrContextFull) && a.usage.Output > 0 {
		length, err = true, nil // if the context window is full in the middle of an answer, that counts as a length limit
	}
	if err != nil {
		yield(nil, modelError(ctx, err))
		return
	}
	if a.out.close(); a.out.gone {
		return
	}
	reason, err := a.out.finish(length)
	if err != nil {
		yield(nil, err)
		return
	}
	_ = yield(a.usage, nil) && yield(agent.Finish{Reason: reason}, nil)
}

// generate passes the tokens of the answer to the output, and reports whether its length limit
// ended it.
func (a *answer) generate(ctx context.Context) (length bool, err error) {
	switch {
	case a.beam > 0:
		return a.search(ctx, a.beam)
	case !a.avoid.empty():
		return a.otherThanAvoided(ctx)
	}
	for t, err := range a.m.engine.Generate(ctx, a.req) {
		switch {
		case err != nil:
			return false, err
		case t.Final != nil:
			return t.Final.Finish == scheduler.FinishLength, nil
		case !a.take(t):
			return false, nil
		}
	}
	return false, nil
}

// take passes one token to the output and reports whether more tokens are wanted.
func (a *answer) take(t scheduler.Token) (more bool) {
	a.usage.Output++
	a.usage.CachedInput = int64(t.Cached) // set for each token, since a stop text ends the answer before the final item
	a.traced(t)
	if t.Stop {
		return true
	}
	more = a.out.token(t.ID)
	if a.out.reasoning {
		a.usage.Reasoning++
	}
	return more
}

// traced reports a token to the caller's trace.
func (a *answer) traced(t scheduler.Token) {
	if a.trace == nil || a.trace.Token == nil {
		return
	}
	tok := agent.Token{ID: t.ID, Text: a.m.pieceOf(t.ID, true), LogProb: float64(t.LogProb)}
	for _, o := range t.Top {
		tok.Top = append(tok.Top, agent.TokenAlternative{ID: o.ID, Text: a.m.pieceOf(o.ID, true), LogProb: float64(o.LogProb)})
	}
	a.trace.Token(tok)
}
