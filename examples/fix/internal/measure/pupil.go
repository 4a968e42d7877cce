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

// pupil is a model adapted to the module of one package, made when first requested. All lines of
// the package share it, so functions that any of them breaks are left out.
type pupil struct {
	learner *harness.Learner // nil if nothing is learned
	root    string
	facts   []Fact

	model  *moe.Model // nil if nothing was learned
	learnt *adapt.Learned
	err    error // why nothing was learned although it should have been
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

// note records how long the learning took, as a part of the thinking, and returns how many packages
// were learned.
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
