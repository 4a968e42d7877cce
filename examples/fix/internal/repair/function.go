package repair

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// Function is a function or method of a Go file.
type Function struct {
	Name string // as in stack traces, without package and type arguments: "Trim", "Reader.Len", "(*Reader).ReadLine"
	File string // as the caller named it

	Start, End int    // first and last line in the file, from 1: the line of the func keyword and the line of the closing brace
	Text       string // these lines, joined by \n whatever line endings the file has
}

// Functions returns the functions of a file that have a body, in source order. The file must parse.
func Functions(file string, src []byte) ([]Function, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("repair: list functions: %w", err)
	}
	lines := splitLines(src)
	var fns []Function
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			fns = append(fns, function(fset, file, lines, fn))
		}
	}
	return fns, nil
}

func function(fset *token.FileSet, file string, lines []string, fn *ast.FuncDecl) Function {
	start, end := fset.PositionFor(fn.Pos(), false).Line, fset.PositionFor(fn.End(), false).Line
	return Function{Name: FuncName(fn), File: file, Start: start, End: end, Text: strings.Join(lines[start-1:end], "\n")}
}

// splitLines returns the lines of a source without their endings.
func splitLines(src []byte) []string {
	lines := strings.Split(string(src), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// FuncName returns the name of a function declaration in the form of [Function].Name.
func FuncName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t, star := fn.Recv.List[0].Type, false
	for {
		switch x := t.(type) {
		case *ast.ParenExpr:
			t = x.X
		case *ast.StarExpr:
			t, star = x.X, true
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			if star {
				return "(*" + x.Name + ")." + fn.Name.Name
			}
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}
