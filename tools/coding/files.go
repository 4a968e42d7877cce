package coding

import (
	"context"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/shelleffects"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// toolParts holds the parts of a file tool other than its function.
type toolParts[In any] struct {
	any      agent.Effects // what any call may do
	effects  func(In) agent.Effects
	describe func(In) agent.CallDescription
	opts     []tools.Option
}

// newTool builds the tool name with the description from toolbox. Its results are already within
// the limits of the workspace, so the registry need not cut them.
func newTool[In, Out any](name string, fn func(context.Context, In) (Out, error), p toolParts[In]) (agent.Tool, error) {
	opts := append([]tools.Option{
		tools.WithEffects(p.any), tools.WithCallEffects(p.effects), tools.WithDescribe(p.describe), tools.WithMaxOutput(-1),
	}, p.opts...)
	named := func(ctx context.Context, in In) (Out, error) {
		out, err := fn(ctx, in)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return out, err
	}
	return tools.New(name, description(name), named, opts...)
}

// readEffects are the effects of a call that reads the file or directory p.
func (w opened) readEffects(p string) agent.Effects {
	t, err := w.resolve(p)
	if err != nil {
		return w.outside(agent.ReadOnly(p), err)
	}
	e := agent.ReadOnly(resource(t.rel))
	if shelleffects.SecretPath(t.rel) {
		e.Flags |= agent.EffectSecret
		e.Reasons = append(e.Reasons, show.Path(t.rel)+" may hold credentials")
	}
	return e
}

// writeEffects are the effects of a call that writes the files ps.
func (w opened) writeEffects(ps ...string) agent.Effects {
	e := agent.Writing()
	var bad error
	for _, p := range ps {
		t, err := w.resolve(p)
		if err != nil {
			bad, t.rel = err, p
		}
		e.Writes = append(e.Writes, resource(t.rel))
	}
	if bad != nil {
		return w.outside(e, bad)
	}
	return e
}

// resource returns the name of a path in effects. A path such as "a:b" must be changed, since it
// would name a resource of another kind.
func resource(rel string) string {
	if strings.Contains(rel, ":") {
		return "./" + rel
	}
	return rel
}

// outside marks the effects of a call whose path cannot be resolved. The call itself will be
// refused; until then it counts as leaving the workspace.
func (w *Workspace) outside(e agent.Effects, err error) agent.Effects {
	e.Flags |= agent.EffectOutside
	e.Reasons = append(e.Reasons, err.Error())
	return e
}

// titled returns a function that describes a call in one line.
func titled[In any](f func(In) string) func(In) agent.CallDescription {
	return func(in In) agent.CallDescription { return agent.CallDescription{Title: f(in)} }
}
