package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

// blockBytes is the approximate size of the text for one equation of the fit.
const blockBytes = 400

// sort is a kind of text: a folder of the corpus, cut into blocks of whole lines.
type sort struct {
	name   string
	blocks []string
	weight float64
}

func readCorpus(dir string) ([]sort, error) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []sort
	for _, d := range folders {
		files, err := filepath.Glob(filepath.Join(dir, d.Name(), "*"))
		if err != nil {
			return nil, err
		}
		k := sort{name: d.Name()}
		size := 0
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			size += len(text)
			k.blocks = append(k.blocks, blocks(strings.ToValidUTF8(string(text), "\uFFFD"))...)
		}
		k.weight = 1 / float64(max(size, 1))
		out = append(out, k)
	}
	return out, nil
}

func blocks(text string) (out []string) {
	for text != "" {
		n := min(len(text), blockBytes)
		if i := strings.IndexByte(text[n:], '\n'); i >= 0 && i < blockBytes {
			n += i + 1
		} else if n < len(text) {
			for n > 0 && text[n]&0xC0 == 0x80 {
				n--
			}
		}
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

// report prints the error of the rates for this kind of text: the bias over the whole kind compared
// with each vocabulary, and the median error of blocks compared with the mean of the vocabularies.
func (k sort) report(rates []float64, vocabs []*tokenizer.Tokenizer, names []string) {
	real, guess, off := make([]float64, len(vocabs)), 0.0, 0.0
	for _, b := range k.blocks {
		g, m := 0.0, 0.0
		for _, p := range tokencount.Pieces(b) {
			g += rates[p]
		}
		for i, v := range vocabs {
			n := float64(v.Count(b))
			real[i] += n
			m += n / float64(len(vocabs))
		}
		guess += g
		off += max(g-m, m-g)
	}
	sum := 0.0
	for _, r := range real {
		sum += r / float64(len(real))
	}
	fmt.Printf("%-8s %9.0f tokens, blocks off by %4.1f %%, whole:", k.name, sum, 100*off/sum)
	for i, r := range real {
		fmt.Printf("  %s %+.1f", names[i], 100*(guess/r-1))
	}
	fmt.Println()
}
