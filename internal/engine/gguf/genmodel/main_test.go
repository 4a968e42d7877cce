package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.gguf"), filepath.Join(dir, "b.gguf")
	if err := run(strings.Fields("-arch qwen3moe -layers 1 -embd 128 -heads 2 -kv 1 -experts 4 -active 2 -ff 64 -vocab 2000 -type q8_0 -o " + first)); err != nil {
		t.Fatal(err)
	}
	if err := run(strings.Fields("-arch llama -layers 1 -ff 320 -tied -seed 7 -type q4_0 -vocab-from " + first + " -o " + second)); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if x, _ := f.Tensor("blk.0.ffn_down_exps.weight"); x.Type != gguf.TypeQ8_0 || len(x.Dims) != 3 || x.Dims[0] != 64 || x.Dims[1] != 128 || x.Dims[2] != 4 {
		t.Errorf("%v %v", x.Type, x.Dims)
	}
	g, err := gguf.Open(second)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	tokens, _ := g.Strings("tokenizer.ggml.tokens")
	if x, _ := g.Tensor("blk.0.ffn_up.weight"); x.Dims[1] != 320 || len(tokens) != 2000 {
		t.Errorf("%v, %d tokens", x.Dims, len(tokens))
	}
	if _, untied := g.Tensor("output.weight"); untied {
		t.Error("a tied model has an output matrix")
	}
}

func TestRunErrors(t *testing.T) {
	out := filepath.Join(t.TempDir(), "m.gguf")
	for args, want := range map[string]string{
		"":                        "with -o",
		"-o " + out + " more":     "nothing but flags",
		"-preset none -o " + out:  `preset "none"`,
		"-arch none -o " + out:    `architecture "none"`,
		"-type none -o " + out:    `quantisation "none"`,
		"-vocab-from x -o " + out: "gguf: open x",
	} {
		if err := run(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not tell %q", args, err, want)
		}
	}
}
