package mutate_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"

	"github.com/luthier-dev/luthier/examples/fix/internal/mutate"
)

// A function is broken in every plausible way. The mutants of the broken function include its
// repair.
func ExampleAll() {
	src := []byte(`package p

func last(a []int, from int) []int {
	return a[from:]
}
`)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", src, 0)
	if err != nil {
		panic(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{}}
	if _, err := new(types.Config).Check("p", fset, []*ast.File{file}, info); err != nil {
		panic(err)
	}
	for _, m := range mutate.All(src, file.Decls[0].(*ast.FuncDecl), fset, info) {
		fmt.Printf("line %d: %s (%s)\n", m.Line, m.Text, m.Kind)
	}
	// Output:
	// line 2: return a[from+1:] (plus-one)
	// line 2: return a[from-1:] (plus-one)
	// line 2: return a[:from] (slice-bound)
}
