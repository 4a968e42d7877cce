package measure

import (
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
)

func environ() []string { return append(os.Environ(), "CGO_ENABLED=0") }

// Write prints the report as tables.
func (rep *Report) Write(w io.Writer) error {
	modules := map[string]bool{}
	for _, t := range rep.Tallies {
		modules[t.Module] = true
	}
	fmt.Fprintf(w, "%d broken lines in %d modules\n\n", len(rep.Tallies), len(modules))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "scope\t\tpass@1\tpass@5\tpass@10\tmean test runs\t")
	for _, scope := range Scopes {
		for _, row := range []struct {
			name string
			s    *Score
		}{{"model", rep.Model[scope]}, {"enumerator", rep.Enum[scope]}} {
			fmt.Fprintf(tw, "%s\t%s\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f\t\n", scope, row.name, 100*row.s.At(1), 100*row.s.At(5), 100*row.s.At(10), row.s.Mean())
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if rep.Calls > 0 {
		fmt.Fprintf(w, "\n%d tool calls, %.2f %% of them valid by their schemas; %d tokens of answers, %.0f a second\n", rep.Calls,
			100*float64(rep.Calls-rep.Invalid)/float64(rep.Calls), rep.Tokens, float64(rep.Tokens)/max(rep.Thought.Seconds(), 1e-9))
	}
	if err := rep.kinds(w); err != nil {
		return err
	}
	for _, s := range rep.Skipped {
		fmt.Fprintln(w, "left out:", s)
	}
	return nil
}

// kinds prints a line for each kind of slip, in function scope.
func (rep *Report) kinds(w io.Writer) error {
	model, enum := map[string]*Score{}, map[string]*Score{}
	var kinds []string
	for _, t := range rep.Tallies {
		if model[t.Kind] == nil {
			model[t.Kind], enum[t.Kind] = &Score{}, &Score{}
			kinds = append(kinds, t.Kind)
		}
		model[t.Kind].Tries = append(model[t.Kind].Tries, t.Model["function"])
		enum[t.Kind].Tries = append(enum[t.Kind].Tries, t.Enumerator["function"])
	}
	slices.Sort(kinds)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\nkind (function scope)\tlines\tmodel@1\tmodel@10\tenumerator@10\t")
	for _, k := range kinds {
		fmt.Fprintf(tw, "%s\t%d\t%.0f %%\t%.0f %%\t%.0f %%\t\n", k, len(model[k].Tries), 100*model[k].At(1), 100*model[k].At(10), 100*enum[k].At(10))
	}
	return tw.Flush()
}
