// Gen writes the generated samples: vocabularies with their vectors, models, logs, runs and a table
// of outcomes. It shares no code with the packages whose tests read the samples: it has a separate
// GGUF writer, tokenizers and quantisers, written for clarity instead of speed, so that the
// expected results are computed independently.
//
//	go generate ./internal/devdata/gen
//
// The logits of the models come from the reference implementation in the engine's tests, and the
// rendered templates from Python; the README next to the samples describes how to generate them.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

//go:generate go run . -out ../testdata

func main() {
	out := flag.String("out", "", "folder to write into")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// samples returns every generated file by its path below the folder of the samples.
func samples() map[string][]byte {
	all := map[string][]byte{}
	for _, part := range []map[string][]byte{vocabularies(), models(), logs(), runs(), outcomes()} {
		maps.Copy(all, part)
	}
	return all
}

func write(dir string) error {
	all := samples()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, all[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}
