// Command route compares what routers do with the same tasks, and what each of them spends, without
// a key or a network.
//
//	go run ./examples/route
//	go run ./examples/route -worth 4 -check-errs 0.1
//	go run ./examples/route -table outcomes.jsonl
//
// The models are scripted: a table says which of them resolves which task and for how many dollars
// (a line of JSON for each task, see testdata/outcomes.jsonl, which is made up). Everything else is
// real, and the same as in a host's own program: each request goes through a router of package
// router, which picks a model, checks its answer, asks another, and reports what each attempt cost.
// Routers that learn see the first half of the tasks; all are measured on the second.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/luthier-dev/luthier/agent"
)

type options struct {
	table string
	worth float64
	errs  float64
}

func main() {
	var o options
	flag.StringVar(&o.table, "table", "", "`file` of outcomes; a small one comes with the program")
	flag.Float64Var(&o.worth, "worth", 1, "`dollars` that a resolved task is worth")
	flag.Float64Var(&o.errs, "check-errs", 0, "`share` of answers that the check judges wrongly")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "route:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, o options) error {
	t, err := readTable(o.table)
	if err != nil {
		return err
	}
	past, tasks := t.tasks[:len(t.tasks)/2], t.tasks[len(t.tasks)/2:]
	routes, err := policies(ctx, t, past, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d tasks, after %d to learn from; a resolved task is worth $%g\n\n", len(tasks), len(past), o.worth)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "policy\tresolved\tdollars a task\tattempts\tnet")
	var longest attempts
	for _, r := range routes {
		var sum bill
		for _, task := range tasks {
			one, err := r.ask(ctx, task)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", r.name, task.ID, err)
			}
			sum.add(one)
			if len(one.attempts) > len(longest) {
				longest = one.attempts
			}
		}
		n := float64(len(tasks))
		resolved, dollars := float64(sum.resolved)/n, sum.dollars/n
		fmt.Fprintf(out, "%s\t%.1f %%\t$%.3f\t%d\t$%.3f\n", r.name, 100*resolved, dollars, len(sum.attempts), o.worth*resolved-dollars)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nThe longest way of one task, as the router tells it:")
	for _, a := range longest {
		fmt.Fprintf(w, "  %s: %s ($%.3f)\n      %s\n", a.Router, a.Model, float64(a.MicroDollars)/1e6, a.Reason)
	}
	return nil
}

// route is a router with its name in the table.
type route struct {
	name  string
	model agent.Model
}

// ask sends one task to a router as an ordinary request, and traces the attempts that the router
// makes.
func (r route) ask(ctx context.Context, t task) (bill, error) {
	var b bill
	ctx = agent.WithRouteTrace(ctx, &agent.RouteTrace{Routed: func(a agent.Routed) { b.attempts = append(b.attempts, a) }})
	answer, err := agent.Generate(ctx, r.model, &agent.Request{
		Messages: []agent.Message{agent.UserText(t.ID)}, Purpose: agent.PurposeAct, SessionID: t.ID,
	})
	if err != nil {
		return b, err
	}
	if agent.PartsText(answer.Message.Parts) == right {
		b.resolved = 1
	}
	for _, a := range b.attempts {
		b.dollars += float64(a.MicroDollars) / 1e6
	}
	return b, nil
}
