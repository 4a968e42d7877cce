// Command retrieve searches a tree for the places that a question is about, and outlines it.
//
//	go run ./examples/retrieve [-dir DIR] [-k 5] where are retries counted
//	go run ./examples/retrieve -map 2000 [the task in words]
//	go run ./examples/retrieve -status
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
	dir               string
	k, tokens         int
	noHistory, status bool
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.dir, "dir", ".", "tree to search")
	flag.IntVar(&o.k, "k", 5, "how many places")
	flag.IntVar(&o.tokens, "map", 0, "print a map of the tree of at most so many `tokens`")
	flag.BoolVar(&o.status, "status", false, "print what is indexed, and what is not")
	flag.BoolVar(&o.noHistory, "nohistory", false, "do not use the git log")
	flag.Parse()
	if flag.NArg() == 0 && o.tokens == 0 && !o.status {
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
		bar.clear() // building the first map reports progress, too
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
