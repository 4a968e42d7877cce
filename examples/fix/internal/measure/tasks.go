package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// task is a broken package with the results of its tests.
type task struct {
	Fact
	fn       repair.Function // the broken function
	original string
	found    evidence
	pass     map[attempt]bool // test results of edits of fn
}

type evidence struct {
	failed []string
	output string
	ranked []repair.Ranked
	buggy  int // index of the broken function in ranked; -1 if it is not there
}

// attempt is an edit of the broken function.
type attempt struct {
	line int
	text string
}

// observe runs the tests on every fact of one package and returns tasks for the facts that the
// tests notice.
func observe(ctx context.Context, cfg verify.Config, p *verify.Package, facts []Fact) ([]*task, error) {
	all, err := functions(p)
	if err != nil {
		return nil, err
	}
	var tasks []*task
	var variants []verify.Variant
	for _, f := range facts {
		i := slices.IndexFunc(all, func(fn repair.Function) bool {
			return fn.Name == f.Function && fn.Start == f.Start && filepath.Base(fn.File) == f.File
		})
		if i < 0 {
			return nil, fmt.Errorf("measure: %s has no function %s at %s:%d", f.key(), f.Function, f.File, f.Start)
		}
		fn, original, err := f.broken(all[i])
		if err != nil {
			return nil, fmt.Errorf("measure: %s: %w", f.key(), err)
		}
		tasks = append(tasks, &task{Fact: f, fn: fn, original: original, pass: map[attempt]bool{}})
		variants = append(variants, verify.Variant{Function: all[i], Line: f.Line, Text: f.Text})
	}
	bin, err := ready(ctx, cfg, p, variants)
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	var killed []*task
	for _, id := range bin.Usable() {
		o, err := bin.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		t := tasks[id-1]
		if !o.Killed() || o.Timeout {
			continue
		}
		if err := t.learn(o, all, p.Names()); err != nil {
			return nil, err
		}
		killed = append(killed, t)
	}
	return killed, nil
}

func functions(p *verify.Package) ([]repair.Function, error) {
	var all []repair.Function
	for _, f := range p.Files {
		fns, err := repair.Functions(f.Name, f.Src)
		if err != nil {
			return nil, err
		}
		all = append(all, fns...)
	}
	return all, nil
}

// learn ranks the functions by the test results.
func (t *task) learn(o *verify.Outcome, all []repair.Function, names *repair.Names) error {
	ranked, buggy, shown, err := o.Suspects(names, all, t.fn)
	if err != nil {
		return err
	}
	if buggy < 0 { // in function scope, the broken function is a candidate anyway
		ranked = append(ranked, shown)
	}
	t.found = evidence{o.Failed, o.Output, ranked, buggy}
	return nil
}

// is reports whether a function is the broken one.
func (t *task) is(f repair.Function) bool {
	return f.Start == t.Start && filepath.Base(f.File) == t.File
}

// edited returns the variant for an edit of the broken function.
func (t *task) edited(a attempt) verify.Variant {
	return verify.Variant{Function: t.fn, Line: a.line, Text: a.text}
}
