package luthier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox/remote"
	"github.com/luthier-dev/luthier/tools/coding"
)

// callOf returns the call in a request, and the tool that it is for. An unknown tool is nil.
func (b *toolbox) callOf(q remote.ToolRequest) (farCall, agent.Tool, error) {
	var c farCall
	if err := json.Unmarshal(q.Args, &c); err != nil {
		return c, nil, fmt.Errorf("the request is not one of this version of the agent: %w; install the same version on both sides", err)
	}
	c.Call.Name, c.Call.ID = q.Name, q.CallID
	t, ok := b.registry.Lookup(q.Name)
	if !ok {
		return c, nil, nil
	}
	return c, t, nil
}

// Call implements [remote.Toolbox]. It makes a call as an agent in place does: through the
// registry, with the instructions of a folder that is touched for the first time.
func (b *toolbox) Call(ctx context.Context, q remote.ToolRequest, out remote.ToolOutput) (json.RawMessage, error) {
	c, tool, err := b.callOf(q)
	if err != nil {
		return nil, err
	}
	scope := agent.ToolScope{CallID: q.CallID, Progress: out.Progress}
	if q.Session != "" {
		scope.Session = b.sessions.get(q.Session, q.Epoch)
	}
	ctx = agent.ToolContext(context.WithValue(ctx, outKey{}, out), scope)
	if c.Dry {
		ctx = coding.WithTrials(ctx, trialAtClient)
	}
	var effects agent.Effects
	if tool != nil {
		if effects = agent.EffectsOf(tool, c.Call); exceeds(effects, c.Allowed) {
			return json.Marshal(farResult{Exceeds: true})
		}
	}
	op := &agent.Op{Session: scope.Session, Call: &c.Call}
	call := agent.Handler(func(ctx context.Context, op *agent.Op) error {
		op.Effects, op.Result = effects, b.registry.Call(ctx, c.Call)
		return nil
	})
	if scope.Session != nil {
		call = b.files.Nested()(call)
	}
	if err := call(ctx, op); err != nil {
		return nil, err
	}
	return json.Marshal(farResult{Result: op.Result})
}

// Prepare implements [remote.Preparer].
func (b *toolbox) Prepare(ctx context.Context, q remote.ToolRequest) (p remote.Prepared, err error) {
	c, tool, err := b.callOf(q)
	if err != nil {
		return p, err
	}
	var effects agent.Effects
	var about agent.CallDescription
	if tool != nil {
		effects = agent.EffectsOf(tool, c.Call)
		if d, ok := tool.(agent.Describer); ok {
			about = d.DescribeCall(c.Call)
		}
		if p.State, err = b.on.stateOf(ctx, effects.Writes); err != nil {
			return p, err
		}
	}
	if p.Effects, err = json.Marshal(farEffects(effects)); err != nil {
		return p, err
	}
	p.Description, err = json.Marshal(farDescription(about))
	return p, err
}

// outKey is the key under which the context of a call has its remote.ToolOutput.
type outKey struct{}

// sentStore is a store that also sends what a call keeps to the agent, where read_artifact is.
type sentStore struct{ agent.ArtifactStore }

// Put keeps a text here and sends it.
func (s sentStore) Put(ctx context.Context, name string, data []byte) (string, error) {
	handle, err := s.ArtifactStore.Put(ctx, name, data)
	if out, ok := ctx.Value(outKey{}).(remote.ToolOutput); ok && err == nil {
		_, err = out.Artifact(name, data)
	}
	return handle, err
}

// askClient asks the person at the agent.
func askClient(ctx context.Context, q coding.Question) (answer string, err error) {
	err = toClient(ctx, farQuestion{Question: &q}, &answer)
	return answer, err
}

// mostTrialDiff is the most bytes of a diff that a question about a trial shows.
const mostTrialDiff = 128 << 10

// trialAtClient lets the agent's host decide about what a command changed in a trial.
func trialAtClient(ctx context.Context, t coding.CommandTrial) (keep bool, reason string) {
	if shown := wholeLines(t.Diff, mostTrialDiff); len(shown) < len(t.Diff) {
		t.Diff = shown + "[the rest of the diff is left out]\n"
	}
	var answer farKeep
	if err := toClient(ctx, farQuestion{Trial: &t}, &answer); err != nil {
		return false, "nobody could be asked whether to keep them: " + err.Error()
	}
	return answer.Keep, answer.Reason
}

// toClient sends a question to the agent and reads the answer.
func toClient(ctx context.Context, q farQuestion, answer any) error {
	out, ok := ctx.Value(outKey{}).(remote.ToolOutput)
	if !ok {
		return errors.New("nobody is there")
	}
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	raw, err := out.Ask(ctx, text)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, answer)
}

// standIns holds a session in memory for each session of an agent elsewhere, because tools remember
// by the session what its model was shown.
type standIns struct {
	mu    sync.Mutex
	byID  map[string]*agent.Session
	order []string // least recently used first
}

// maxSessions limits the sessions that are remembered. The model of an older one reads again.
const maxSessions = 128

func (s *standIns) get(id string, epoch int) *agent.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	session := s.byID[id]
	if session == nil {
		session = agent.NewSessionWith(agent.SessionOptions{ID: id})
		s.byID[id] = session
		if len(s.order) == maxSessions {
			delete(s.byID, s.order[0])
			s.order = s.order[1:]
		}
	} else {
		s.order = slices.DeleteFunc(s.order, func(o string) bool { return o == id })
	}
	s.order = append(s.order, id)
	session.FollowEpoch(epoch)
	return session
}
