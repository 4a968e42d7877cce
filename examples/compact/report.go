package main

import (
	"context"
	"fmt"
	"io"

	"github.com/luthier-dev/luthier/compaction/replay"
)

// report is one run replayed through the policies, the raw replay first.
type report struct {
	run     *replay.Run
	results []*replay.Result
	scores  []replay.Score
}

func measure(ctx context.Context, r *replay.Run, o *options) (report, error) {
	rep := report{run: r}
	for _, p := range o.policies {
		res, err := replay.Replay(ctx, r, p, replay.Config{Budget: o.budget, Prices: &o.prices})
		if err != nil {
			return rep, err
		}
		rep.results = append(rep.results, res)
		rep.scores = append(rep.scores, replay.Compare(rep.results[0], res))
	}
	if len(rep.results[0].Steps) == 0 {
		return rep, fmt.Errorf("%s: the model never answers in this run", r.Name)
	}
	return rep, nil
}

func (r report) print(w io.Writer) error {
	if err := replay.WriteTable(w, r.scores); err != nil {
		return err
	}
	for _, res := range r.results {
		for _, n := range res.Notes {
			fmt.Fprintf(w, "%s: %s\n", res.Policy, n)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// means returns each policy's mean over the runs.
func means(reports []report) []replay.Score {
	var out []replay.Score
	for i := range reports[0].scores {
		var of []replay.Score
		for _, r := range reports {
			of = append(of, r.scores[i])
		}
		out = append(out, replay.Mean(of))
	}
	return out
}

func printMeans(w io.Writer, reports []report) error {
	if len(reports) < 2 {
		return nil
	}
	return replay.WriteTable(w, means(reports))
}
