package postings_test

import (
	"fmt"

	"github.com/luthier-dev/luthier/retrieval/internal/postings"
)

func Example() {
	const (
		body postings.Field = iota
		comment
	)
	b := postings.NewBuilder()
	b.StartFile()
	b.StartChunk(1, 30, []byte("main"))
	b.Add([]byte("print"), body)
	b.Add([]byte("print"), body)
	b.StartChunk(31, 52, []byte("help"))
	b.Add([]byte("print"), comment)

	r, err := postings.Open(b.Bytes())
	if err != nil {
		panic(err)
	}
	term, _ := r.Lookup([]byte("print"))
	fmt.Println("chunks:", term.DocFreq, "files:", term.FileFreq)
	var batch [64]postings.Posting
	it := r.Postings(term)
	for n := it.Next(batch[:]); n > 0; n = it.Next(batch[:]) {
		for _, p := range batch[:n] {
			start, end := r.Lines(p.Chunk)
			fmt.Printf("%s, lines %d to %d: %d times in the body, %d in comments\n", r.Title(p.Chunk), start, end, p.TF[body], p.TF[comment])
		}
	}
	// Output:
	// chunks: 2 files: 1
	// main, lines 1 to 30: 2 times in the body, 0 in comments
	// help, lines 31 to 52: 0 times in the body, 1 in comments
}
