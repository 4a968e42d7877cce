package measure

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Row is a line of the first table of a report.
type Row struct {
	Scope, Who            string
	Pass1, Pass5, All     int // tasks repaired within one, five and all test runs
	Of                    int
	MeanRuns              float64 // test runs per task, repaired or not
	Share1, Share5, Whole float64
}

// Rows returns the first table of a report.
func (rep *Report) Rows() []Row {
	var rows []Row
	for _, scope := range Scopes {
		for _, x := range []struct {
			who string
			s   *Score
		}{{"model", rep.Model[scope]}, {"enumerator", rep.Enum[scope]}} {
			rows = append(rows, Row{scope, x.who, x.s.within(1), x.s.within(5), x.s.fixed(), len(x.s.Tries), x.s.Mean(),
				x.s.At(1), x.s.At(5), x.s.At(1 << 30)})
		}
	}
	return rows
}

// Write prints the report as tables. edits is the limit of test runs per task.
func (rep *Report) Write(w io.Writer, edits int) error {
	if rep.Interrupted {
		fmt.Fprintln(w, "interrupted: this is what was measured until then")
	}
	modules := map[string]bool{}
	for _, t := range rep.Tallies {
		modules[t.Module] = true
	}
	fmt.Fprintf(w, "%d broken lines in %d modules, measured in %v\n", len(rep.Tallies), len(modules), rep.Took.Round(time.Second))
	if len(rep.Tallies) == 0 {
		return rep.left(w)
	}
	fmt.Fprintln(w, `
pass@k: how many lines were repaired within k test runs, as the module's own tests say
function: the model is given the broken function; package: it has to find it among up to 12 that the failing tests ran
enumerator: all one-line slips of these functions in random order, those that do not compile left out`)
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "scope\twho\tpass@1\tpass@5\tpass@%d\tmean test runs\t\n", edits)
	for _, r := range rep.Rows() {
		fmt.Fprintf(tw, "%s\t%s\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f\t\n", r.Scope, r.Who, 100*r.Share1, 100*r.Share5, 100*r.Whole, r.MeanRuns)
	}
	err := tw.Flush()
	if rep.Unlisted > 0 {
		fmt.Fprintf(w, "of %d lines the function was not among the 12: they count as not repaired in package scope\n", rep.Unlisted)
	}
	if rep.Calls > 0 {
		fmt.Fprintf(w, "\n%d tool calls of the model, %d of them valid by their schemas (%.2f %%); %d edits were refused before any test, most as they do not compile\n",
			rep.Calls, rep.Calls-rep.Invalid, 100*float64(rep.Calls-rep.Invalid)/float64(rep.Calls), rep.Refused)
	}
	return errors.Join(err, rep.kinds(w, edits), rep.left(w))
}

// kinds prints a line for each kind of slip, in function scope.
func (rep *Report) kinds(w io.Writer, edits int) error {
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
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "kind of slip (function scope)\tlines\tmodel@1\tmodel@%d\tenumerator@1\tenumerator@%d\t\n", edits, edits)
	for _, k := range kinds {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t\n", k, len(model[k].Tries), model[k].within(1), model[k].fixed(), enum[k].within(1), enum[k].fixed())
	}
	return tw.Flush()
}

// left prints the packages and lines that were skipped, and the problems that occurred.
func (rep *Report) left(w io.Writer) error {
	for i, s := range rep.Skipped {
		if i == 0 {
			fmt.Fprintln(w, "\nleft out of all numbers:")
		}
		fmt.Fprintf(w, "  %s, %d lines: %.300s\n", s.Package, s.Lines, s.Why)
	}
	for _, t := range rep.Tallies {
		if t.Trouble != "" {
			fmt.Fprintf(w, "the model gave up on %s %s: %.300s\n", t.key(), t.Function, t.Trouble)
		}
	}
	return nil
}

// Write prints the comparison as a table.
func (d *Decoding) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "speculation\ttool calls, tokens/s\tfree text, tokens/s\tdrafted\taccepted\t")
	for _, r := range []struct {
		name string
		s    Speed
	}{{"on", d.With}, {"off", d.Without}} {
		fmt.Fprintf(tw, "%s\t%.0f\t%.0f\t%.0f\t%.0f (%.1f %%)\t\n", r.name, rate(r.s.Tokens, r.s.Took), rate(r.s.FreeTokens, r.s.FreeTook),
			r.s.Drafted, r.s.Accepted, 100*r.s.Accepted/max(r.s.Drafted, 1))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d answers are the same with speculation and without\n", d.Same, d.With.Answers+1)
	return err
}

func rate(tokens int64, took time.Duration) float64 {
	return float64(tokens) / max(took.Seconds(), 1e-9)
}
