package realfix

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/mutate"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Slips finds out which fixes a symbolic enumerator would find: those whose new line is among the
// mutants of the old function. It does not load packages outside the standard library, so the
// enumerator might find a few more.
type Slips struct {
	fset *token.FileSet
	std  types.Importer
}

// NewSlips returns a Slips that has loaded nothing yet.
func NewSlips() *Slips {
	fset := token.NewFileSet()
	return &Slips{fset, importer.ForCompiler(fset, "source", nil)}
}

// Of returns the kind of slip that produces the new line of a fix in the function with the old
// line, or "" if none does. The parameter root is the directory with the unpacked version of the
// module.
func (s *Slips) Of(root string, fix Fix) (string, error) {
	dir := filepath.Join(root, filepath.FromSlash(fix.Dir))
	built, err := build.ImportDir(dir, 0)
	if err != nil {
		return "", fmt.Errorf("realfix: find the slip of %v: %w", fix, err)
	}
	var files []*ast.File
	var changed *ast.File
	var src []byte
	for _, name := range built.GoFiles {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("realfix: find the slip of %v: %w", fix, err)
		}
		mine := name == filepath.Base(fix.File)
		if mine {
			if data, err = fix.Reverted(data); err != nil {
				return "", err
			}
			src = data
		}
		file, err := parser.ParseFile(s.fset, path, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return "", fmt.Errorf("realfix: find the slip of %v: %w", fix, err)
		}
		if mine {
			changed = file
		}
		files = append(files, file)
	}
	if changed == nil {
		return "", fmt.Errorf("realfix: find the slip of %v: the file is not built here", fix)
	}
	return s.search(fix, files, changed, src), nil
}

func (s *Slips) search(fix Fix, files []*ast.File, changed *ast.File, src []byte) string {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{}}
	config := types.Config{Importer: s, Error: func(error) {}}
	_, _ = config.Check(fix.Dir, s.fset, files, info) // anything that could not be checked is missing in info
	for _, d := range changed.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || repair.FuncName(fn) != fix.Function {
			continue
		}
		for _, m := range mutate.All(src, fn, s.fset, info) {
			if m.Line == fix.Line && m.Text == fix.New {
				return m.Kind
			}
		}
	}
	return ""
}

// Import implements types.Importer for the standard library.
func (s *Slips) Import(path string) (*types.Package, error) {
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		return nil, errors.New("not of the standard library")
	}
	return s.std.Import(path)
}

// Reverted returns the newer version of the fix's file with the old line restored.
func (f Fix) Reverted(src []byte) ([]byte, error) {
	fns, err := repair.Functions(f.File, src)
	if err != nil {
		return nil, fmt.Errorf("realfix: revert %v: %w", f, err)
	}
	for _, fn := range fns {
		if fn.Name == f.Function && fn.Start+f.Line-1 == f.FileLine {
			return repair.Apply(src, fn, f.Line, f.Old)
		}
	}
	return nil, fmt.Errorf("realfix: revert %v: the function %s is not there", f, f.Function)
}
