// Package treesitter finds definitions and references with tree-sitter grammars instead of the
// parser in pure Go:
//
//	x, err := retrieval.Open(ctx, dir, retrieval.Config{Parser: treesitter.New()})
//
// It is a separate package because it needs cgo and a C compiler, takes about twenty seconds to
// compile and adds about 9 MB to a program, and because a fault in a grammar's C code would end the
// process. Python, JavaScript, TypeScript, Rust, Java, C and C++ are included; C#, PHP and Ruby
// with the build tag luthier_allgrammars. Without cgo, or with the tag luthier_nosymbols, the
// package still builds and works like the parser in pure Go. It also uses that parser for code that
// a grammar cannot read, such as C full of macros.
package treesitter

import (
	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/internal/symbols/treesitter"
	"github.com/luthier-dev/luthier/retrieval"
)

// New returns the parser. It may be used by several indexes at once.
func New() retrieval.Parser { return parser{treesitter.New()} }

type parser struct{ p symbols.Parser }

// Of finds the symbols of a file.
func (p parser) Of(path string, src []byte) (retrieval.FileSymbols, error) {
	r, err := p.p.Of(path, src)
	if err != nil {
		return retrieval.FileSymbols{}, err
	}
	var out retrieval.FileSymbols
	for _, d := range r.Defs {
		out.Definitions = append(out.Definitions, retrieval.Definition{Name: d.Name, Kind: d.Kind, Container: d.Container, Signature: d.Signature,
			StartLine: d.StartLine, EndLine: d.EndLine, Line: d.Line, DocLine: d.DocLine, Exported: d.Exported})
	}
	for _, u := range r.Refs {
		out.Uses = append(out.Uses, retrieval.Use(u))
	}
	return out, nil
}

// Symbols returns the parser as package retrieval uses it, without the detour.
func (p parser) Symbols() symbols.Parser { return named{p.p} }

type named struct{ symbols.Parser }

// Name distinguishes its symbols from those of other parsers in the cache.
func (named) Name() string { return "treesitter" }
