package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/train"
)

// runAverage averages the weights of several runs from the same start.
func runAverage(_ context.Context, args []string) error {
	f := flag.NewFlagSet("average", flag.ContinueOnError)
	list := f.String("checkpoints", "", "`checkpoints`, or GGUF files that were exported, file:share,...; a file without a share has 1")
	out := f.String("out", "", "`checkpoint` to write")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case *list == "" || *out == "":
		return errors.New("-checkpoints and -out are needed; see -help")
	}
	var models []*train.Model
	var shares []float64
	for _, item := range strings.Split(*list, ",") {
		name, share, err := train.CutShare(item)
		if err != nil {
			return err
		}
		m, err := train.LoadModel(name)
		if err != nil {
			return err
		}
		models, shares = append(models, m), append(shares, share)
	}
	m, err := train.Average(models, shares)
	if err != nil {
		return err
	}
	if err := m.Save(*out); err != nil {
		return err
	}
	fmt.Printf("%s: the mean of %d models of %d weights\n", *out, len(models), m.Weights())
	return nil
}
