// Gen learns the rates of package tokencount: the number of tokens into which real vocabularies
// divide each kind of piece.
//
//	go run ./internal/tokencount/gen -vocab DIR -corpus DIR -out internal/tokencount/rates.go
//
// The vocabularies are the GGUF files in the directory -vocab that -models lists; the corpus has a
// folder for each kind of text (logs, Go, prose, …). Every kind of text has the same weight,
// whatever its size, and so does every vocabulary. Rates are the least-squares fit over blocks of
// lines, pulled towards the mean so that a rare kind of piece has a plausible rate.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

func main() {
	vocab := flag.String("vocab", "../shared/moe-dev/vocab", "folder of GGUF vocabularies")
	models := flag.String("models", "qwen2,qwen2,deepseek-llm", "vocabularies to learn from; one that is named twice counts twice")
	corpus := flag.String("corpus", "", "folder with a folder of texts for each kind")
	out := flag.String("out", "", "file to write; without it only the errors are printed")
	flag.Parse()
	if err := run(*vocab, strings.Split(*models, ","), *corpus, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir string, models []string, corpus, out string) error {
	var vocabs []*tokenizer.Tokenizer
	for _, m := range models {
		f, err := gguf.Open(filepath.Join(dir, "ggml-vocab-"+m+".gguf"))
		if err != nil {
			return err
		}
		defer f.Close()
		t, err := tokenizer.FromGGUF(f)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		vocabs = append(vocabs, t)
	}
	texts, err := readCorpus(corpus)
	if err != nil {
		return err
	}
	fit := newFit(tokencount.Kinds)
	for _, kind := range texts {
		for _, b := range kind.blocks {
			fit.add(tokencount.Pieces(b), mean(vocabs, b), kind.weight)
		}
	}
	rates := fit.solve()
	for _, kind := range texts {
		kind.report(rates, vocabs, models)
	}
	if out == "" {
		return nil
	}
	return writeRates(out, rates)
}

// mean returns the number of tokens of text, averaged over the vocabularies.
func mean(vocabs []*tokenizer.Tokenizer, text string) float64 {
	n := 0
	for _, v := range vocabs {
		n += v.Count(text)
	}
	return float64(n) / float64(len(vocabs))
}
