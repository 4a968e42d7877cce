package repair

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Names indexes the names that the code of a package uses, with the places of their use. They are
// names that a line may need although its function does not contain them.
type Names struct {
	places []place
	using  map[string][]int32  // by identifier, the places that contain it
	only   map[string]int32    // by name, the only place that offers it; -1 if there are several
	words  map[string][]string // by offered name, its words
	sets   []nameSet
	in     map[string][]int32 // by name, the sets that contain it
	kin    kin
}

// A place is a function or another package-level declaration.
type place struct {
	file  string // base name
	start int
	about string // type of the receiver, or the declared type
	lends []string
	count int // number of different identifiers in the place
}

// A nameSet holds names of one kind that could replace each other, in the order of their
// declarations.
type nameSet struct {
	kind  setKind
	names []string
}

type setKind uint8

const (
	sameSignature setKind = iota // functions, or methods of one type
	sameBlock                    // constants or variables declared together
	sameField                    // fields of one type in one struct
	sameImport                   // used members of one imported package
	sameType                     // methods of one type
)

// NewNames reads the files of a package, by name. Of a file that does not parse, it uses the part
// that can be parsed.
func NewNames(files map[string][]byte) *Names {
	fset := token.NewFileSet()
	var trees []*ast.File
	var sources [][]byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if f, _ := parser.ParseFile(fset, name, files[name], parser.SkipObjectResolution); f != nil {
			trees, sources = append(trees, f), append(sources, files[name])
		}
	}
	n := &Names{using: map[string][]int32{}, only: map[string]int32{}, words: map[string][]string{}, in: map[string][]int32{}, kin: kin{ids: map[string]int32{}}}
	known := map[string]bool{} // names that the package declares or imports
	for _, f := range trees {
		maps.Copy(known, imports(f))
		for _, d := range f.Decls {
			for _, name := range declared(d) {
				known[name] = true
			}
		}
	}
	g := grouping{sets: map[groupKey][]string{}}
	for i, f := range trees {
		used := imports(f)
		for j, d := range f.Decls {
			if !isImport(d) {
				n.add(fset, d, known)
				n.takeLines(fset, sources[i], d)
				g.declaration(i, j, d)
				g.selectors(d, used)
			}
		}
	}
	g.finish(n)
	n.kin.finish()
	return n
}

func isImport(d ast.Decl) bool {
	g, ok := d.(*ast.GenDecl)
	return ok && g.Tok == token.IMPORT
}

// imports returns the local names of the packages that a file imports.
func imports(f *ast.File) map[string]bool {
	out := map[string]bool{}
	for _, s := range f.Imports {
		if s.Name != nil {
			out[s.Name.Name] = true
		} else {
			out[path.Base(strings.Trim(s.Path.Value, "`\""))] = true
		}
	}
	return out
}

// declared returns the names that a declaration adds to its package.
func declared(d ast.Decl) []string {
	var out []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		out = append(out, d.Name.Name)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, id := range s.Names {
					out = append(out, id.Name)
				}
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
			}
		}
	}
	return out
}

// add adds a declaration as a place.
func (n *Names) add(fset *token.FileSet, d ast.Decl, known map[string]bool) {
	pos := fset.PositionFor(d.Pos(), false)
	p := place{file: filepath.Base(pos.Filename), start: pos.Line, about: about(d)}
	seen, lent := map[string]bool{}, map[string]bool{}
	lend := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if !lent[id.Name] && lendable(id.Name) {
				lent[id.Name] = true
				p.lends = append(p.lends, id.Name)
			}
		}
	}
	ast.Inspect(d, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.Ident:
			if seen[x.Name] = true; known[x.Name] {
				lend(x)
			}
		case *ast.SelectorExpr:
			lend(x.Sel)
		case *ast.StructType:
			for _, f := range x.Fields.List {
				lend(f.Names...)
			}
		case *ast.KeyValueExpr:
			if id, ok := x.Key.(*ast.Ident); ok && id.IsExported() {
				lend(id)
			}
		}
		return true
	})
	for name := range seen {
		n.using[name] = append(n.using[name], int32(len(n.places)))
	}
	for _, name := range p.lends {
		if _, also := n.only[name]; also {
			n.only[name] = -1
		} else {
			n.only[name], n.words[name] = int32(len(n.places)), nameWords(name)
		}
	}
	p.count = len(seen)
	n.places = append(n.places, p)
}

// lendable reports whether a name is worth offering.
func lendable(name string) bool {
	return name != "_" && name != "init" && name != "main" && len(name) <= 40 && !predeclared(name)
}

func predeclared(name string) bool { return types.Universe.Lookup(name) != nil }

// about returns the type that a declaration belongs to, or "" if there is none.
func about(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return receiver(FuncName(d))
	case *ast.GenDecl:
		if len(d.Specs) == 1 {
			if t, ok := d.Specs[0].(*ast.TypeSpec); ok {
				return t.Name.Name
			}
		}
	}
	return ""
}

// receiver returns the type in the name of a method, or "" for a function.
func receiver(name string) string {
	r, _, ok := strings.Cut(name, ".")
	if !ok {
		return ""
	}
	return strings.Trim(r, "(*)")
}

// A groupKey identifies a set of a package.
type groupKey struct {
	kind setKind
	of   string
	a, b int
}

// A grouping collects the sets of a package.
type grouping struct {
	sets  map[groupKey][]string
	order []groupKey
}

func (g *grouping) put(k groupKey, name string) {
	if !lendable(name) {
		return
	}
	if g.sets[k] == nil {
		g.order = append(g.order, k)
	}
	if !slices.Contains(g.sets[k], name) {
		g.sets[k] = append(g.sets[k], name)
	}
}

// declaration adds the names in declaration number j of file number i to their sets.
func (g *grouping) declaration(i, j int, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		typ := about(d)
		g.put(groupKey{kind: sameSignature, of: typ + " " + types.ExprString(d.Type)}, d.Name.Name)
		if typ != "" {
			g.put(groupKey{kind: sameType, of: typ}, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				g.fields(t)
				continue
			}
			for _, id := range s.(*ast.ValueSpec).Names {
				g.put(groupKey{kind: sameBlock, a: i, b: j}, id.Name)
			}
		}
	}
}

func (g *grouping) fields(t *ast.TypeSpec) {
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range s.Fields.List {
		for _, id := range f.Names {
			g.put(groupKey{kind: sameField, of: t.Name.Name + " " + types.ExprString(f.Type)}, id.Name)
		}
	}
}

// selectors adds the names from imported packages that a declaration uses to their sets.
func (g *grouping) selectors(d ast.Decl, imported map[string]bool) {
	ast.Inspect(d, func(x ast.Node) bool {
		if sel, ok := x.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && imported[id.Name] {
				g.put(groupKey{kind: sameImport, of: id.Name}, sel.Sel.Name)
			}
		}
		return true
	})
}

// finish keeps the sets that have more than one choice.
func (g *grouping) finish(n *Names) {
	for _, k := range g.order {
		names := g.sets[k]
		if len(names) < 2 {
			continue
		}
		for _, name := range names {
			n.in[name] = append(n.in[name], int32(len(n.sets)))
		}
		n.sets = append(n.sets, nameSet{k.kind, names})
	}
}
