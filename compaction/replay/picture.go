package replay

import (
	"fmt"
	"io"

	"github.com/luthier-dev/luthier/internal/chart"
)

// Picture draws replays of recorded runs. For every step of a run it shows the size of the model's
// input, its cost, and how much of it the prompt cache held, with one line per policy.
type Picture struct {
	Config Config // the configuration of the replays: provides the budget to draw and the prices to name
	Bold   string // name of the policy to emphasise with a wider line
}

// WriteSVG draws one run as an SVG document. results are those of one run, with the raw replay
// first.
func (p Picture) WriteSVG(w io.Writer, results []*Result) error {
	return p.figure(results).WriteSVG(w)
}

// WriteHTML writes a page with a table and a picture of each run, and a table of means if there are
// several runs. The page needs no other file. Each element of runs holds the results of one run,
// with the raw replay first and the same policies in every run.
func (p Picture) WriteHTML(w io.Writer, runs [][]*Result) error {
	p.Config.fill()
	prices := *p.Config.Prices
	page := chart.Page{Title: "Recorded runs under policies of compaction", Text: []string{
		fmt.Sprintf("A policy is asked to shorten the prompt when it is over %d tokens. Prices relative to plain input: cache read %g, cache write %g, output %g.",
			p.Config.Budget, prices.Read, prices.Write, prices.Output),
	}}
	var scores [][]Score
	var sections []chart.Section
	for _, results := range runs {
		of := CompareAll(results)
		scores = append(scores, of)
		sections = append(sections, chart.Section{Heading: name(results), Table: cells(of), Figures: []chart.Figure{p.figure(results)}})
	}
	if len(runs) > 1 {
		page.Sections = append(page.Sections, chart.Section{Heading: fmt.Sprintf("Mean of %d runs", len(runs)), Table: cells(Means(scores))})
	}
	page.Sections = append(page.Sections, sections...)
	return chart.WriteHTML(w, page)
}

// name returns the name of the run that the results belong to.
func name(results []*Result) string {
	if len(results) == 0 {
		return ""
	}
	return results[0].Run
}

// cells returns scores as table rows. It omits the first column, since the heading names the run.
func cells(scores []Score) [][]string {
	rows := [][]string{Columns()[1:]}
	for _, s := range scores {
		rows = append(rows, s.Row()[1:])
	}
	return rows
}

// figure draws a run step by step.
func (p Picture) figure(results []*Result) chart.Figure {
	p.Config.fill()
	prompt := chart.Panel{Y: "prompt (tokens)", Zero: true, Rules: []chart.Rule{{Y: float64(p.Config.Budget), Name: "budget"}}}
	cost := chart.Panel{Y: "cost so far (plain input tokens)", Zero: true}
	hits := chart.Panel{Y: "of the prompt, read from the cache", Zero: true, Share: true, Height: 150}
	for _, res := range results {
		var ps, cs, hs []chart.Point
		total, bold := 0.0, p.Bold != "" && res.Policy == p.Bold
		for i, st := range res.Steps {
			x := float64(i + 1)
			total += st.Cost
			ps = append(ps, chart.Point{X: x, Y: float64(st.Usage.Input)})
			cs = append(cs, chart.Point{X: x, Y: total})
			hs = append(hs, chart.Point{X: x, Y: float64(st.Usage.CachedInput) / float64(max(st.Usage.Input, 1))})
		}
		prompt.Lines = append(prompt.Lines, chart.Line{Name: res.Policy, Points: ps, Bold: bold})
		cost.Lines = append(cost.Lines, chart.Line{Name: res.Policy, Points: cs, Bold: bold})
		hits.Lines = append(hits.Lines, chart.Line{Name: res.Policy, Points: hs, Bold: bold})
	}
	return chart.Figure{Title: name(results), X: "step (calls of the model)", Panels: []chart.Panel{prompt, cost, hits}}
}
