package corpus

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/mutate"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// pkg is a package of the corpus in memory.
type pkg struct {
	fset    *token.FileSet
	mutator *mutate.Mutator
	files   map[string]*file // by base name
	known   *repair.Names    // built when first requested
}

type file struct {
	pkg   string
	src   []byte
	lines []string
	decls map[int]*ast.FuncDecl // by the line of the word func
	all   []repair.Function     // the functions with a body, in order
}

// loadPackage parses and type-checks the package in a directory, ignoring errors. The wanted files
// are included even if they are not built on this system, as long as they parse.
func loadPackage(im *importer, dir string, wanted []string) *pkg {
	p := &pkg{fset: token.NewFileSet(), files: map[string]*file{}}
	sources := map[string][]byte{}
	asts := parseDir(p.fset, dir, func(name string, src []byte) { sources[name] = src })
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, Instances: map[*ast.Ident]types.Instance{},
	}
	config := types.Config{Importer: im, FakeImportC: true, Error: func(error) {}}
	_, _ = config.Check(path.Base(filepath.ToSlash(dir)), p.fset, asts, info) // partial information is enough
	p.mutator = mutate.New(info)
	for _, f := range asts {
		base := filepath.Base(p.fset.PositionFor(f.Pos(), false).Filename)
		p.add(base, sources[base], f)
	}
	for _, base := range wanted {
		if p.files[base] != nil {
			continue
		}
		src, err := os.ReadFile(filepath.Join(dir, base))
		if err != nil {
			continue
		}
		if f, err := parser.ParseFile(p.fset, filepath.Join(dir, base), src, parser.SkipObjectResolution|parser.ParseComments); err == nil {
			p.add(base, src, f)
		}
	}
	return p
}

func (p *pkg) add(base string, src []byte, f *ast.File) {
	out := &file{pkg: f.Name.Name, src: src, lines: strings.Split(string(src), "\n"), decls: map[int]*ast.FuncDecl{}}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			r := function(p.fset, out.lines, fn)
			r.File = base
			out.decls[r.Start] = fn
			out.all = append(out.all, r)
		}
	}
	p.files[base] = out
}

// names returns the names that the package uses, and how.
func (p *pkg) names() *repair.Names {
	if p.known == nil {
		sources := map[string][]byte{}
		for base, f := range p.files {
			sources[base] = f.src
		}
		p.known = repair.NewNames(sources)
	}
	return p.known
}

// find returns a function of the package, or nil if the package does not have it.
func (p *pkg) find(f Function) (*file, *ast.FuncDecl) {
	in := p.files[path.Base(f.File)]
	if in == nil {
		return nil, nil
	}
	return in, in.decls[f.Line]
}
