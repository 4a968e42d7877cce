package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// stages records the durations of the stages of a package.
type stages struct {
	text  []string
	since time.Time
}

func (s *stages) begin() { s.since = time.Now() }

func (s *stages) end(what string) {
	s.text = append(s.text, fmt.Sprintf("%s %.1fs", what, time.Since(s.since).Seconds()))
	s.begin()
}

// String returns the stages in one line.
func (s *stages) String() string { return strings.Join(s.text, ", ") }

// pack measures the facts of one package.
func (rep *Report) pack(ctx context.Context, cfg Config, facts []Fact, clock *stages) (err error) {
	clock.begin()
	b, err := openBench(ctx, cfg, facts[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	build := b.config()
	dir := filepath.Join(b.root, filepath.FromSlash(facts[0].Dir))
	p, err := verify.Load(ctx, build, dir)
	if err != nil {
		return err
	}
	c, err := repair.NewChecker(ctx, dir, ".", append(os.Environ(), build.Env...)...)
	if err != nil {
		return err
	}
	clock.end("load")
	tasks, err := observe(ctx, build, p, facts)
	if err != nil {
		return err
	}
	clock.end("break")
	if n := len(facts) - len(tasks); n > 0 {
		rep.Skipped = append(rep.Skipped, Skip{facts[0].key(), n, "the tests that are used here do not notice, or hang"})
	}
	pupil := &pupil{learner: cfg.Learner, root: b.root, facts: facts}
	defer func() { err = errors.Join(err, pupil.close()) }()
	var plans []*plan
	for _, t := range tasks {
		pl, err := rep.plan(ctx, cfg, t, p, c, pupil)
		if err != nil {
			return err
		}
		plans = append(plans, pl)
	}
	clock.end("think")
	rep.Learned += pupil.note(clock)
	if err := test(ctx, build, p, plans); err != nil {
		return err
	}
	clock.end("test")
	for _, pl := range plans {
		rep.count(pl)
	}
	return nil
}

// plan holds the edits to try on a task, by scope.
type plan struct {
	t           *task
	model, enum map[string][]attempt
	trouble     string
}

// plan gets the edits of the model and of the enumerator.
func (rep *Report) plan(ctx context.Context, cfg Config, t *task, p *verify.Package, c *repair.Checker, pupil *pupil) (*plan, error) {
	pl := &plan{t: t, model: map[string][]attempt{}, enum: map[string][]attempt{}}
	for _, scope := range Scopes {
		function := scope == "function"
		if t.found.buggy < 0 && !function {
			rep.Unlisted++
			continue // the broken function is not a candidate, so nobody can find it
		}
		res, err := harness.Run(ctx, harness.Config{Model: cfg.Model, Case: &recorder{t, p, c, function}, Edits: cfg.Edits, Adapt: pupil.adapt})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil { // the error concerns only this task, which counts as abandoned by the model
			pl.trouble = err.Error()
		}
		if res == nil {
			res = &harness.Result{}
		}
		rep.Calls += res.Calls
		rep.Invalid += res.Invalid
		rep.Refused += res.Refused
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

// lists calls the function each with every list of edits to try.
func (pl *plan) lists(each func([]attempt) error) error {
	for _, lists := range []map[string][]attempt{pl.model, pl.enum} {
		for _, scope := range Scopes {
			if err := each(lists[scope]); err != nil {
				return err
			}
		}
	}
	return nil
}

// test compiles all edits to try into one binary, and runs the tests on the edits of every list, up
// to the first edit that passes.
func test(ctx context.Context, cfg verify.Config, p *verify.Package, plans []*plan) error {
	type place struct {
		t *task
		a attempt
	}
	ids := map[place]int{}
	var variants []verify.Variant
	for _, pl := range plans {
		_ = pl.lists(func(list []attempt) error {
			for _, a := range list {
				if at := (place{pl.t, a}); a.line > 0 && ids[at] == 0 {
					variants = append(variants, pl.t.edited(a))
					ids[at] = len(variants)
				}
			}
			return nil
		})
	}
	if len(variants) == 0 {
		return nil
	}
	bin, err := ready(ctx, cfg, p, variants)
	if err != nil {
		return err
	}
	defer bin.Close()
	for _, pl := range plans {
		err := pl.lists(func(list []attempt) error {
			for _, a := range list {
				pass, known := pl.t.pass[a]
				if id := ids[place{pl.t, a}]; !known && id > 0 && bin.Dropped[id] == nil {
					o, err := bin.Try(ctx, id)
					if err != nil {
						return err
					}
					pass = passes(o, pl.t.found.failed)
					pl.t.pass[a] = pass
				}
				if pass {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// passes reports whether no test fails and all tests that failed before pass.
func passes(o *verify.Outcome, failed []string) bool {
	if len(o.Failed) > 0 || o.Timeout || o.Panic || o.Exit {
		return false
	}
	passed := map[string]bool{}
	for _, name := range o.Passed {
		passed[name] = true
	}
	for _, name := range failed {
		if !passed[name] {
			return false
		}
	}
	return true
}

// count adds the outcome of a task.
func (rep *Report) count(pl *plan) {
	t := Tally{Fact: pl.t.Fact, Original: pl.t.original, Model: map[string]int{}, Enumerator: map[string]int{},
		Tried: map[string][]Tried{}, Trouble: pl.trouble}
	for _, scope := range Scopes {
		t.Tried[scope] = pl.t.tried(pl.model[scope])
		t.Model[scope] = rep.Model[scope].add(t.Tried[scope])
		t.Enumerator[scope] = rep.Enum[scope].add(pl.t.tried(pl.enum[scope]))
	}
	rep.Tallies = append(rep.Tallies, t)
}

// tried returns the edits of a list with their test results, up to the first edit that passes.
func (t *task) tried(list []attempt) []Tried {
	var out []Tried
	for _, a := range list {
		out = append(out, Tried{a.line, a.text, t.pass[a]})
		if t.pass[a] {
			break
		}
	}
	return out
}
