package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/adapt"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

// learner returns a Learner that adapts the model in the options to the module under repair. It
// returns nil if the options disable learning.
func learner(o options) (*harness.Learner, error) {
	if o.learn == 0 {
		return nil, nil
	}
	l := &harness.Learner{Weights: embedded.Model(), Limit: o.learn, Config: beams()}
	if o.model != "" {
		var err error
		if l.Weights, err = os.ReadFile(o.model); err != nil {
			return nil, fmt.Errorf("load the model: %w", err)
		}
	}
	return l, nil
}

// pupil is a model that learns a module after three edits did not help.
type pupil struct {
	options options
	module  *harness.Module
	show    *display
	model   *moe.Model // the adapted model
}

// adapt implements [harness.Config.Adapt]. If nothing can be learned, the repair continues with the
// original model.
func (p *pupil) adapt(ctx context.Context, f *harness.Finding) agent.Model {
	l, err := learner(p.options)
	if err != nil {
		p.show.problem(err)
		return nil
	}
	m, learned, err := p.module.Learn(ctx, l, f, p.show.learning)
	if err != nil {
		if !errors.Is(err, adapt.ErrTooLittle) && ctx.Err() == nil {
			p.show.problem(err)
		}
		return nil
	}
	p.model = m
	p.show.learned(learned)
	return m
}

func (p *pupil) close() {
	if p.model != nil {
		p.model.Close()
	}
}
