package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
)

// reach is the maximum distance, counted in declarations of variables of the same type, at which
// two names may be confused.
const reach = 12

// names holds the names that a function declares and uses. It is collected before slips are made.
type names struct {
	all            []*local
	byType         map[int][]*local        // variables by type number, in the order of declaration
	locals         map[types.Object]*local // only with type information
	params         map[string]*local       // only without type information: parameters whose names are declared once
	outer          map[types.Object]int    // package-level variables used, with the number of uses
	types          []types.Type            // numbered types
	typeNames      map[string]int          // without type information: numbered type texts
	declared       map[string]int          // number of declarations of each name in the function
	literals       []literalValue
	literalCount   map[string]int
	reads          map[types.Object]int // uses that count as uses for the compiler
	conditionCount map[string]int
	conditions     []ast.Expr          // operands of && and ||, and whole conditions, each text once
	written        map[*ast.Ident]bool // identifiers that are only assigned to
	packages       []*types.PkgName    // imported packages that have wrappers
}

type literalValue struct {
	kind  token.Token
	value string
}

// A local is a variable that code in the function can name.
type local struct {
	name  string
	obj   types.Object // nil without type information
	typ   int
	index int // index among the locals of the same type
	param bool
}

// collect collects the names, literals and conditions of the function.
func (w *walker) collect() {
	w.names = names{
		byType: map[int][]*local{}, locals: map[types.Object]*local{}, params: map[string]*local{}, outer: map[types.Object]int{},
		typeNames: map[string]int{}, declared: map[string]int{}, literalCount: map[string]int{}, conditionCount: map[string]int{}, reads: map[types.Object]int{},
		written: map[*ast.Ident]bool{},
	}
	w.parameters()
	ast.Inspect(w.fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			w.countLiteral(n)
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.ASSIGN {
					w.names.written[id] = true
				} else if ok && n.Tok == token.DEFINE {
					w.names.declared[id.Name]++
				}
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				w.countCondition(n.X)
				w.countCondition(n.Y)
			}
		case *ast.IfStmt:
			w.countCondition(n.Cond)
		case *ast.Ident:
			w.countIdent(n)
		}
		return true
	})
	w.namedPackages()
}

func (w *walker) parameters() {
	declare := func(fields *ast.FieldList) {
		if fields == nil {
			return
		}
		for _, f := range fields.List {
			for _, id := range f.Names {
				w.names.declared[id.Name]++
				if w.info.Defs[id] == nil && id.Name != "_" {
					w.add(&local{name: id.Name, typ: w.typeText(w.text(f.Type)), param: true})
				}
			}
		}
	}
	declare(w.fn.Recv)
	declare(w.fn.Type.Params)
	declare(w.fn.Type.Results)
	// A name declared in the body hides the parameter of the same name in a part of it. Without
	// type information, such parameters are not replaced.
	ast.Inspect(w.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for _, id := range n.Names {
				w.names.declared[id.Name]++
			}
		case *ast.FuncType: // the type of a function literal
			for _, list := range []*ast.FieldList{n.Params, n.Results} {
				for _, id := range fieldNames(list) {
					w.names.declared[id.Name]++
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					w.names.declared[id.Name]++
				}
			}
		case *ast.TypeSpec:
			w.names.declared[n.Name.Name]++
		}
		return true
	})
}

// fieldNames returns the names that a list of parameters declares.
func fieldNames(list *ast.FieldList) []*ast.Ident {
	var ids []*ast.Ident
	if list != nil {
		for _, f := range list.List {
			ids = append(ids, f.Names...)
		}
	}
	return ids
}

func (w *walker) add(l *local) {
	l.index = len(w.names.byType[l.typ])
	w.names.all = append(w.names.all, l)
	w.names.byType[l.typ] = append(w.names.byType[l.typ], l)
	if l.obj != nil {
		w.names.locals[l.obj] = l
	} else {
		w.names.params[l.name] = l
	}
}

