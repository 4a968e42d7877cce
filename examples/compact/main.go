// Command compact shows what a compaction policy costs, and what it loses, on recorded runs of
// agents.
//
//	go run ./examples/compact -budget 16000
//	go run ./examples/compact [-policy luthier,mask-10] [-budget 50000] [-o out.html] [trajectory ...]
//
// A trajectory is a session log of this library, or a JSON document of messages in the format of
// chat completions. Without one, a small recorded run is used. For each run and policy it prints
// the cost as a share of the raw run's, how much of what the next calls refer to is still in the
// prompt, and the hits of the prompt cache; package compaction/replay defines them. With -o it
// plots prompt, cost and cache hits over the run: as a page, or as one picture if the name ends in
// .svg.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/luthier-dev/luthier/compaction/replay"
)

//go:embed testdata/session.jsonl
var recorded []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "compact:", err)
		os.Exit(1)
	}
}

// options holds the command-line options.
type options struct {
	budget   int
	policies []replay.Policy
	prices   replay.Prices
	out      string
	files    []string
}

// config returns the configuration for replaying runs.
func (o *options) config() replay.Config {
	return replay.Config{Budget: o.budget, Prices: &o.prices}
}

func parse(args []string) (*options, error) {
	o := &options{prices: replay.DefaultPrices()}
	fs := flag.NewFlagSet("compact", flag.ContinueOnError)
	names := fs.String("policy", "", "`names` of the policies, with commas between them; empty means all: "+policyNames())
	fs.IntVar(&o.budget, "budget", 50_000, "`tokens` above which a policy is asked to shorten the prompt")
	fs.StringVar(&o.out, "o", "", "`file` for the picture: .html, or .svg for one run")
	fs.Float64Var(&o.prices.Read, "read", o.prices.Read, "`price` of a token read from the prompt cache, relative to plain input")
	fs.Float64Var(&o.prices.Write, "write", o.prices.Write, "`price` of a token written to the prompt cache")
	fs.Float64Var(&o.prices.Output, "output", o.prices.Output, "`price` of a token that the model writes")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if o.budget <= 0 {
		return nil, fmt.Errorf("-budget %d: give a number of tokens above 0", o.budget)
	}
	o.files = fs.Args()
	var err error
	o.policies, err = choose(*names)
	return o, err
}

func run(ctx context.Context, w io.Writer, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	runs, err := read(o.files)
	if err != nil {
		return err
	}
	var reports []report
	for _, r := range runs {
		rep, err := measure(ctx, r, o)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %d steps, %d tokens, longest prompt %d\n", r.Name, len(rep.results[0].Steps), r.Tokens(), r.Largest())
		if err := rep.print(w); err != nil {
			return err
		}
		reports = append(reports, rep)
	}
	if err := printMeans(w, reports); err != nil {
		return err
	}
	if o.out == "" {
		return nil
	}
	if err := draw(o, reports); err != nil {
		return err
	}
	fmt.Fprintln(w, "the picture is", o.out)
	return nil
}

// read reads the runs in the files, or the recorded one if there are none.
func read(files []string) ([]*replay.Run, error) {
	if len(files) == 0 {
		r, err := replay.Read("recorded", bytes.NewReader(recorded))
		return []*replay.Run{r}, err
	}
	var runs []*replay.Run
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		r, err := replay.Read(filepath.Base(name), f)
		f.Close()
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}
