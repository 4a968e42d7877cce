package retrieval

import (
	"context"

	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/trigram"
)

const trigramSection = "trigrams"

// trigramFormat indexes the trigrams (sequences of three bytes) of each document.
func trigramFormat() codestore.Format {
	return codestore.Format{Name: "trigrams", Version: 1, Build: buildTrigrams}
}

func buildTrigrams(ctx context.Context, docs []codestore.Doc, read func(int) ([]byte, error)) ([]codestore.Section, error) {
	b := trigram.NewBuilder()
	err := eachDoc(ctx, docs, read, func(i int, text []byte) { b.Add(uint32(i), text) })
	return []codestore.Section{{Name: trigramSection, Data: b.Bytes()}}, err
}
