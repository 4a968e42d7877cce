package grep_test

import (
	"context"
	"fmt"

	"github.com/luthier-dev/luthier/retrieval/internal/grep"
)

func ExampleSearch() {
	texts := []string{"package io\n\nfunc Copy()\n", "// no function here\n", "func main() {\n}\n"}
	read := func(doc uint32, buf []byte) ([]byte, error) { return append(buf, texts[doc]...), nil }
	p, err := grep.Compile(`^func \w+`, grep.Options{})
	if err != nil {
		panic(err)
	}
	for m, err := range grep.Search(context.Background(), []uint32{0, 1, 2}, read, p, grep.SearchOptions{}) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d:%d:%s\n", m.Doc, m.Number, m.Text)
	}
	// Output:
	// 0:3:func Copy()
	// 2:1:func main() {
}
