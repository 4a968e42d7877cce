package luthier

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
	"github.com/luthier-dev/luthier/tools/coding"
)

// farHost connects the forwarded tools of an agent with the agent.
type farHost struct {
	on        *farWorkspace
	artifacts agent.ArtifactStore
	ask       coding.QuestionFunc // nil refuses
	trial     coding.TrialFunc    // decides about commands that ran in a trial; nil runs none in one

	mu      sync.Mutex
	careful map[string]bool // calls that did more than was allowed: they are prepared
}

// forwarded is a tool that runs next to a workspace on another machine. It implements
// [agent.Preparer]: the agent's policy decides here about what the call does there.
type forwarded struct {
	host *farHost
	spec agent.ToolSpec
	far  farSpec
}

// Spec implements agent.Tool.
func (t *forwarded) Spec() agent.ToolSpec { return t.spec }

// Call makes the call without asking anybody.
func (t *forwarded) Call(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	return t.send(ctx, call, nil, "")
}

// needsApproval is the result of a call that would have done more than was allowed.
var needsApproval = agent.ErrorResult("The call was not run: it would do more than what runs without approval. Make the same call again, so that it can be approved.")

// again lets the agent decide again about a call that would have done more than was allowed.
func (h *farHost) again(next agent.Handler) agent.Handler {
	return func(ctx context.Context, op *agent.Op) error {
		err := next(ctx, op)
		if err == nil && op.Result == needsApproval {
			return next(ctx, op)
		}
		return err
	}
}

// PrepareCall implements agent.Preparer. What the tool's spec says is enough if the policy allows
// any such call: then the call takes one round trip, and the far side refuses to do more.
func (t *forwarded) PrepareCall(ctx context.Context, call agent.ToolCall, allowed func(agent.Effects, agent.CallDescription) bool) (*agent.PreparedCall, error) {
	key := t.key(ctx, call)
	if !t.host.takeCareful(key) {
		about := agent.CallDescription{Title: call.Name, Where: t.host.on.where()}
		for _, most := range t.bounds() {
			if allowed(most, about) {
				return &agent.PreparedCall{Effects: t.spec.Effects, Description: about, Call: func(ctx context.Context) (*agent.ToolResult, error) {
					res, err := t.send(ctx, call, (*farEffects)(&most), "")
					if res == needsApproval {
						t.host.setCareful(key)
					}
					return res, err
				}}, nil
			}
		}
	}
	p, err := t.host.on.tools.Prepare(ctx, t.request(ctx, call, nil))
	if err != nil {
		return nil, fmt.Errorf("the call was not run: %w", err)
	}
	var effects farEffects
	var about farDescription
	if err := errors.Join(json.Unmarshal(p.Effects, &effects), json.Unmarshal(p.Description, &about)); err != nil {
		return nil, fmt.Errorf("the call was not run, since what the other machine says about it cannot be read: %w", err)
	}
	if about.Where == "" {
		about.Where = t.host.on.where()
	} else {
		about.Where += ", at " + t.host.on.where()
	}
	return &agent.PreparedCall{Effects: agent.Effects(effects), Description: agent.CallDescription(about), Call: func(ctx context.Context) (*agent.ToolResult, error) {
		return t.send(ctx, call, nil, p.Digest)
	}}, nil
}

// bounds returns what calls may do that are not prepared, the most first. There is nothing if the
// spec does not say what a call does.
func (t *forwarded) bounds() []agent.Effects {
	e := t.spec.Effects
	more := []agent.EffectFlags{agent.EffectSecret | agent.EffectOutside, 0}
	switch {
	case t.far.Writes && e.Known:
		more = []agent.EffectFlags{agent.EffectDelete | agent.EffectObeyed | agent.EffectOutside, agent.EffectDelete, 0}
	case !e.IsReadOnly():
		return nil
	}
	var out []agent.Effects
	for _, flags := range more {
		most := e
		most.Flags |= flags
		out = append(out, most)
	}
	return out
}

