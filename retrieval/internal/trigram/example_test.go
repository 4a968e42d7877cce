package trigram_test

import (
	"fmt"
	"regexp/syntax"

	"github.com/luthier-dev/luthier/retrieval/internal/trigram"
)

func Example() {
	b := trigram.NewBuilder()
	for i, text := range []string{"func main() {}\n", "package io\n", "The main thing is to function.\n"} {
		b.Add(uint32(i), []byte(text))
	}
	r, err := trigram.Open(b.Bytes())
	if err != nil {
		panic(err)
	}
	q, err := trigram.Compile(`func\w* main|thing`, syntax.Perl)
	if err != nil {
		panic(err)
	}
	fmt.Println(q)
	fmt.Println(r.Candidates(q))
	// Output:
	// (" ma" "ain" "fun" "mai" "unc")|("hin" "ing" "thi")
	// [0 2]
}
