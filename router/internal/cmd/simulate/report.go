package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/luthier-dev/luthier/internal/chart"
	"github.com/luthier-dev/luthier/router/internal/simulate"
)

func sortBy(list []*measured, by func(*measured) float64) {
	slices.SortStableFunc(list, func(a, b *measured) int { return cmp.Compare(by(a), by(b)) })
}

// report is the printed summary of a comparison.
type report struct {
	o         *options
	table     *simulate.Table
	all, show []*measured
	sweeps    []swept
}

// rows returns the policies of the table. Of the cascades in order, only those on the frontier are
// included.
func (r *report) rows() []*measured {
	var rows []*measured
	for _, m := range r.show {
		if m.kind != fixed {
			rows = append(rows, m)
		}
	}
	return append(rows, frontier(r.show, fixed)...)
}

const columns = "policy\tresolved\t95 %\tdollars\t95 %\tabove the best model\tnet"

func (r *report) line(m *measured) []string {
	s := m.Summary
	return []string{m.name, fmt.Sprintf("%.1f %%", 100*s.Resolved.Mean), fmt.Sprintf("%.1f to %.1f", 100*s.Resolved.Low, 100*s.Resolved.High),
		fmt.Sprintf("$%.3f", s.Dollars.Mean), fmt.Sprintf("%.3f to %.3f", s.Dollars.Low, s.Dollars.High),
		fmt.Sprintf("%+.1f (%+.1f to %+.1f)", 100*s.Above.Mean, 100*s.Above.Low, 100*s.Above.High),
		fmt.Sprintf("$%.3f", r.o.worth*s.Resolved.Mean-s.Dollars.Mean)}
}

func (r *report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, columns+"\t")
	for _, m := range r.rows() {
		fmt.Fprintln(t, strings.Join(r.line(m), "\t")+"\t")
	}
	_ = t.Flush() // a failure is visible as missing output
	fmt.Fprintln(w)
	fmt.Fprint(w, r.notes())
	if len(r.sweeps) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, row := range r.sweepTable() {
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	_ = t.Flush()
}

// sweepTable returns a table of the cascade under checks with rising error rates.
func (r *report) sweepTable() [][]string {
	rows := [][]string{{"the check errs in", fmt.Sprintf("worth $%g", r.o.worth), "the same, trusting the check", fmt.Sprintf("$%g a task", r.o.budget)}}
	pair := func(s simulate.Score) string {
		return fmt.Sprintf("%.1f %% at $%.3f, net $%.3f", 100*s.Resolved, s.Dollars, r.o.worth*s.Resolved-s.Dollars)
	}
	for _, s := range r.sweeps {
		rows = append(rows, []string{fmt.Sprintf("%.0f %%", 100*s.err), pair(s.worth), pair(s.trusting), pair(s.budget)})
	}
	return rows
}

// notes describes the table in words.
func (r *report) notes() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Net is $%g for each resolved task, less its cost.", r.o.worth)
	if c := r.o.check; c != (simulate.Check{}) {
		fmt.Fprintf(&b, " The check passes %.0f %% of what is wrong and rejects %.0f %% of what is right.", 100*c.FalseAccept, 100*c.FalseReject)
	}
	b.WriteString("\n")
	if n := len(orders(len(r.table.Models))); n > 0 {
		fmt.Fprintf(&b, "Cascades in order are the best of %d, picked after the fact: a bound, not a policy. ", n)
	}
	fmt.Fprintf(&b, "Intervals are of %d tasks, resampled.\n", len(r.table.Tasks))
	own := fmt.Sprintf("cascade, worth $%g", r.o.worth)
	for _, m := range r.all {
		if top := best(r.all, single); m.name == own {
			fmt.Fprintf(&b, "The %s resolves %.1f %% at $%.3f a task; the best single model, %s, resolves %.1f %% at $%.3f.\n", own,
				100*m.Resolved.Mean, m.Dollars.Mean, top.name, 100*top.Resolved.Mean, top.Dollars.Mean)
		}
	}
	return b.String()
}

