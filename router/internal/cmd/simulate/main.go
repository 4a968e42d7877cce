// Command simulate replays a table of outcomes through routing policies and plots the quality of
// each against its cost.
//
//	go run ./router/internal/cmd/simulate
//	go run ./router/internal/cmd/simulate -table tasks.jsonl -o curve.html
//	go run ./router/internal/cmd/simulate -table tasks.jsonl -verifier-false-accept 0.1 -verifier-false-reject 0.1
//	go run ./router/internal/cmd/simulate -table tasks.jsonl -learn-from others.jsonl -policy 'worth|single'
//	go run ./router/internal/cmd/simulate -generate 150 > table.jsonl
//
// A table has a line of JSON for each task: its id and, for each model, whether it resolved the
// task and what that cost (see testdata/README.md). The policies are the single models, a model at
// random, an oracle that knows the outcomes, cascades of every order and length, and the deciders
// of package router itself: the cascade that weighs another attempt against the worth of a right
// answer (-worth) or spends a given amount per task (-budget), and the bandit of Auto. Policies
// that learn are measured on tasks that they did not learn from. Two models working together on one
// task, as in router.PlanThenAct, cannot be replayed: a table does not say what they would have
// done together.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"

	"github.com/luthier-dev/luthier/router/internal/simulate"
)

type options struct {
	table, from, out string
	policy           string
	check, believed  simulate.Check
	worth, budget    float64
	deals, folds     int
	orders           int
	seed             uint64
	sweep            bool
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

func run() error {
	var o options
	flag.StringVar(&o.table, "table", "router/internal/cmd/simulate/testdata/synthetic.jsonl", "`file` of outcomes")
	flag.StringVar(&o.from, "learn-from", "", "learn from this `file` instead of by cross-validation")
	flag.StringVar(&o.out, "o", "", "draw into this `file`: .html with the table, or .svg")
	flag.StringVar(&o.policy, "policy", "", "print and draw only policies whose name or kind has this `pattern` (a regular expression)")
	flag.Float64Var(&o.check.FalseAccept, "verifier-false-accept", 0, "`share` of wrong attempts that the check passes")
	flag.Float64Var(&o.check.FalseReject, "verifier-false-reject", 0, "`share` of right attempts that the check rejects")
	trust := flag.Bool("trust", false, "let the policies believe that the check never errs")
	flag.Float64Var(&o.worth, "worth", 1, "`dollars` that a resolved task is worth")
	flag.Float64Var(&o.budget, "budget", 0.24, "`dollars` a task for the cascade that spends so much on average")
	flag.BoolVar(&o.sweep, "sweep", true, "print what checks cost that err in 0 to 30 of 100 cases")
	flag.IntVar(&o.folds, "folds", 5, "parts of the table, each measured after learning from the others")
	flag.IntVar(&o.deals, "deals", 5, "how often the parts are dealt anew")
	flag.IntVar(&o.orders, "orders", 40, "random orders of the tasks for the bandit")
	flag.Uint64Var(&o.seed, "seed", 1, "of everything random")
	generate := flag.Int("generate", 0, "print a made-up table of so many `tasks` and end")
	flag.Parse()
	o.believed = o.check
	if *trust {
		o.believed = simulate.Check{}
	}
	switch {
	case *generate > 0:
		return made(os.Stdout, *generate, o.seed)
	case o.folds < 2 || o.deals < 1 || o.orders < 1:
		return errors.New("-folds must be 2 or more, -deals and -orders 1 or more")
	}
	return compare(&o)
}

// compare measures the policies on a table, and prints and plots them.
func compare(o *options) error {
	t, err := open(o.table)
	if err != nil {
		return err
	}
	var prior []simulate.Task
	if o.from != "" {
		other, err := open(o.from)
		if err != nil {
			return err
		}
		if prior, err = t.Align(other); err != nil {
			return err
		}
	}
	only, err := regexp.Compile(o.policy)
	if err != nil {
		return fmt.Errorf("-policy: %w", err)
	}
	all, err := measureAll(t, prior, o)
	if err != nil {
		return err
	}
	show := all
	if o.policy != "" {
		show = nil
		for _, m := range all {
			if only.MatchString(m.name) || only.MatchString(m.kind.String()) {
				show = append(show, m)
			}
		}
	}
	r := report{o: o, table: t, all: all, show: show}
	if o.sweep {
		if r.sweeps, err = sweep(t, prior, o); err != nil {
			return err
		}
	}
	r.print(os.Stdout)
	if o.out != "" {
		return r.draw(o.out)
	}
	return nil
}

func open(path string) (*simulate.Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := simulate.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}
