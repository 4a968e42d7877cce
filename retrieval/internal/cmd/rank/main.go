// Command rank measures the ranking of the search and trains its weights. Run it from the root of
// the repository:
//
//	go run ./retrieval/internal/cmd/rank -eval 'queries/*.jsonl' -mirrors DIR
//	go run ./retrieval/internal/cmd/rank -train 'queries/*.jsonl' -mirrors DIR -o retrieval/internal/ranking/weights.json
//
// The queries are JSON lines, see retrieval/internal/eval; DIR has a bare clone of each repository
// as OWNER+NAME/repo.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rank:", err)
		os.Exit(1)
	}
}

type options struct {
	mirrors, out, keep string
	every              int
	only               string
	noHistory, quick   bool
}

func run(ctx context.Context) error {
	var o options
	eval := flag.String("eval", "", "measure with the queries of these `files`")
	train := flag.String("train", "", "train with the queries of these `files`")
	flag.StringVar(&o.mirrors, "mirrors", "", "`directory` of the queries' repositories")
	flag.StringVar(&o.out, "o", "", "`file` for the weights; without it they are only measured")
	flag.StringVar(&o.keep, "keep", "", "with -train: `file` that keeps the features, or has them from an earlier run")
	flag.StringVar(&o.only, "repo", "", "only queries of repositories whose name has this")
	flag.IntVar(&o.every, "every", 1, "only every n-th query")
	flag.BoolVar(&o.noHistory, "nohistory", false, "do not use the git log")
	flag.BoolVar(&o.quick, "quick", false, "with -eval: leave out the baselines")
	flag.Parse()
	switch {
	case *eval != "":
		return evaluate(ctx, *eval, &o)
	case *train != "":
		return learn(ctx, *train, &o)
	}
	return errors.New("give -eval or -train, and the queries' files")
}