// typeText returns the number of a type that is known only by its text.
func (w *walker) typeText(text string) int {
	n, ok := w.names.typeNames[text]
	if !ok {
		n = -1 - len(w.names.typeNames)
		w.names.typeNames[text] = n
	}
	return n
}

// typeNumber returns the number of a type, the same for identical types.
func (w *walker) typeNumber(t types.Type) int {
	for i, u := range w.names.types {
		if types.Identical(t, u) {
			return i
		}
	}
	w.names.types = append(w.names.types, t)
	return len(w.names.types) - 1
}

func (w *walker) countLiteral(n *ast.BasicLit) {
	if w.names.literalCount[n.Value]++; w.names.literalCount[n.Value] == 1 && n.Kind != token.FLOAT && len(n.Value) <= shortLiteral {
		w.names.literals = append(w.names.literals, literalValue{n.Kind, n.Value})
	}
}

func (w *walker) countIdent(id *ast.Ident) {
	if v, ok := w.info.Defs[id].(*types.Var); ok {
		if !v.IsField() && v.Name() != "_" && valid(v.Type()) {
			w.add(&local{name: v.Name(), obj: v, typ: w.typeNumber(v.Type()), param: v.Pos() < w.fn.Body.Pos()})
		}
		return
	}
	o := w.info.Uses[id]
	if o == nil {
		return
	}
	if !w.names.written[id] {
		w.names.reads[o]++
	}
	if v, ok := o.(*types.Var); ok && !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		if w.names.outer[o]++; w.names.outer[o] == 1 && valid(v.Type()) && w.unqualified(v) {
			w.add(&local{name: v.Name(), obj: v, typ: w.typeNumber(v.Type()), param: true})
		}
	}
}

// unqualified reports whether an object can be named here without a package name.
func (w *walker) unqualified(o types.Object) bool {
	self := w.info.Defs[w.fn.Name]
	return self != nil && self.Pkg() == o.Pkg()
}

func valid(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return !ok || b.Kind() != types.Invalid
}

// inScope reports whether a variable can be referred to at a position: it is declared before the
// position and not hidden there.
func (w *walker) inScope(l *local, at token.Pos) bool {
	if l.obj == nil {
		return w.names.declared[l.name] == 1
	}
	scope := w.scope(at)
	if scope == nil {
		return false
	}
	_, o := scope.LookupParent(l.name, at)
	return o == l.obj
}

// scope returns the innermost scope around the node being visited.
func (w *walker) scope(at token.Pos) *types.Scope {
	for i := len(w.stack) - 1; i >= 0; i-- {
		n := w.stack[i]
		if f, ok := n.(*ast.FuncLit); ok {
			n = f.Type
		}
		if s := w.info.Scopes[n]; s != nil && s.Contains(at) {
			return s
		}
	}
	return w.info.Scopes[w.fn.Type]
}

// spare reports whether a use of a variable may be removed without making the variable unused or
// unknown to the function.
func (w *walker) spare(l *local, id *ast.Ident) bool {
	if l.obj == nil {
		return true
	}
	if n := w.names.outer[l.obj]; n > 0 {
		return n > 1
	}
	return l.param || w.names.written[id] || w.names.reads[l.obj] > 1
}

// lookup returns the local that an identifier refers to, or nil.
func (w *walker) lookup(id *ast.Ident) *local {
	if o := w.info.Uses[id]; o != nil {
		return w.names.locals[o]
	}
	if w.info.Defs[id] == nil && w.names.declared[id.Name] == 1 {
		return w.names.params[id.Name]
	}
	return nil
}

// variable substitutes the other variables of the same type.
func (w *walker) variable(id *ast.Ident, l *local) {
	if !w.spare(l, id) {
		return
	}
	for _, other := range w.names.byType[l.typ] {
		if other != l && other.name != l.name && abs(other.index-l.index) <= reach && w.inScope(other, id.Pos()) {
			w.replaceNode(Variable, id, other.name)
		}
	}
}

func abs(n int) int { return max(n, -n) }
