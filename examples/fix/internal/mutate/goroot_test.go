package mutate

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A pkg is a package of the standard library, parsed and checked.
type pkg struct {
	fset  *token.FileSet
	info  *types.Info
	files []*ast.File
	bare  []*ast.File // the same files without the bodies of functions, which are checked quickly
	src   map[*ast.File][]byte
	pkg   *types.Package
}

// libraries are packages of the standard library in many styles.
var libraries = []string{"strings", "strconv", "bufio", "sort", "encoding/json", "text/template/parse", "net/url", "container/heap", "time", "path/filepath",
	"go/printer", "compress/flate", "math/big", "text/tabwriter", "archive/tar", "regexp/syntax", "encoding/csv", "net/textproto", "mime", "image/png"}

// installed returns the directory of the Go installation, and sets it in package build, since a
// test that was built with -trimpath does not know the directory.
var installed = sync.OnceValue(func() string {
	if build.Default.GOROOT == "" {
		out, _ := exec.Command("go", "env", "GOROOT").Output()
		build.Default.GOROOT = strings.TrimSpace(string(out))
	}
	return build.Default.GOROOT
})

func goroot(t testing.TB) string {
	dir := filepath.Join(installed(), "src")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("needs the source of the standard library:", err)
	}
	return dir
}

func newInfo() *types.Info {
	return &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{}, Implicits: map[ast.Node]types.Object{}}
}

// loader loads packages one after another and shares the packages that they import.
type loader struct {
	fset   *token.FileSet
	imp    types.Importer
	loaded map[string]*pkg
}

// shared returns the loader of all tests, which run one after another.
var shared = sync.OnceValue(func() *loader {
	fset := token.NewFileSet()
	return &loader{fset, &importOnce{from: importer.ForCompiler(fset, "source", nil).(types.ImporterFrom), known: map[[2]string]*types.Package{}}, map[string]*pkg{}}
})

// importOnce caches the resolution of import paths: without it, the source importer would search
// the directories at every import.
type importOnce struct {
	from  types.ImporterFrom
	known map[[2]string]*types.Package // by path and importing directory, which determines what is vendored
}

func (i *importOnce) Import(path string) (*types.Package, error) { return i.ImportFrom(path, "", 0) }

func (i *importOnce) ImportFrom(path, dir string, mode types.ImportMode) (*types.Package, error) {
	key := [2]string{path, dir}
	if p := i.known[key]; p != nil {
		return p, nil
	}
	p, err := i.from.ImportFrom(path, dir, mode)
	if err == nil {
		i.known[key] = p
	}
	return p, err
}

func (l *loader) load(t testing.TB, path string) *pkg {
	t.Helper()
	if p := l.loaded[path]; p != nil {
		return p
	}
	dir := filepath.Join(goroot(t), path)
	built, err := build.Default.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pkg{fset: l.fset, info: newInfo(), src: map[*ast.File][]byte{}}
	for _, name := range built.GoFiles {
		name = filepath.Join(dir, name)
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(l.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p.src[f] = src
		p.files = append(p.files, f)
		p.bare = append(p.bare, bare(f))
	}
	config := types.Config{Importer: l.imp}
	if p.pkg, err = config.Check(path, l.fset, p.files, p.info); err != nil {
		t.Fatal(err)
	}
	l.loaded[path] = p
	return p
}

// functions calls f with every function of a package.
func (p *pkg) functions(f func(src []byte, fn *ast.FuncDecl)) {
	for _, file := range p.files {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				f(p.src[file], fn)
			}
		}
	}
}

func bare(f *ast.File) *ast.File {
	b := *f
	b.Decls = nil
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			without := *fn
			without.Body = nil
			d = &without
		}
		b.Decls = append(b.Decls, d)
	}
	return &b
}
