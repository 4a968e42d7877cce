package measure

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/adapt"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/router/moe"
)

// pupil is a model adapted to the module of one package, made when first requested. It is used for
// all broken lines of the package, so all functions in which a line is broken are left out of the
// training.
type pupil struct {
	learner *harness.Learner // nil if no adapted models are used
	root    string
	facts   []Fact

	model  *moe.Model // nil if no model was made
	learnt *adapt.Learned
	err    error // reason why no model was made although it should have been
}

// adapt implements [harness.Config.Adapt].
func (p *pupil) adapt(ctx context.Context, _ *harness.Finding) agent.Model {
	if p.learner != nil && p.model == nil && p.err == nil {
		p.model, p.learnt, p.err = p.learner.Learn(ctx, p.facts[0].Module, p.root, p.facts[0].Dir, p.broken, nil)
	}
	if p.model == nil {
		return nil
	}
	return p.model
}

// broken reports whether a function is broken for the measurement.
func (p *pupil) broken(file, name string) bool {
	for _, f := range p.facts {
		if name == f.Function && file == path.Join(f.Dir, f.File) {
			return true
		}
	}
	return false
}

// note records the duration of the training as a part of the thinking, and returns the number of
// packages for which a model was trained.
func (p *pupil) note(clock *stages) int {
	switch {
	case p.model != nil:
		clock.text = append(clock.text, fmt.Sprintf("of it learning %.1fs", p.learnt.Took.Seconds()))
		return 1
	case errors.Is(p.err, adapt.ErrTooLittle):
		clock.text = append(clock.text, "too little to learn from")
	case p.err != nil:
		clock.text = append(clock.text, "not learnt: "+p.err.Error())
	}
	return 0
}

func (p *pupil) close() error {
	if p.model == nil {
		return nil
	}
	return p.model.Close()
}
