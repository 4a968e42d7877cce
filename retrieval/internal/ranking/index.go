package ranking

import (
	"github.com/luthier-dev/luthier/retrieval/internal/postings"
	"github.com/luthier-dev/luthier/retrieval/internal/words"
)

// The fields of a chunk.
const (
	Body postings.Field = iota
	Comments
	Strings
	Definitions
	Path // path of the file, in its first chunk
	NumFields
)

// An Indexer adds files to a lexical index. It keeps buffers, so use one per goroutine.
type Indexer struct {
	lexer words.Lexer
	split words.Splitter
	b     *postings.Builder
	field postings.Field
	emit  func([]byte)
}

// NewIndexer returns an Indexer that adds to b.
func NewIndexer(b *postings.Builder) *Indexer {
	x := &Indexer{b: b}
	x.emit = func(t []byte) { x.b.Add(t, x.field) }
	return x
}

var fieldOf = [...]postings.Field{words.Code: Body, words.Comment: Comments, words.String: Strings, words.Definition: Definitions}

// Add adds a file by its path and text, and returns its number of lines. A file
// without text still has one chunk.
func (x *Indexer) Add(name string, text []byte) int {
	x.b.StartFile()
	t := x.lexer.Read(words.LangOf(name), text)
	for i, c := range t.Chunks {
		var title []byte
		if c.Title >= 0 {
			title = t.Tokens[c.Title].Of(text)
		}
		x.b.StartChunk(uint32(c.First), uint32(c.Last), title)
		if i == 0 {
			x.field = Path
			EachTerm(name, &x.split, x.emit)
		}
		for _, k := range t.Tokens[c.Tokens[0]:c.Tokens[1]] {
			x.field = fieldOf[k.Kind]
			x.split.Split(k.Of(text), x.emit)
		}
	}
	return t.Lines
}
