package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/luthier-dev/luthier/compaction/replay"
	"github.com/luthier-dev/luthier/internal/chart"
)

// draw writes the picture to the file of -o.
func draw(o *options, reports []report) error {
	if strings.HasSuffix(o.out, ".svg") {
		if len(reports) != 1 {
			return fmt.Errorf("-o %s: an .svg holds one run; name a file that ends in .html", o.out)
		}
		return writeFile(o.out, figure(reports[0], o).WriteSVG)
	}
	return writeFile(o.out, func(w io.Writer) error { return chart.WriteHTML(w, page(reports, o)) })
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func page(reports []report, o *options) chart.Page {
	p := chart.Page{Title: "Recorded runs under policies of compaction", Text: []string{
		fmt.Sprintf("A policy is asked to shorten the prompt when it is over %d tokens. Prices relative to plain input: cache read %g, cache write %g, output %g.",
			o.budget, o.prices.Read, o.prices.Write, o.prices.Output),
	}}
	if len(reports) > 1 {
		p.Sections = append(p.Sections, chart.Section{Heading: fmt.Sprintf("Mean of %d runs", len(reports)), Table: table(means(reports))})
	}
	for _, r := range reports {
		p.Sections = append(p.Sections, chart.Section{Heading: r.run.Name, Table: table(r.scores), Figures: []chart.Figure{figure(r, o)}})
	}
	return p
}

func table(scores []replay.Score) [][]string {
	rows := [][]string{replay.Columns()[1:]} // the heading names the run
	for _, s := range scores {
		rows = append(rows, s.Row()[1:])
	}
	return rows
}

// figure draws a run: what the model was sent, what that cost, and what the cache held of it, step by step.
func figure(r report, o *options) chart.Figure {
	prompt := chart.Panel{Y: "prompt (tokens)", Zero: true, Rules: []chart.Rule{{Y: float64(o.budget), Name: "budget"}}}
	cost := chart.Panel{Y: "cost so far (plain input tokens)", Zero: true}
	hits := chart.Panel{Y: "of the prompt, read from the cache", Zero: true, Share: true, Height: 150}
	for _, res := range r.results {
		var p, c, h []chart.Point
		total, bold := 0.0, res.Policy == "luthier"
		for i, st := range res.Steps {
			x := float64(i + 1)
			total += st.Cost
			p = append(p, chart.Point{X: x, Y: float64(st.Usage.Input)})
			c = append(c, chart.Point{X: x, Y: total})
			h = append(h, chart.Point{X: x, Y: float64(st.Usage.CachedInput) / float64(max(st.Usage.Input, 1))})
		}
		prompt.Lines = append(prompt.Lines, chart.Line{Name: res.Policy, Points: p, Bold: bold})
		cost.Lines = append(cost.Lines, chart.Line{Name: res.Policy, Points: c, Bold: bold})
		hits.Lines = append(hits.Lines, chart.Line{Name: res.Policy, Points: h, Bold: bold})
	}
	return chart.Figure{Title: r.run.Name, X: "step (calls of the model)", Panels: []chart.Panel{prompt, cost, hits}}
}
