package retrieval

import "context"

// Embedder turns texts into vectors whose directions lie close together where the texts mean
// similar things. Package retrieval/embed has some. It is safe for concurrent use.
type Embedder interface {
	// Embed returns a vector for each of texts, in their order. All vectors of an Embedder have the
	// same number of components, none of them infinite or not a number, and are not all zeros.
	// Lengths do not matter: vectors are compared by the cosine of the angle between them, so the
	// Embedder need not normalise.
	//
	// Either all vectors are returned or an error is. When ctx ends, so does the call.
	Embed(ctx context.Context, texts []string, kind EmbedKind) ([][]float32, error)

	// Name says what decides the vectors of documents: the model, its version, the dimensions asked
	// for, what is put before each text. Vectors are kept under that name and used again only with
	// it.
	Name() string

	// Dim is the number of components of a vector, or 0 if that is known only once a text was
	// embedded.
	Dim() int
}

// EmbedKind says what a text is. Models that were trained to answer questions embed the two kinds
// differently.
type EmbedKind int

// The kinds.
const (
	EmbedDocument EmbedKind = iota // a piece of what is searched
	EmbedQuery                     // what is searched for
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
