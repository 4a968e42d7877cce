package luthier_test

import (
	"go/ast"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/luthier-dev/luthier/internal/tier"
)

// judgedFile lists the recursive functions of the module, each group with what ends it.
const judgedFile = ".ci/recursion.txt"

// TestRecursionIsJudged compares the functions that call themselves, directly or through others of
// their package, with the list in .ci/recursion.txt. A stack overflow ends a Go program, so
// each such function needs a bound that no input can exceed. Add a new function with the reason why
// it ends, or write it with a loop.
//
// Evidence: luthier · Every recursive function is listed with what bounds it
func TestRecursionIsJudged(t *testing.T) {
	tier.Normal(t)
	judged, err := os.ReadFile(judgedFile)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]bool{} // whether a group with the function was found
	for line := range strings.Lines(string(judged)) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), " — ")
		switch {
		case name == "" || strings.HasPrefix(name, "#"):
		case !ok || reason == "":
			t.Errorf("%s: no reason after the dash", name)
		default:
			reasons[name] = false
		}
	}
	for _, group := range recursive(t) {
		known := false
		for _, f := range group {
			if _, ok := reasons[f]; ok {
				known, reasons[f] = true, true
			}
		}
		if !known {
			t.Errorf("%s calls itself: bound its depth and add it to %s with what bounds it; the group is %v", group[0], judgedFile, group)
		}
	}
	for f, found := range reasons {
		if !found {
			t.Errorf("%s does not call itself any more: remove it from %s", f, judgedFile)
		}
	}
}

// recursive returns the groups of functions that reach themselves.
func recursive(t *testing.T) [][]string {
	load := &packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedTypesSizes}
	ps, err := packages.Load(load, "./...")
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for _, p := range ps {
		if len(p.Errors) > 0 {
			t.Fatal(p.Errors[0])
		}
		g := &calls{p: p, out: map[types.Object][]types.Object{}, by: map[string][]*types.Func{}}
		g.read()
		for _, group := range g.cycles() {
			for i, f := range group {
				group[i] = strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, home), "/") + ": " + f
			}
			out = append(out, group)
		}
	}
	return out
}

// calls is the graph of the calls inside one package. Its nodes are functions, methods, and local
// variables that hold a function.
type calls struct {
	p   *packages.Package
	out map[types.Object][]types.Object
	by  map[string][]*types.Func // methods by name, for calls through an interface
}

func (g *calls) read() {
	for id, obj := range g.p.TypesInfo.Defs {
		if f, ok := obj.(*types.Func); ok && f.Signature().Recv() != nil && !types.IsInterface(f.Signature().Recv().Type()) {
			g.by[id.Name] = append(g.by[id.Name], f)
		}
	}
	for _, file := range g.p.Syntax {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				g.body(g.p.TypesInfo.Defs[f.Name], f.Body)
			}
		}
	}
}

// body adds the calls inside a function. The body of a function in a variable belongs to the
// variable, any other one to the function around it.
func (g *calls) body(from types.Object, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, right := range n.Rhs {
				lit, ok := right.(*ast.FuncLit)
				if id, named := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); ok && named {
					g.body(g.p.TypesInfo.ObjectOf(id), lit.Body)
					n.Rhs[i] = id // its body is read
				}
			}
		case *ast.Ident: // a call, or a function that is handed on and may be called
			g.edge(from, g.p.TypesInfo.Uses[n])
		}
		return true
	})
}

func (g *calls) edge(from, to types.Object) {
	switch to := to.(type) {
	case *types.Func:
		to = to.Origin()
		if to.Pkg() != g.p.Types {
			return
		}
		recv := to.Signature().Recv()
		if recv == nil || !types.IsInterface(recv.Type()) {
			g.out[from] = append(g.out[from], to)
			return
		}
		face := recv.Type().Underlying().(*types.Interface)
		for _, m := range g.by[to.Name()] {
			if t := m.Signature().Recv().Type(); types.Implements(t, face) || types.Implements(types.NewPointer(t), face) {
				g.out[from] = append(g.out[from], m)
			}
		}
	case *types.Var:
		if _, ok := to.Type().Underlying().(*types.Signature); ok {
			g.out[from] = append(g.out[from], to)
		}
	}
}

// cycles returns the strongly connected groups of functions, by Tarjan's algorithm.
func (g *calls) cycles() [][]string {
	index, low, onStack := map[types.Object]int{}, map[types.Object]int{}, map[types.Object]bool{}
	var stack []types.Object
	var out [][]string
	var visit func(v types.Object)
	visit = func(v types.Object) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack, onStack[v] = append(stack, v), true
		for _, w := range g.out[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if onStack[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] < index[v] {
			return
		}
		i := slices.Index(stack, v)
		var names []string
		for _, w := range stack[i:] {
			onStack[w] = false
			names = append(names, funcName(w))
		}
		if len(names) > 1 || slices.Contains(g.out[v], v) {
			slices.Sort(names)
			out = append(out, slices.Compact(names))
		}
		stack = stack[:i]
	}
	for v := range g.out {
		if index[v] == 0 {
			visit(v)
		}
	}
	return out
}

// funcName returns the name of a function with its receiver's type.
func funcName(obj types.Object) string {
	f, ok := obj.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return obj.Name()
	}
	t := f.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name() + "." + f.Name()
	}
	return f.Name()
}
