// Genmodel writes a GGUF model with random weights, for benchmarks and tests.
//
//	go run ./internal/engine/gguf/genmodel -preset qwen3-30b-a3b-4l -type q4_k_m -o model.gguf
//	go run ./internal/engine/gguf/genmodel -arch qwen3moe -layers 4 -embd 2048 -heads 32 -kv 4 -headdim 128 \
//		-experts 128 -active 8 -ff 768 -vocab 151936 -type q8_0 -o model.gguf
//
// Flags override the preset. With -vocab-from, the tokenizer is copied from another file.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "genmodel:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("genmodel", flag.ContinueOnError)
	preset := fs.String("preset", "", "start from the shape of a known model: "+strings.Join(synth.Presets(), ", "))
	arch := fs.String("arch", "qwen3moe", "architecture: "+strings.Join(synth.Archs(), ", "))
	out := fs.String("o", "", "file to write")
	vocabFrom := fs.String("vocab-from", "", "GGUF file to take the tokenizer from")
	kind := fs.String("type", "q8_0", "tensor type, or a mix: q4_k_m, q5_k_m, mxfp4_moe")
	seed := fs.Uint64("seed", 1, "seed of the random weights")
	tied := fs.Bool("tied", false, "use the token embedding as output matrix")
	sizes := map[string]*int{}
	for name, usage := range map[string]string{
		"layers": "number of layers", "embd": "width of the embedding", "heads": "number of heads", "kv": "number of KV heads",
		"headdim": "width of a head", "experts": "number of experts", "active": "experts used by a token",
		"ff": "hidden width of the feed-forward layer, of an expert where there are experts", "shared": "hidden width of the shared expert",
		"vocab": "number of tokens", "context": "context length",
	} {
		sizes[name] = fs.Int(name, 0, usage)
	}
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *out == "" || fs.NArg() > 0 {
		return fmt.Errorf("give the file to write with -o, and nothing but flags")
	}
	c := synth.Tiny(*arch)
	if *preset != "" {
		var ok bool
		if c, ok = synth.Preset(*preset); !ok {
			return fmt.Errorf("preset %q is not known (known: %s)", *preset, strings.Join(synth.Presets(), ", "))
		}
	}
	fs.Visit(func(f *flag.Flag) { override(&c, f.Name, sizes[f.Name]) })
	c.Quant, c.Seed, c.Tied = *kind, *seed, c.Tied || *tied
	if *vocabFrom != "" {
		f, err := gguf.Open(*vocabFrom)
		if err != nil {
			return err
		}
		defer f.Close()
		c.VocabFrom = f
	}
	return synth.Create(*out, c)
}

// override sets a size in c from the flag called name, if that flag was given.
func override(c *synth.Config, name string, n *int) {
	fields := map[string]*int{
		"layers": &c.Layers, "embd": &c.Embd, "heads": &c.Heads, "kv": &c.KVHeads, "headdim": &c.HeadDim, "experts": &c.Experts,
		"active": &c.Active, "ff": &c.FF, "shared": &c.SharedFF, "vocab": &c.Vocab, "context": &c.Context,
	}
	if c.Experts > 0 {
		fields["ff"] = &c.ExpertFF
	}
	if p := fields[name]; p != nil && n != nil {
		*p = *n
	}
}