// key identifies a call of a session, also if the model repeats it.
func (t *forwarded) key(ctx context.Context, call agent.ToolCall) string {
	session := ""
	if s := agent.SessionFrom(ctx); s != nil {
		session = s.ID()
	}
	return session + "\x00" + call.Name + "\x00" + string(call.Args)
}

// maxCareful limits the calls that are remembered.
const maxCareful = 1000

func (h *farHost) setCareful(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.careful == nil || len(h.careful) == maxCareful {
		h.careful = map[string]bool{}
	}
	h.careful[key] = true
}

func (h *farHost) takeCareful(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.careful[key]
	delete(h.careful, key)
	return was
}

func (t *forwarded) request(ctx context.Context, call agent.ToolCall, allowed *farEffects) remote.ToolRequest {
	args, _ := json.Marshal(farCall{Call: agent.ToolCall{Args: call.Args}, Allowed: allowed, Dry: t.host.trial != nil}) // cannot fail: a call keeps any arguments
	q := remote.ToolRequest{Name: call.Name, Args: args, CallID: call.ID}
	if s := agent.SessionFrom(ctx); s != nil {
		q.Session, q.Epoch = s.ID(), s.Epoch()
	}
	return q
}

// send makes a call and returns its result. The call is never made twice.
func (t *forwarded) send(ctx context.Context, call agent.ToolCall, allowed *farEffects, digest string) (*agent.ToolResult, error) {
	q := t.request(ctx, call, allowed)
	q.Digest = digest
	raw, err := t.host.on.tools.Call(ctx, q, t.host.handlers(ctx))
	var failed *remote.ToolError
	switch {
	case err == nil:
	case errors.As(err, &failed):
		return nil, failed
	case errors.Is(err, remote.ErrChanged):
		return agent.ErrorResult("The call was not run: what it would do has changed since it was approved, because a file or link is different now. Look at the files again, and then make the call again."), nil
	case errors.Is(err, remote.ErrLost):
		return agent.ErrorResult("It is not known whether the call ran, or how far: %v. Look at the workspace before you make the call again.", err), nil
	default:
		return nil, fmt.Errorf("the call was not run: %w", err)
	}
	var out farResult
	if err := json.Unmarshal(raw, &out); err != nil || out.Result == nil && !out.Exceeds {
		return agent.ErrorResult("The call has run, but its result cannot be read: %v. Look at the workspace before you make the call again.", err), nil
	}
	if out.Exceeds {
		return needsApproval, nil
	}
	return out.Result, nil
}

// handlers receive what a running call sends.
func (h *farHost) handlers(ctx context.Context) remote.ToolHandlers {
	out := remote.ToolHandlers{
		Progress: func(text string) { agent.Progress(ctx, text) },
		Output:   func(_ sandbox.Stream, data []byte) { agent.Progress(ctx, string(data)) },
		Artifact: func(ctx context.Context, a *remote.Artifact) error {
			if a.Size > maxFetched {
				return fmt.Errorf("a text of %d bytes is too long", a.Size)
			}
			var text bytes.Buffer
			if err := a.Fetch(ctx, &text); err != nil {
				return err
			}
			_, err := h.artifacts.Put(ctx, a.Name, text.Bytes())
			return err
		},
	}
	if h.ask != nil || h.trial != nil {
		out.Ask = h.answer
	}
	return out
}

// answer answers a question of a call.
func (h *farHost) answer(ctx context.Context, question json.RawMessage) (json.RawMessage, error) {
	var q farQuestion
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, err
	}
	switch {
	case q.Trial != nil && h.trial != nil:
		keep, reason := h.trial(ctx, *q.Trial)
		return json.Marshal(farKeep{keep, reason})
	case q.Question != nil && h.ask != nil:
		answer, err := h.ask(ctx, *q.Question)
		if err != nil {
			return nil, err
		}
		return json.Marshal(answer)
	}
	return nil, errors.New("nobody answers such questions")
}

// maxFetched limits one text of a call. The tools keep at most 64 MiB of a program's output.
const maxFetched = 128 << 20
