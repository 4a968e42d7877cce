package repair

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Checker type-checks a package again and again, each time with another version of one file. It may
// be used by one goroutine at a time.
type Checker struct {
	dir     string
	fset    *token.FileSet
	path    string
	name    string
	version string
	sizes   types.Sizes
	cgo     bool
	imports map[string]*packages.Package
	files   map[string]*checkedFile // by absolute name
	order   []string                // of the names, so that errors do not depend on a map
	words   *Words                  // made when they are first asked for
}

// checkedFile is a file of the package as it is on disk.
type checkedFile struct {
	src   []byte
	full  *ast.File // for when declarations change
	decls *ast.File // without bodies: they are sound as they are
	shape string    // the file without bodies, as text
}

// NewChecker loads the package at an import path or relative directory ("./pkg"), as seen from a
// directory in its module, with its tests, and the exported types of what it imports. Env is the
// environment of the go command, nil for that of the process. Packages that do not compile as they
// are cannot be checked.
func NewChecker(ctx context.Context, dir, pkg string, env ...string) (*Checker, error) {
	fset := token.NewFileSet()
	cfg := &packages.Config{
		Context: ctx, Dir: dir, Env: env, Fset: fset, Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedExportFile | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedModule,
	}
	if len(env) == 0 {
		cfg.Env = nil
	}
	loaded, err := packages.Load(cfg, pkg)
	if err != nil {
		return nil, fmt.Errorf("repair: load package %s: %w", pkg, err)
	}
	p := mainPackage(loaded)
	if p == nil {
		return nil, fmt.Errorf("repair: load package %s: it has no Go files that are built here", pkg)
	}
	c := &Checker{dir: dir, fset: fset, path: p.PkgPath, name: p.Name, sizes: p.TypesSizes, imports: p.Imports, files: map[string]*checkedFile{}}
	if p.Module != nil && p.Module.GoVersion != "" {
		c.version = "go" + p.Module.GoVersion
	}
	for _, name := range p.CompiledGoFiles {
		if !strings.HasSuffix(name, ".go") { // cgo
			continue
		}
		if err := c.add(name); err != nil {
			return nil, err
		}
	}
	if err := c.check(nil, "", true); err != nil {
		return nil, fmt.Errorf("repair: load package %s: %w", pkg, err)
	}
	return c, nil
}

// mainPackage chooses the variant of a package that has its tests, else the package itself.
func mainPackage(loaded []*packages.Package) *packages.Package {
	var best *packages.Package
	for _, p := range loaded {
		if strings.HasSuffix(p.PkgPath, ".test") || strings.HasSuffix(p.Name, "_test") && strings.HasSuffix(p.PkgPath, "_test") || len(p.CompiledGoFiles) == 0 {
			continue
		}
		if best == nil || len(p.CompiledGoFiles) > len(best.CompiledGoFiles) {
			best = p
		}
	}
	return best
}

func (c *Checker) add(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("repair: load package: %w", err)
	}
	full, err := parser.ParseFile(c.fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("repair: load package: %w", err)
	}
	for _, im := range full.Imports {
		c.cgo = c.cgo || im.Path.Value == `"C"`
	}
	c.files[name] = &checkedFile{src: src, full: full, decls: withoutBodies(full), shape: shape(c.fset, full, src)}
	c.order = append(c.order, name)
	return nil
}

// withoutBodies returns a file whose functions have no bodies.
func withoutBodies(f *ast.File) *ast.File {
	out := *f
	out.Decls = make([]ast.Decl, len(f.Decls))
	for i, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && fn.Name.Name != "init" && fn.Name.Name != "main" {
			head := *fn
			head.Body = nil
			d = &head
		}
		out.Decls[i] = d
	}
	return &out
}

// shape returns the text of a file outside the bodies of functions.
func shape(fset *token.FileSet, f *ast.File, src []byte) string {
	var b strings.Builder
	from := 0
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			b.Write(src[from:offset(fset, fn.Body.Lbrace)])
			from = offset(fset, fn.Body.Rbrace)
		}
	}
	b.Write(src[from:])
	return b.String()
}

func offset(fset *token.FileSet, p token.Pos) int { return fset.PositionFor(p, false).Offset }

// Files returns the absolute names of the package's files, its tests among them.
func (c *Checker) Files() []string { return append([]string(nil), c.order...) }

// Package returns the import path and the name of the package.
func (c *Checker) Package() (path, name string) { return c.path, c.name }