// figure plots quality against cost.
func (r *report) figure(title string) chart.Figure {
	var lines []chart.Line
	add := func(name string, scatter bool, list []*measured, label func(*measured) string) {
		l := chart.Line{Name: name, Scatter: scatter}
		for _, m := range list {
			l.Points = append(l.Points, chart.Point{X: m.Dollars.Mean, Y: m.Resolved.Mean, Label: label(m)})
		}
		lines = append(lines, l)
	}
	plain := func(m *measured) string { return m.name }
	none := func(*measured) string { return "" }
	add("best cascades in order, after the fact", false, frontier(r.show, fixed), none)
	add("single model", true, r.of(single), plain)
	add("bandit, having learnt", true, r.learned(), func(m *measured) string {
		return strings.TrimSuffix(strings.TrimPrefix(m.name, "bandit, "), ", having learnt")
	})
	add("random, oracle", true, r.of(bound), plain)
	add("cascade by budget", true, r.of(budgeted), none)
	add("cascade by worth", false, r.of(weighed), none)
	add("worth of a resolved task", true, apart(r.of(weighed), r.of(single)), func(m *measured) string { return strings.TrimPrefix(m.name, "cascade, worth ") })
	lines = append(lines, r.intervals())
	return chart.Figure{Title: title, X: "cost of a task, in dollars",
		Panels: []chart.Panel{{Y: "tasks resolved", Share: true, Height: 420, Lines: lines}}}
}

func (r *report) of(k kind) []*measured {
	var list []*measured
	for _, m := range r.show {
		if m.kind == k {
			list = append(list, m)
		}
	}
	return list
}

// apart leaves out points that overlap others, so that labels can be read.
func apart(list, labelled []*measured) (out []*measured) {
	for _, m := range list {
		near := func(o *measured) bool {
			return math.Abs(o.Dollars.Mean-m.Dollars.Mean) < 0.02 && math.Abs(o.Resolved.Mean-m.Resolved.Mean) < 0.015
		}
		if !slices.ContainsFunc(out, near) && !slices.ContainsFunc(labelled, near) {
			out = append(out, m)
		}
	}
	return out
}

// learned returns the bandits after their first half.
func (r *report) learned() []*measured {
	return slices.DeleteFunc(r.of(bandit), func(m *measured) bool { return !strings.HasSuffix(m.name, "having learnt") })
}

// intervals returns vertical lines through single models and the cascade's curve.
func (r *report) intervals() chart.Line {
	l := chart.Line{Name: "95 % interval"}
	widest := 0.0
	for _, m := range append(r.of(single), apart(r.of(weighed), nil)...) {
		widest = max(widest, m.Dollars.Mean)
		for _, y := range []float64{m.Resolved.Low, m.Resolved.High, math.NaN()} { // NaN breaks the line
			l.Points = append(l.Points, chart.Point{X: m.Dollars.Mean, Y: y})
		}
	}
	if len(l.Points) > 0 { // invisible points that make room for 0 and for the last label
		y := l.Points[0].Y
		l.Points = append(l.Points, chart.Point{X: 0, Y: y}, chart.Point{Y: math.NaN()}, chart.Point{X: 1.12 * widest, Y: y})
	}
	return l
}

// draw writes the plot. If the file's name ends in .html, the plot is on a page with the tables.
func (r *report) draw(path string) error {
	title := fmt.Sprintf("Cost and quality on %d tasks", len(r.table.Tasks))
	if c := r.o.check; c != (simulate.Check{}) {
		title += fmt.Sprintf(", with %.0f %% false accepts and %.0f %% false rejects", 100*c.FalseAccept, 100*c.FalseReject)
	}
	var b bytes.Buffer
	var err error
	if strings.HasSuffix(path, ".html") {
		err = chart.WriteHTML(&b, r.page(title))
	} else {
		err = r.figure(title).WriteSVG(&b)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func (r *report) page(title string) chart.Page {
	table := [][]string{strings.Split(columns, "\t")}
	for _, m := range r.rows() {
		table = append(table, r.line(m))
	}
	p := chart.Page{Title: title, Text: strings.Split(strings.TrimSpace(r.notes()), "\n"),
		Sections: []chart.Section{{Heading: "Policies", Figures: []chart.Figure{r.figure(title)}, Table: table}}}
	if len(r.sweeps) > 0 {
		p.Sections = append(p.Sections, chart.Section{Heading: "Checks that err", Table: r.sweepTable()})
	}
	return p
}
