package measure

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/harness"
	"github.com/luthier-dev/luthier/internal/repair"
	"github.com/luthier-dev/luthier/internal/train/verify"
)

// Config says what is measured.
type Config struct {
	Model    agent.Model
	Edits    int // test runs at most; 0 means 10
	Seed     uint64
	Progress func(done, all int, what string) // nil is silent
}

// Score is how often and how soon one way of repair came to an end.
type Score struct {
	Tries []int // of every task, the test run that passed, from 1; 0 if none did
	Runs  int   // test runs in all
}

// Tally is the outcome of one task.
type Tally struct {
	Fact
	Model, Enumerator map[string]int // by scope: the test run that passed, 0 if none did
}

// Scopes are what a model may choose from: the broken function alone, or the functions that the failing tests run.
var Scopes = []string{"function", "package"}

// Report is what was measured.
type Report struct {
	Tallies        []Tally
	Model, Enum    map[string]*Score // by scope
	Calls, Invalid int               // tool calls, and those that broke their schema
	Tokens         int64
	Thought        time.Duration
	Skipped        []string // packages and lines that could not be measured, and why
}

// Run measures a model on facts.
func Run(ctx context.Context, cfg Config, facts []Fact) (*Report, error) {
	if cfg.Edits == 0 {
		cfg.Edits = 10
	}
	rep := &Report{Model: map[string]*Score{}, Enum: map[string]*Score{}}
	for _, s := range Scopes {
		rep.Model[s], rep.Enum[s] = &Score{}, &Score{}
	}
	facts = slices.Clone(facts)
	slices.SortStableFunc(facts, func(a, b Fact) int { return strings.Compare(a.key(), b.key()) })
	for done := 0; done < len(facts); {
		n := done
		for n < len(facts) && facts[n].key() == facts[done].key() {
			n++
		}
		group := facts[done:n]
		if cfg.Progress != nil {
			cfg.Progress(done, len(facts), group[0].key())
		}
		if err := rep.pack(ctx, cfg, group); err != nil {
			if ctx.Err() != nil {
				return rep, ctx.Err()
			}
			rep.Skipped = append(rep.Skipped, fmt.Sprintf("%s (%d): %v", group[0].key(), len(group), err))
		}
		done = n
	}
	return rep, nil
}

// pack measures the facts of one package.
func (rep *Report) pack(ctx context.Context, cfg Config, facts []Fact) (err error) {
	b, err := openBench(ctx, facts[0].Module, facts[0].Version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	dir := filepath.Join(b.root, filepath.FromSlash(facts[0].Dir))
	p, err := verify.Load(ctx, b.config(), dir)
	if err != nil {
		return err
	}
	tasks, err := observe(ctx, b.config(), p, facts)
	if err != nil {
		return err
	}
	if n := len(facts) - len(tasks); n > 0 {
		rep.Skipped = append(rep.Skipped, fmt.Sprintf("%s: %d of %d lines are not noticed by the tests here", facts[0].key(), n, len(facts)))
	}
	c, err := repair.NewChecker(ctx, dir, ".", append(environ(), b.config().Env...)...)
	if err != nil {
		return err
	}
	var plans []*plan
	for _, t := range tasks {
		pl, err := rep.plan(ctx, cfg, t, p, c)
		if err != nil {
			return err
		}
		plans = append(plans, pl)
	}
	if err := test(ctx, b.config(), p, plans); err != nil {
		return err
	}
	for _, pl := range plans {
		rep.count(pl)
	}
	return nil
}

// plan is what is to be tried on a task, by scope.
type plan struct {
	t           *task
	model, enum map[string][]attempt
}

// plan asks the model and the enumerator for their edits.
func (rep *Report) plan(ctx context.Context, cfg Config, t *task, p *verify.Package, c *repair.Checker) (*plan, error) {
	pl := &plan{t, map[string][]attempt{}, map[string][]attempt{}}
	for _, scope := range Scopes {
		function := scope == "function"
		if t.found.buggy < 0 && !function {
			continue // nobody can find it
		}
		res, err := harness.Run(ctx, harness.Config{Model: cfg.Model, Case: &recorder{t, p, c, function}, Edits: cfg.Edits})
		if err != nil {
			return nil, err
		}
		rep.Calls += res.Calls
		rep.Invalid += res.Invalid
		rep.Tokens += res.Usage.Output
		rep.Thought += res.Thought
		for _, e := range res.Edits {
			a := attempt{}
			if t.is(e.Function) {
				a = attempt{e.Line, e.New}
			}
			pl.model[scope] = append(pl.model[scope], a)
		}
		if pl.enum[scope], err = enumerate(t, p, c, function, cfg.Edits, cfg.Seed); err != nil {
			return nil, err
		}
	}
	return pl, nil
}

// test runs the tests with every edit that anyone wants to try.
func test(ctx context.Context, cfg verify.Config, p *verify.Package, plans []*plan) error {
	type place struct {
		t *task
		a attempt
	}
	var places []place
	var variants []verify.Variant
	for _, pl := range plans {
		seen := map[attempt]bool{}
		for _, lists := range []map[string][]attempt{pl.model, pl.enum} {
			for _, scope := range Scopes {
				for _, a := range lists[scope] {
					if a.line > 0 && !seen[a] {
						seen[a] = true
						places = append(places, place{pl.t, a})
						variants = append(variants, pl.t.edited(a))
					}
				}
			}
		}
	}
	if len(variants) == 0 {
		return nil
	}
	bin, err := ready(ctx, cfg, p, variants)
	if err != nil {
		return err
	}
	defer bin.Close()
	for _, id := range bin.Usable() {
		o, err := bin.Run(ctx, id)
		if err != nil {
			return err
		}
		places[id-1].t.pass[places[id-1].a] = len(o.Failed) == 0 && !o.Flaky && !o.Timeout
	}
	return nil
}

// count adds the outcome of a task.
func (rep *Report) count(pl *plan) {
	t := Tally{Fact: pl.t.Fact, Model: map[string]int{}, Enumerator: map[string]int{}}
	for _, scope := range Scopes {
		t.Model[scope] = rep.Model[scope].add(pl.t, pl.model[scope])
		t.Enumerator[scope] = rep.Enum[scope].add(pl.t, pl.enum[scope])
	}
	rep.Tallies = append(rep.Tallies, t)
}

// add counts a list of attempts up to the first that passes and returns its number.
func (s *Score) add(t *task, list []attempt) int {
	for i, a := range list {
		if a.line > 0 && t.pass[a] {
			s.Tries = append(s.Tries, i+1)
			s.Runs += i + 1
			return i + 1
		}
	}
	s.Tries = append(s.Tries, 0)
	s.Runs += len(list)
	return 0
}

// At returns the share of tasks that were repaired within so many test runs.
func (s *Score) At(runs int) float64 {
	if len(s.Tries) == 0 {
		return 0
	}
	n := 0
	for _, t := range s.Tries {
		if t > 0 && t <= runs {
			n++
		}
	}
	return float64(n) / float64(len(s.Tries))
}

// Mean returns how many test runs a task took, repaired or not.
func (s *Score) Mean() float64 {
	if len(s.Tries) == 0 {
		return 0
	}
	return float64(s.Runs) / float64(len(s.Tries))
}
