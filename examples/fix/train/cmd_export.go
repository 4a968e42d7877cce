package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/luthier-dev/luthier/examples/fix/internal/bpe"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/train"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// runExport writes a checkpoint as the GGUF file that engines load.
func runExport(_ context.Context, args []string) error {
	f := flag.NewFlagSet("export", flag.ContinueOnError)
	from := f.String("checkpoint", "", "`checkpoint` to export")
	vocab := f.String("vocab", "", "`vocabulary` of its tokens")
	out := f.String("out", "", "`file` to write")
	typ := f.String("type", "q8_0", "type of the matrices: f32, f16, bf16 or q8_0")
	name := f.String("name", "Luthier one-line repair", "name of the model")
	license := f.String("license", "apache-2.0", "licence of the model")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case *from == "" || *vocab == "" || *out == "":
		return errors.New("-checkpoint, -vocab and -out are needed; see -help")
	}
	t, ok := gguf.ParseType(*typ)
	if !ok {
		return fmt.Errorf("type %q is not known", *typ)
	}
	m, err := train.LoadModel(*from)
	if err != nil {
		return err
	}
	v, err := bpe.Load(*vocab)
	if err != nil {
		return err
	}
	if len(v.Tokens) != m.Shape().Vocab {
		return fmt.Errorf("%s has %d tokens, the model %d: it was not trained with this vocabulary", *vocab, len(v.Tokens), m.Shape().Vocab)
	}
	var w gguf.Writer
	err = m.Export(&w, train.ExportConfig{
		Type: t, Name: *name, License: *license, Author: "Luthier",
		About:    "Repairs Go functions that are wrong in one line. Trained on permissively licensed Go code.",
		Template: repair.Template,
		Vocab:    func(w *gguf.Writer) error { v.Set(w); return nil },
	})
	if err != nil {
		return err
	}
	if err := w.Create(*out); err != nil {
		return err
	}
	info, err := os.Stat(*out)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s, %d weights, %d active for a token, %d bytes\n", *out, m.Shape().Arch(), m.Weights(), m.ActiveWeights(), info.Size())
	return nil
}
