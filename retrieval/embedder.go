package retrieval

import "context"

// Embedder turns texts into vectors that point in similar directions if the texts have similar
// meanings. Package retrieval/embed has implementations. It is safe for concurrent use.
type Embedder interface {
	// Embed returns a vector for each of texts, in order. All vectors of an Embedder have the same
	// number of components. No component is infinite or NaN, and a vector is not all zeros. Lengths
	// do not matter: vectors are compared by the cosine of the angle between them, so the Embedder
	// need not normalise.
	//
	// If an error is returned, no vectors are. If ctx ends, the call ends.
	Embed(ctx context.Context, texts []string, kind EmbedKind) ([][]float32, error)

	// Name identifies everything that determines the vectors of documents: the model, its version,
	// the requested dimensions, and the prefix of each text. Vectors are stored under that name and
	// reused only with it.
	Name() string

	// Dim returns the number of components of a vector, or 0 if it is not known before a text was
	// embedded.
	Dim() int
}

// EmbedKind is the role of a text. Models that were trained to answer questions embed the two kinds
// differently.
type EmbedKind int

// The roles of texts.
const (
	EmbedDocument EmbedKind = iota // a part of the searched documents
	EmbedQuery                     // a query
)

// String returns the kind's name.
func (k EmbedKind) String() string {
	switch k {
	case EmbedDocument:
		return "document"
	case EmbedQuery:
		return "query"
	}
	return "unknown"
}
