package retrieval

import (
	"cmp"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/symbols"
)

// Parser finds the definitions and references of a source file. The zero Config uses
// [PlainParser]; package retrieval/treesitter has one with grammars; a host can write its own, for
// a language of its own for instance, and leave the other files to one of these.
//
// A Parser may be used by several goroutines at once. It can have a method Name() string: the cache
// keeps the symbols of parsers with different names apart, so change the name when the parser finds
// other symbols.
type Parser interface {
	// Of returns the symbols of a file. src is its text, in UTF-8 and not larger than
	// Config.MaxFileSize; path is relative to the tree, with slashes, and only tells the language.
	// After an error, such as [ErrUnknownLanguage], the file has no symbols; it is not reported
	// further. Code with faults is no error: return what was found.
	Of(path string, src []byte) (FileSymbols, error)
}

// FileSymbols are the symbols of one file. Their order does not matter. What lies outside of the
// file, or has no name, is dropped.
type FileSymbols struct {
	Definitions []Definition
	Uses        []Use
}

// Definition is one definition in a file. Lines count from 1.
type Definition struct {
	Name      string // required
	Kind      string // one of the Kind constants; another is kept as ""
	Container string // names of the enclosing definitions, joined by dots, such as "Server.Handler"
	Signature string // the beginning of the definition, on one line and without its body
	StartLine int    // required; includes decorators and annotations
	EndLine   int    // inclusive; before StartLine means StartLine
	Line      int    // line of the name; 0 means StartLine
	DocLine   int    // first line of the comment right above; 0 if there is none
	Exported  bool   // whether other files may use it
}

// Use is a place in a file that calls a function or names a type.
type Use struct {
	Name string // required, without its container
	Line int    // required, from 1
	Kind string // [UseCall] or [UseType]
}

// The kinds of definitions, the same for all languages.
const (
	KindFunc      = symbols.Func
	KindMethod    = symbols.Method
	KindClass     = symbols.Class
	KindStruct    = symbols.Struct
	KindInterface = symbols.Interface // also protocols
	KindTrait     = symbols.Trait
	KindEnum      = symbols.Enum
	KindType      = symbols.Type
	KindConst     = symbols.Const
	KindVar       = symbols.Var
	KindModule    = symbols.Module   // also namespaces
	KindImpl      = symbols.Impl     // a block that adds to a type
	KindMacro     = symbols.Macro    //
	KindProperty  = symbols.Property //
	KindDecl      = symbols.Decl     // a declaration whose definition is elsewhere, such as a prototype
	KindHeading   = symbols.Heading  // of a document
)

// The kinds of uses.
const (
	UseCall = symbols.Call
	UseType = symbols.TypeUse
)

// ErrUnknownLanguage is the error of a [Parser] that does not know a file's language.
var ErrUnknownLanguage = symbols.ErrUnknown

// PlainParser returns the parser in pure Go, which Config uses if it has none.
func PlainParser() Parser { return plainParser{} }

type plainParser struct{}

func (plainParser) Of(path string, src []byte) (FileSymbols, error) {
	r, err := symbols.Of(path, src)
	return fromSymbols(r), err
}

func fromSymbols(r symbols.Result) FileSymbols {
	out := FileSymbols{Definitions: make([]Definition, len(r.Defs)), Uses: make([]Use, len(r.Refs))}
	for i, d := range r.Defs {
		out.Definitions[i] = Definition{Name: d.Name, Kind: d.Kind, Container: d.Container, Signature: d.Signature,
			StartLine: d.StartLine, EndLine: d.EndLine, Line: d.Line, DocLine: d.DocLine, Exported: d.Exported}
	}
	for i, u := range r.Refs {
		out.Uses[i] = Use(u)
	}
	return out
}

// parserOf returns a host's parser as the index uses it.
func parserOf(p Parser) symbols.Parser {
	switch p := p.(type) {
	case nil, plainParser:
		return symbols.Plain{}
	case interface{ Symbols() symbols.Parser }: // retrieval/treesitter
		return p.Symbols()
	case interface{ Name() string }:
		return namedParser{hostParser{p.(Parser)}, p.Name()}
	}
	return hostParser{p}
}

// hostParser makes what a host's parser returns fit for the index.
type hostParser struct{ p Parser }

type namedParser struct {
	hostParser
	name string
}

func (p namedParser) Name() string { return p.name }

func (p hostParser) Of(path string, src []byte) (symbols.Result, error) {
	found, err := p.p.Of(path, src)
	if err != nil {
		return symbols.Result{}, err
	}
	lines := strings.Count(string(src), "\n") + 1
	var out symbols.Result
	for _, d := range found.Definitions {
		d.EndLine = min(max(d.EndLine, d.StartLine), lines)
		if d.Name == "" || d.StartLine < 1 || d.StartLine > lines {
			continue
		}
		if d.Line < d.StartLine || d.Line > d.EndLine {
			d.Line = d.StartLine
		}
		if d.DocLine < 0 || d.DocLine > d.StartLine {
			d.DocLine = 0
		}
		depth := 0
		if d.Container != "" {
			depth = strings.Count(d.Container, ".") + 1
		}
		out.Defs = append(out.Defs, symbols.Def{Name: d.Name, Kind: d.Kind, Container: d.Container, Signature: strings.Join(strings.Fields(d.Signature), " "),
			StartLine: d.StartLine, EndLine: d.EndLine, Line: d.Line, DocLine: d.DocLine, Depth: depth, Exported: d.Exported})
	}
	for _, u := range found.Uses {
		if u.Name != "" && u.Line >= 1 && u.Line <= lines {
			out.Refs = append(out.Refs, symbols.Ref(u))
		}
	}
	slices.SortStableFunc(out.Defs, func(a, b symbols.Def) int {
		return cmp.Or(cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(b.EndLine, a.EndLine))
	})
	slices.SortStableFunc(out.Refs, func(a, b symbols.Ref) int { return cmp.Compare(a.Line, b.Line) })
	return out, nil
}
