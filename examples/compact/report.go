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
		res, err := replay.Replay(ctx, r, p, o.config())
		if err != nil {
			return rep, err
		}
		rep.results = append(rep.results, res)
	}
	rep.scores = replay.CompareAll(rep.results)
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

func printMeans(w io.Writer, reports []report) error {
	if len(reports) < 2 {
		return nil
	}
	var scores [][]replay.Score
	for _, r := range reports {
		scores = append(scores, r.scores)
	}
	return replay.WriteTable(w, replay.Means(scores))
}
