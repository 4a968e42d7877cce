package ranking

import (
	"path"
	"strings"

	"github.com/luthier-dev/luthier/internal/codetext"
	"github.com/luthier-dev/luthier/internal/lexical"
)

// The fields of a chunk.
const (
	Body lexical.Field = iota
	Comments
	Strings
	Definitions
	Path // of the file, in its first chunk
	NumFields
)

// PathName is the first byte of the term that stands for a file's whole name
// without its ending, in lower case, in the field Path.
const PathName = 2

// An Indexer adds files to a lexical index. It keeps buffers: one per goroutine.
type Indexer struct {
	lexer codetext.Lexer
	split codetext.Splitter
	b     *lexical.Builder
	field lexical.Field
	emit  func([]byte)
	name  []byte
}

// NewIndexer returns an Indexer that adds to b.
func NewIndexer(b *lexical.Builder) *Indexer {
	x := &Indexer{b: b}
	x.emit = func(t []byte) { x.b.Add(t, x.field) }
	return x
}

var fieldOf = [...]lexical.Field{codetext.Code: Body, codetext.Comment: Comments, codetext.String: Strings, codetext.Definition: Definitions}

// Add adds a file by its path and text, and returns its number of lines. A file
// without text still has one chunk.
func (x *Indexer) Add(name string, text []byte) int {
	x.b.StartFile()
	t := x.lexer.Read(codetext.LangOf(name), text)
	for i, c := range t.Chunks {
		var title []byte
		if c.Title >= 0 {
			title = t.Tokens[c.Title].Of(text)
		}
		x.b.StartChunk(uint32(c.First), uint32(c.Last), title)
		if i == 0 {
			x.path(name)
		}
		for _, k := range t.Tokens[c.Tokens[0]:c.Tokens[1]] {
			x.field = fieldOf[k.Kind]
			x.split.Split(k.Of(text), x.emit)
		}
	}
	return t.Lines
}

func (x *Indexer) path(name string) {
	x.field = Path
	base := strings.ToLower(path.Base(name))
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	x.name = append(append(x.name[:0], PathName), base...)
	x.b.Add(x.name, Path)
	for i := 0; i < len(name); {
		if !codetext.InWord(name[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(name) && codetext.InWord(name[j]) {
			j++
		}
		x.split.Split([]byte(name[i:j]), x.emit)
		i = j
	}
}
