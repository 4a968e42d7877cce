package mutate

import (
	"cmp"
	"go/ast"
	"go/types"
	"slices"
)

// members holds the declarations of a package that can be confused with each other: its functions
// by name, its constants in the order of declaration.
type members struct {
	functions []*types.Func
	constants []*types.Const
}

// crowded is the smallest number of names at which a package is not searched any more: such
// packages contain tables of system calls and the like.
const crowded = 3000

func (m *Mutator) members(p *types.Package) *members {
	if known := m.packages[p]; known != nil {
		return known
	}
	all := &members{}
	m.packages[p] = all
	if p.Scope().Len() > crowded {
		return all
	}
	for _, name := range p.Scope().Names() {
		switch o := p.Scope().Lookup(name).(type) {
		case *types.Func:
			if o.Signature().TypeParams() == nil && name != "main" && name != "init" {
				all.functions = append(all.functions, o)
			}
		case *types.Const:
			all.constants = append(all.constants, o)
		}
	}
	slices.SortStableFunc(all.constants, func(a, b *types.Const) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return all
}

// constant substitutes constants that are declared near c and have the same type. Untyped constants
// must be of the same kind.
func (w *walker) constant(id *ast.Ident, c *types.Const) {
	if c.Pkg() == nil || c.Parent() != c.Pkg().Scope() {
		return
	}
	same := w.members(c.Pkg()).constants
	at := slices.Index(same, c)
	if at < 0 {
		return
	}
	for _, step := range []int{-1, 1} {
		seen := 0
		for i := at + step; i >= 0 && i < len(same) && seen < 3 && abs(i-at) <= 20; i += step {
			if o := same[i]; w.visible(o) && types.Identical(o.Type(), c.Type()) && o.Name() != "_" && together(o, c) {
				seen++
				w.replaceNode(Constant, id, o.Name())
			}
		}
	}
}

// together reports whether two constants belong together: they have a defined type, or are declared
// near each other.
func together(a, b *types.Const) bool {
	basic, _ := a.Type().(*types.Basic)
	return basic == nil || abs(int(a.Pos()-b.Pos())) < 1000
}

// function substitutes functions of the same package with the same signature, namely those whose
// names are nearest in alphabetical order.
func (w *walker) function(id *ast.Ident, f *types.Func) {
	if f.Pkg() == nil || f.Signature().Recv() != nil || f.Signature().TypeParams() != nil {
		return
	}
	all := w.members(f.Pkg()).functions
	at := slices.Index(all, f)
	if at < 0 {
		return
	}
	for _, step := range []int{-1, 1} {
		seen := 0
		for i := at + step; i >= 0 && i < len(all) && seen < 3; i += step {
			if o := all[i]; w.visible(o) && types.Identical(o.Type(), f.Type()) {
				seen++
				w.replaceNode(Function, id, o.Name())
			}
		}
	}
}

// families lists functions of the standard library that are confused with each other; those in a
// row have the same signature.
var families = [][]string{
	{"HasPrefix", "HasSuffix", "Contains", "EqualFold", "ContainsAny"},
	{"TrimLeft", "TrimRight", "Trim", "TrimPrefix", "TrimSuffix"},
	{"Index", "LastIndex", "IndexAny", "LastIndexAny", "Count"}, {"IndexByte", "LastIndexByte"}, {"IndexFunc", "LastIndexFunc"},
	{"TrimLeftFunc", "TrimRightFunc", "TrimFunc"}, {"ToLower", "ToUpper", "TrimSpace", "ToTitle"},
	{"Split", "SplitAfter"}, {"SplitN", "SplitAfterN"}, {"Floor", "Ceil", "Round", "Trunc", "Abs"}, {"Min", "Max"},
	{"IsLetter", "IsDigit", "IsSpace", "IsUpper", "IsLower", "IsPunct", "IsNumber"},
}

// familiarPackages are the packages with functions in families.
var familiarPackages = []string{"strings", "bytes", "math", "unicode"}

// familiar substitutes the functions of the standard library that are confused most often; they are
// recognised without type information.
func (w *walker) familiar(s *ast.SelectorExpr) {
	id, ok := s.X.(*ast.Ident)
	if !ok || !slices.Contains(familiarPackages, id.Name) || w.names.declared[id.Name] > 0 {
		return
	}
	var pkg *types.Package
	if o := w.info.Uses[id]; o != nil {
		p, ok := o.(*types.PkgName)
		if !ok || p.Imported().Path() != id.Name {
			return
		}
		pkg = p.Imported()
	}
	for _, row := range families {
		if !slices.Contains(row, s.Sel.Name) {
			continue
		}
		for _, name := range row {
			if name != s.Sel.Name && interchangeable(pkg, id.Name, s.Sel.Name, name) {
				w.replaceNode(Function, s.Sel, name)
			}
		}
	}
}

// cutsets lists the functions whose second parameter is a string even in package bytes.
var cutsets = []string{"ContainsAny", "TrimLeft", "TrimRight", "Trim", "IndexAny", "LastIndexAny"}

// interchangeable reports whether two functions of a row have the same signature in a package. The
// parameter pkg may be nil if the package is not known.
func interchangeable(pkg *types.Package, path, a, b string) bool {
	if pkg != nil {
		f, _ := pkg.Scope().Lookup(a).(*types.Func)
		g, _ := pkg.Scope().Lookup(b).(*types.Func)
		return f != nil && g != nil && sameSignature(f, g)
	}
	switch path {
	case "bytes":
		return slices.Contains(cutsets, a) == slices.Contains(cutsets, b)
	case "unicode":
		return a[:2] == b[:2] && a != "TrimSpace" && b != "TrimSpace" // IsDigit and IsLetter, ToLower and ToUpper
	}
	return true
}