// Check reports why the package would not compile if a file had the given source: the first error,
// in one line, that of the parser or of the type checker. File is an absolute name, one relative to
// the directory of the checker, or a base name. Packages that other packages import are checked
// alone: a changed signature may break those.
func (c *Checker) Check(file string, src []byte) error {
	name := c.find(file)
	if name == "" {
		return fmt.Errorf("repair: check %s: it is not a file of package %s", file, c.path)
	}
	fset := token.NewFileSet() // the text is thrown away, and so are its positions
	f, err := parser.ParseFile(fset, filepath.Base(name), src, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("does not parse: %w", firstError(err))
	}
	if c.cgo {
		return nil // what the cgo tool makes of it is not known here
	}
	// Positions of both sets must not mix: parse again into the shared one under a fresh base.
	changed, err := parser.ParseFile(c.fset, filepath.Base(name), src, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("does not parse: %w", firstError(err))
	}
	defer c.fset.RemoveFile(c.fset.File(changed.FileStart))
	if err := c.check(changed, name, shape(fset, f, src) != c.files[name].shape); err != nil {
		return fmt.Errorf("does not compile: %w", err)
	}
	return nil
}

// check type-checks the package with one file replaced. All says that bodies of other files are to
// be checked as well: they may depend on what changed.
func (c *Checker) check(changed *ast.File, name string, all bool) error {
	if c.cgo {
		return nil
	}
	files := make([]*ast.File, 0, len(c.order))
	for _, n := range c.order {
		switch {
		case n == name:
			files = append(files, changed)
		case all:
			files = append(files, c.files[n].full)
		default:
			files = append(files, c.files[n].decls)
		}
	}
	var first error
	conf := types.Config{
		Importer: importer{c}, Sizes: c.sizes, GoVersion: c.version,
		Error: func(err error) {
			var te types.Error
			if first != nil || !errors.As(err, &te) {
				return
			}
			if !all && c.fset.File(te.Pos) != c.fset.File(changed.FileStart) {
				return // an import that only bodies use
			}
			p := c.fset.PositionFor(te.Pos, false)
			first = fmt.Errorf("%s:%d:%d: %s", filepath.Base(p.Filename), p.Line, p.Column, te.Msg)
		},
	}
	_, err := conf.Check(c.path, c.fset, files, nil)
	if first == nil && err != nil && all {
		first = err
	}
	return first
}

func firstError(err error) error {
	msg, _, _ := strings.Cut(err.Error(), "\n")
	if i := strings.LastIndex(msg, " (and "); i > 0 && strings.HasSuffix(msg, "more errors)") {
		msg = msg[:i]
	}
	return errors.New(msg)
}

// find returns the name under which a file is known, "" if it is not.
func (c *Checker) find(file string) string {
	if !filepath.IsAbs(file) {
		if abs, err := filepath.Abs(filepath.Join(c.dir, file)); err == nil && c.files[abs] != nil {
			return abs
		}
	}
	if c.files[file] != nil {
		return file
	}
	found := ""
	for _, n := range c.order {
		if filepath.Base(n) == filepath.Base(file) {
			if found != "" {
				return ""
			}
			found = n
		}
	}
	return found
}

// importer answers from what was loaded.
type importer struct{ c *Checker }

func (im importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := im.c.imports[path]; p != nil && p.Types != nil {
		return p.Types, nil
	}
	return nil, fmt.Errorf("could not import %s", path)
}

// Types type-checks the package with another version of a file and returns that file with what is
// known of its types. Errors in it are no error here: what could be found out is returned.
func (c *Checker) Types(file string, src []byte) (*token.FileSet, *ast.File, *types.Info, error) {
	name := c.find(file)
	if name == "" {
		return nil, nil, nil, fmt.Errorf("repair: check %s: it is not a file of package %s", file, c.path)
	}
	f, err := parser.ParseFile(c.fset, filepath.Base(name), src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("does not parse: %w", firstError(err))
	}
	files := make([]*ast.File, 0, len(c.order))
	for _, n := range c.order {
		if n == name {
			files = append(files, f)
		} else {
			files = append(files, c.files[n].decls)
		}
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{},
	}
	conf := types.Config{Importer: importer{c}, Sizes: c.sizes, GoVersion: c.version, Error: func(error) {}}
	_, _ = conf.Check(c.path, c.fset, files, info) // errors are no matter
	return c.fset, f, info, nil
}
