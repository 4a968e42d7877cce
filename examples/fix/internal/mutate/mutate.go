// Package mutate makes every plausible one-line slip of a Go function: the mistakes that studies of
// real one-line bug fixes (ManySStuBs4J, PySStuBs) find most often, such as a wrong operator, a
// wrong variable, swapped arguments, or a missing +1 or !. Each slip changes a single line and
// leaves the rest of the source text untouched.
//
// The set of kinds is closed under inversion: what one kind breaks can be repaired by a kind in the
// set. So the mutants of a broken function contain its repair, and [All] is also a symbolic
// enumerator of repairs (see [Enumerate]).
//
// Texts are inserted into the source rather than printed from the syntax tree, so that nothing but
// the slip differs. If a slip changes how gofmt would space an expression (n-1 or n - 1), that
// expression is spaced again as gofmt does.
package mutate

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Mutant is a function with one line changed.
type Mutant struct {
	Kind string // one of Kinds
	Line int    // the changed line, counted from 1 at the line of the func keyword
	Text string // the whole new line, without indentation and line ending
}

// All returns every mutant of a function. The mutants are sorted by position, distinct, and
// different from the original line, and each parses. The parameter src is the file that fset and fn
// describe. With type information, All chooses mutants that compile. If type information is missing
// (info is nil) or partial, only kinds that need none are used. A function without a body, with a
// //go: directive, or that uses cgo has no mutants.
//
// Callers with many functions of one package should create one [Mutator] instead.
func All(src []byte, fn *ast.FuncDecl, fset *token.FileSet, info *types.Info) []Mutant {
	return New(info).All(src, fn, fset)
}

// Mutator makes the mutants of the functions that one types.Info describes, and caches information
// about the packages they use. It is for one goroutine at a time.
type Mutator struct {
	info     *types.Info
	packages map[*types.Package]*members
}

// New returns a Mutator for the functions described by info, which may be partial or nil.
func New(info *types.Info) *Mutator {
	if info == nil {
		info = &types.Info{}
	}
	return &Mutator{info: info, packages: map[*types.Package]*members{}}
}

// All returns every mutant of a function, like the function [All].
func (m *Mutator) All(src []byte, fn *ast.FuncDecl, fset *token.FileSet) []Mutant {
	w := m.walker(src, fn, fset)
	if w == nil {
		return nil
	}
	w.collect()
	ast.Inspect(fn.Body, w.visit)
	slices.SortStableFunc(w.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.offset, b.offset))
	})
	mutants := make([]Mutant, len(w.found))
	for i, f := range w.found {
		mutants[i] = f.Mutant
	}
	return mutants
}

type found struct {
	Mutant
	offset int
}

type place struct {
	line int
	text string
}

// A walker traverses one function and collects its mutants.
type walker struct {
	*Mutator
	src   []byte
	base  int // position of the first byte of src
	fn    *ast.FuncDecl
	first int   // line of the func keyword
	lines []int // offsets in src where the function's lines start, followed by the end of the last line plus one
	stack []ast.Node
	found []found
	seen  map[place]struct{}
	names names

	formatted map[ast.Expr]bool // see wasFormatted
}

func (m *Mutator) walker(src []byte, fn *ast.FuncDecl, fset *token.FileSet) *walker {
	if fn == nil || fn.Body == nil || fn.Name.Name == "_" || directive(fn.Doc) {
		return nil
	}
	file := fset.File(fn.Pos())
	if file == nil || file.Size() > len(src) || int(fn.End())-file.Base() > len(src) || usesC(fn) {
		return nil
	}
	w := &walker{Mutator: m, src: src, base: file.Base(), fn: fn, seen: map[place]struct{}{}}
	start := bytes.LastIndexByte(src[:w.offset(fn.Pos())], '\n') + 1
	w.lines = append(w.lines, start)
	end := w.offset(fn.End())
	for i := start; i < end; i++ {
		if src[i] == '\n' {
			w.lines = append(w.lines, i+1)
		}
	}
	for end < len(src) && src[end] != '\n' {
		end++
	}
	w.lines = append(w.lines, min(end+1, len(src)+1))
	return w
}

// directive reports whether a comment holds a compiler directive: functions with directives follow
// rules beyond those of the language.
func directive(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:") })
}

func usesC(fn *ast.FuncDecl) bool {
	uses := false
	ast.Inspect(fn, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && id.Name == "C" {
				uses = true
			}
		}
		return !uses
	})
	return uses
}

func (w *walker) offset(p token.Pos) int { return int(p) - w.base }

// text returns the source of a node.
func (w *walker) text(n ast.Node) string { return string(w.src[w.offset(n.Pos()):w.offset(n.End())]) }

// line returns the index in w.lines of the line that holds the byte at offset.
func (w *walker) line(offset int) int {
	i, exact := slices.BinarySearch(w.lines, offset)
	if !exact {
		i--
	}
	return i
}

// oneLine reports whether a stretch of source lies within one line.
func (w *walker) oneLine(pos, end token.Pos) bool {
	return pos.IsValid() && end >= pos && w.line(w.offset(pos)) == w.line(w.offset(end))
}

// replace records the mutant in which the source from pos to end is replaced by text.
func (w *walker) replace(kind string, pos, end token.Pos, text string) {
	if !pos.IsValid() || end < pos {
		return
	}
	from, to := w.offset(pos), w.offset(end)
	i := w.line(from)
	if i < 0 || i+1 >= len(w.lines) || to >= w.lines[i+1] || strings.ContainsAny(text, "\n\r") {
		return
	}
	if glued(w.src[:from], text, w.src[to:]) {
		return
	}
	old := w.src[w.lines[i] : w.lines[i+1]-1]
	line := string(w.src[w.lines[i]:from]) + text + string(w.src[to:w.lines[i+1]-1])
	line = strings.TrimRight(strings.TrimLeft(line, " \t"), " \t\r")
	if line == strings.TrimSpace(string(old)) || line == "" {
		return
	}
	key := place{i + 1, line}
	if _, dup := w.seen[key]; dup {
		return
	}
	w.seen[key] = struct{}{}
	w.found = append(w.found, found{Mutant{Kind: kind, Line: i + 1, Text: line}, from})
}

// glued reports whether text inserted between two pieces of source would merge with its neighbours
// into another token, such as a minus after the < in 0<1.
func glued(before []byte, text string, after []byte) bool {
	joined := append(append([]byte{}, before[max(0, len(before)-1):]...), text...)
	joined = append(joined, after[:min(1, len(after))]...)
	return len(joined) > 1 && len(before) > 0 && (oneToken(joined[:2]) || oneToken(joined[len(joined)-2:]) && len(after) > 0)
}

func oneToken(pair []byte) bool {
	switch string(pair) {
	case "<-", "--", "++", "//", "/*", "*/", "&&", "||", "&^", "<<", ">>":
		return true
	}
	return wordByte(pair[0]) && wordByte(pair[1])
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// replaceNode records the mutant in which a node is replaced by text.
func (w *walker) replaceNode(kind string, n ast.Node, text string) {
	w.replace(kind, n.Pos(), n.End(), text)
}

// parent returns the n-th ancestor of the node being visited: parent(1) is its parent. It returns
// nil above the function's body.
func (w *walker) parent(n int) ast.Node {
	if i := len(w.stack) - 1 - n; i >= 0 {
		return w.stack[i]
	}
	return nil
}
