package realfix

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// ChangedTests returns the names of the tests of a package that differ between two versions of its
// module, either in their own code or in helpers and tables that they use from the package's test
// files. It returns none if the tests do not differ or the changes cannot be attributed to single
// tests.
func ChangedTests(oldRoot, newRoot, dir string) []string {
	before, after := testDecls(filepath.Join(oldRoot, dir)), testDecls(filepath.Join(newRoot, dir))
	changed := map[string]bool{}
	for name, d := range after {
		if was, ok := before[name]; !ok || was.text != d.text {
			changed[name] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for name, d := range after {
			if !changed[name] && slices.ContainsFunc(d.uses, func(u string) bool { return changed[u] }) {
				changed[name], grown = true, true
			}
		}
	}
	var tests []string
	for name := range changed {
		if strings.HasPrefix(name, "Test") && name != "TestMain" && after[name].function {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests
}

// A testDecl is a declaration in a test file.
type testDecl struct {
	text     string
	uses     []string // identifiers in it
	function bool
}

// testDecls returns the declarations of a package's test files by name.
func testDecls(dir string) map[string]testDecl {
	all := map[string]testDecl{}
	names, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, name := range names {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					all[d.Name.Name] = newTestDecl(d, true)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for _, id := range v.Names {
							all[id.Name] = newTestDecl(v, false)
						}
					}
				}
			}
		}
	}
	return all
}

// newTestDecl reduces a declaration to its names and literals in order, which is enough to detect a
// change.
func newTestDecl(n ast.Node, function bool) testDecl {
	var text strings.Builder
	var uses []string
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			uses = append(uses, n.Name)
			text.WriteString(n.Name + " ")
		case *ast.BasicLit:
			text.WriteString(n.Value + " ")
		case *ast.BinaryExpr:
			text.WriteString(n.Op.String() + " ")
		case *ast.UnaryExpr:
			text.WriteString(n.Op.String() + " ")
		}
		return true
	})
	return testDecl{text.String(), uses, function}
}
