// Package symbols finds the definitions and references in a source file, for an outline, a symbol
// index and a map of a repository.
//
// [Of] does not need cgo: Go is parsed by go/parser. The other languages are read as tokens: the
// reader knows comments, strings and the nesting of braces or indentation, but no grammar.
// Definitions in unusual code may be missing from the result, in which case [Result.Exact] is
// false. The subpackage treesitter has a [Parser] with grammars, for hosts that build with cgo and
// want it: the host passes this parser as a value; nothing registers itself.
//
// [Encode] writes the Results of many files into one block of bytes, which [Open] can search
// without decoding it.
package symbols

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// Kinds of definitions. They are the same for all languages, so that a ranking can weight them.
const (
	Func      = "func"
	Method    = "method"
	Class     = "class"
	Struct    = "struct"
	Interface = "interface" // also protocols and traits of Scala and PHP
	Trait     = "trait"
	Enum      = "enum"
	Type      = "type"
	Const     = "const"
	Var       = "var"
	Module    = "module" // namespaces too
	Impl      = "impl"   // a block that adds to a type: Rust's impl, Swift's extension
	Macro     = "macro"
	Property  = "property"
	Decl      = "decl" // a declaration whose definition is elsewhere: a prototype
	Heading   = "heading"
)

// Kinds of references.
const (
	Call    = "call"
	TypeUse = "type"
)

// A Def is one definition. Lines count from 1.
type Def struct {
	Name      string
	Kind      string
	Container string // names of the enclosing definitions, joined by dots: "Server.Handler"
	Signature string // the beginning of the definition, on one line and without its body
	StartLine int    // including its decorators and annotations
	EndLine   int    // inclusive
	Line      int    // line of the definition's name
	DocLine   int    // first line of the comment right above it; 0 if there is none
	Depth     int    // number of enclosing definitions
	Exported  bool   // whether other files may use it, judged only by this file
}

// FullName returns the name with its container: "Server.Close".
func (d *Def) FullName() string {
	if d.Container == "" {
		return d.Name
	}
	return d.Container + "." + d.Name
}

// A Ref is a call or the use of a type. Several uses of a name on one line are one Ref.
type Ref struct {
	Name string
	Line int
	Kind string
}

// A Result holds the symbols of one file, both lists in the order of their lines.
type Result struct {
	Defs   []Def
	Refs   []Ref
	Exact  bool   // a parser of the language read the whole file without errors
	Parser string // such as "go/parser", "tree-sitter/rust", "tokens/python"
}

// Within returns the references in the lines of a definition: the calls in it, and the types that
// it uses.
func (r *Result) Within(d *Def) []Ref {
	var out []Ref
	for _, ref := range r.Refs {
		if d.StartLine <= ref.Line && ref.Line <= d.EndLine {
			out = append(out, ref)
		}
	}
	return out
}

// Innermost returns the smallest definition that contains a line, or nil if there is none.
func Innermost(defs []Def, line int) *Def {
	var best *Def
	for i := range defs {
		d := &defs[i]
		if d.StartLine <= line && line <= d.EndLine && (best == nil || d.EndLine-d.StartLine < best.EndLine-best.StartLine) {
			best = d
		}
	}
	return best
}

// A Parser finds the symbols of one file. It may be used by several goroutines at once.
type Parser interface {
	// Of reads the file's text. The path only identifies the language and may be relative.
	Of(path string, src []byte) (Result, error)
}

// ErrUnknown means that a file's language is not known. Any other problem with a text only makes
// the result less complete.
var ErrUnknown = errors.New("language not known")

// ErrTooLarge means that a file is larger than [MaxSize].
var ErrTooLarge = errors.New("file too large")

// MaxSize is the size in bytes of the largest text that is read: larger files are assumed to be
// generated.
const MaxSize = 4 << 20

// Plain is the parser that needs no cgo.
type Plain struct{}

// Of calls [Of].
func (Plain) Of(path string, src []byte) (Result, error) { return Of(path, src) }

// Of finds the symbols of a source file, whose language is identified by the file extension. It
// never panics, and its time is linear in the text's length.
func Of(name string, src []byte) (Result, error) {
	lang, ok := languages[Ending(name)]
	if !ok {
		return Result{}, fmt.Errorf("symbols: read %s: %w", path.Base(name), ErrUnknown)
	}
	if len(src) > MaxSize {
		return Result{}, fmt.Errorf("symbols: read %s: %w", path.Base(name), ErrTooLarge)
	}
	if lang.name == "go" {
		return ofGo(src), nil
	}
	return lang.read(name, src), nil
}

// Known reports whether [Of] knows the language of a file of that name.
func Known(name string) bool {
	_, ok := languages[Ending(name)]
	return ok
}

// Ending returns the part of a file's name that identifies its language, such as ".go".
func Ending(name string) string { return strings.ToLower(path.Ext(name)) }

// maxSignature is the length in bytes to which signatures are cut.
const maxSignature = 240

// OneLine returns text with every run of white space replaced by one space, cut to the maximum
// length.
func OneLine(text []byte) string {
	out := make([]byte, 0, min(len(text), maxSignature))
	space := false
	for _, c := range text {
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			space = len(out) > 0
			continue
		}
		if space {
			out = append(out, ' ')
			space = false
		}
		if out = append(out, c); len(out) >= maxSignature {
			return strings.ToValidUTF8(string(out), "") + "..."
		}
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}
