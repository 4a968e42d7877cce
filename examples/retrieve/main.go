// Command retrieve searches a tree, and measures and trains the search.
//
//	go run ./examples/retrieve [-dir DIR] [-k 5] where are retries counted
//	go run ./examples/retrieve -map 2000 [the task in words]
//	go run ./examples/retrieve -status
//	go run ./examples/retrieve -eval 'queries/*.jsonl' -mirrors DIR
//	go run ./examples/retrieve -train 'queries/*.jsonl' -mirrors DIR -o retrieval/internal/ranking/weights.json
//
// The queries are JSON lines, see retrieval/internal/eval; DIR has a bare clone of each
// repository as OWNER+NAME/repo.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/luthier-dev/luthier/retrieval"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "retrieve:", err)
		os.Exit(1)
	}
}

type options struct {
	dir, mirrors, out, keep  string
	k, every, tokens         int
	only                     string
	noHistory, quick, status bool
}

func run(ctx context.Context) error {
	var o options
	eval := flag.String("eval", "", "measure with the queries of these `files`")
	train := flag.String("train", "", "train with the queries of these `files`")
	flag.StringVar(&o.dir, "dir", ".", "tree to search")
	flag.StringVar(&o.mirrors, "mirrors", "", "`directory` of the queries' repositories")
	flag.StringVar(&o.out, "o", "", "`file` for the weights; without it they are only measured")
	flag.StringVar(&o.keep, "keep", "", "with -train: `file` that keeps the features, or has them from an earlier run")
	flag.StringVar(&o.only, "repo", "", "only queries of repositories whose name has this")
	flag.IntVar(&o.k, "k", 5, "how many places")
	flag.IntVar(&o.tokens, "map", 0, "print a map of the tree of at most so many `tokens`")
	flag.BoolVar(&o.status, "status", false, "print what is indexed, and what is not")
	flag.IntVar(&o.every, "every", 1, "only every n-th query")
	flag.BoolVar(&o.noHistory, "nohistory", false, "do not use the git log")
	flag.BoolVar(&o.quick, "quick", false, "with -eval: leave out the baselines")
	flag.Parse()
	switch {
	case *eval != "":
		return evaluate(ctx, *eval, &o)
	case *train != "":
		return learn(ctx, *train, &o)
	case flag.NArg() == 0 && o.tokens == 0 && !o.status:
		return errors.New("say what to look for, such as: retrieve where are retries counted")
	}
	return search(ctx, strings.Join(flag.Args(), " "), &o)
}

// search prints the best places of a tree, or its map or status.
func search(ctx context.Context, text string, o *options) error {
	bar := newBar(os.Stderr)
	x, err := retrieval.Open(ctx, o.dir, retrieval.Config{NoHistory: o.noHistory, Progress: bar.tell})
	bar.clear()
	if err != nil {
		return err
	}
	defer x.Close()
	switch {
	case o.status:
		if err := x.Update(ctx); err != nil {
			return err
		}
		fmt.Print(x.Status())
		return nil
	case o.tokens > 0:
		m, err := x.MapFor(ctx, retrieval.MapQuery{Tokens: o.tokens, Text: text})
		bar.clear() // the first map tells how far it is, too
		fmt.Print(m)
		return err
	}
	hits, err := x.Search(ctx, retrieval.Query{Text: text, K: o.k})
	if err != nil {
		return err
	}
	if len(hits) == 0 {
		fmt.Println("Nothing found; try other words.")
	}
	for _, h := range hits {
		fmt.Printf("%s:%d-%d  %s\n    %s\n", h.Path, h.StartLine, h.EndLine, h.Symbol, strings.Join(h.Why, ", "))
		for i, line := range strings.SplitN(h.Snippet, "\n", 6) {
			if i < 5 {
				fmt.Printf("  %5d  %s\n", h.StartLine+i, line)
			}
		}
	}
	return nil
}
