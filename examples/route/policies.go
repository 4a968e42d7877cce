package main

import (
	"context"
	"math/rand/v2"

	"github.com/luthier-dev/luthier/router"
)

// policies returns the routers that are compared: each model alone, a cascade that asks the cheap
// ones first, a cascade that weighs another attempt against the worth of an answer, and one that
// learns which model to ask.
func policies(ctx context.Context, t *table, past []task, o options) ([]route, error) {
	var routes []route
	members := t.members()
	for _, m := range members {
		alone, err := router.NewFallback(router.FallbackConfig{Members: []router.Member{m}})
		if err != nil {
			return nil, err
		}
		routes = append(routes, route{m.Name + " alone", alone})
	}
	inOrder, err := router.NewCascade(router.CascadeConfig{Members: members, Verify: t.check(o.errs)})
	if err != nil {
		return nil, err
	}
	odds, err := router.LearnOdds(t.trials(past))
	if err != nil {
		return nil, err
	}
	weighed, err := router.NewCascade(router.CascadeConfig{
		Members: members, Verify: t.check(o.errs), Odds: odds, Worth: o.worth,
		Check: router.Check{FalseAccept: o.errs, FalseReject: o.errs},
	})
	if err != nil {
		return nil, err
	}
	auto, err := router.NewAuto(router.AutoConfig{Members: members, Worth: o.worth, Random: rand.New(rand.NewPCG(1, 2)).Float64})
	if err != nil {
		return nil, err
	}
	if err := learn(ctx, auto, past); err != nil {
		return nil, err
	}
	return append(routes, route{"cascade, the cheap first", inOrder}, route{"cascade, by odds and worth", weighed}, route{"auto, having learnt", auto}), nil
}

// learn lets a router try tasks and reports each outcome to it, as a host does when the tests of a
// task have run.
func learn(ctx context.Context, a *router.Auto, past []task) error {
	for _, task := range past {
		got, err := route{"auto", a}.ask(ctx, task)
		if err != nil {
			return err
		}
		if err := a.Outcome(ctx, task.ID, float64(got.resolved)); err != nil {
			return err
		}
	}
	return nil
}
