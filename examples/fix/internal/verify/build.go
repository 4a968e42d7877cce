package verify

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// A Binary is a package's test binary with all its variants.
type Binary struct {
	Path     string
	Package  *Package
	Variants []Variant     // variant number n is Variants[n-1]
	Dropped  map[int]error // by variant number, the reason why the variant cannot be run, such as ErrCompile

	cfg       Config
	spans     map[int]span
	sites     map[string][]site // by file name
	mapper    *mapper
	functions []repair.Function // of the whole package
	blank     []byte            // an empty profile of the original package, for its blocks
	tests     []*test
	slow      float64 // factor by which everything takes longer than on an idle machine
	runs      int
	spent     time.Duration
}

// ErrCompile is the reason for dropping a variant that does not compile.
var ErrCompile = errors.New("does not compile")

// Build compiles the tests of p once with all variants. It replaces the package's files while the
// go command runs, so p.Dir must be a copy that nobody else reads at the same time. Variants that
// do not compile are dropped; Build fails if none is left.
func Build(ctx context.Context, cfg Config, p *Package, variants []Variant) (*Binary, error) {
	b := &Binary{Package: p, slow: 1, Variants: variants, Dropped: map[int]error{}, cfg: cfg}
	for _, f := range p.Files {
		fns, err := repair.Functions(f.Name, f.Src)
		if err != nil {
			return nil, fmt.Errorf("verify: build %s: %w", p.ImportPath, err)
		}
		b.functions = append(b.functions, fns...)
	}
	decls := b.place()
	b.keepImports()
	for range 8 {
		if len(b.Dropped) == len(variants) {
			return nil, fmt.Errorf("verify: build %s: %w: no variant compiles", p.ImportPath, ErrUnfit)
		}
		files, err := b.instrument(decls)
		if err != nil {
			return nil, err
		}
		bad, err := b.typeCheck(files)
		if err == nil && len(bad) == 0 {
			if bad, err = b.compile(ctx, files); err == nil && len(bad) == 0 {
				b.mapper = newMapper(b.spans, b.sites)
				return b, nil
			}
		}
		if err != nil {
			return nil, fmt.Errorf("verify: build %s: %w", p.ImportPath, err)
		}
		for id, why := range bad {
			b.Dropped[id] = fmt.Errorf("%w: %s", ErrCompile, why)
		}
	}
	return nil, fmt.Errorf("verify: build %s: %w: it keeps failing as variants are taken out", p.ImportPath, ErrUnfit)
}

// place finds the declaration of every variant's function and drops the variants that have none.
func (b *Binary) place() map[int]*ast.FuncDecl {
	at := map[string]*ast.FuncDecl{}
	for _, f := range b.Package.Files {
		for _, d := range f.AST.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				at[f.Name+":"+strconv.Itoa(b.Package.Fset.Position(d.Pos()).Line)] = d
			}
		}
	}
	decls := map[int]*ast.FuncDecl{}
	for i, v := range b.Variants {
		d := at[filepath.Base(v.Function.File)+":"+strconv.Itoa(v.Function.Start)]
		if d == nil {
			b.Dropped[i+1] = errors.New("no such function")
		} else if err := Fit(d); err != nil {
			b.Dropped[i+1] = err
		} else {
			decls[i+1] = d
		}
	}
	return decls
}

// keepImports drops variants that remove the only use of an import: such a variant would not
// compile on its own, although it does next to the original function.
func (b *Binary) keepImports() {
	for _, f := range b.Package.Files {
		uses := map[string]map[int]bool{}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok {
					if uses[x.Name] == nil {
						uses[x.Name] = map[int]bool{}
					}
					uses[x.Name][b.Package.Fset.Position(x.Pos()).Line] = true
				}
			}
			return true
		})
		for i, v := range b.Variants {
			if b.Dropped[i+1] != nil || filepath.Base(v.Function.File) != f.Name {
				continue
			}
			for _, imp := range f.AST.Imports {
				name := importName(imp)
				lines := uses[name]
				if len(lines) == 1 && lines[v.Function.Start+v.Line-1] && !strings.Contains(v.Text, name+".") {
					b.Dropped[i+1] = fmt.Errorf("%w: %s would be imported and not used", ErrCompile, name)
				}
			}
		}
	}
}

// importName guesses the name of an import. A wrong guess is harmless, since no identifier in the
// file has that name.
func importName(imp *ast.ImportSpec) string {
	if imp.Name != nil {
		return imp.Name.Name
	}
	path, _ := strconv.Unquote(imp.Path.Value)
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && regexp.MustCompile(`^v\d+$`).MatchString(last) {
		last = parts[len(parts)-2]
	}
	last, _, _ = strings.Cut(last, ".v")
	return strings.TrimPrefix(last, "go-")
}

// instrument returns the files that have variants, and the file with the selector.
func (b *Binary) instrument(decls map[int]*ast.FuncDecl) (map[string][]byte, error) {
	b.spans, b.sites = map[int]span{}, map[string][]site{}
	files := map[string][]byte{selectorFile: selectorSource(b.Package.Name)}
	for _, f := range b.Package.Files {
		var here []numbered
		for i, v := range b.Variants {
			if b.Dropped[i+1] == nil && filepath.Base(v.Function.File) == f.Name {
				here = append(here, numbered{i + 1, v, decls[i+1]})
			}
		}
		if len(here) == 0 {
			continue
		}
		src, spans, sites, dropped := instrument(b.Package.Fset, f, here)
		files[f.Name] = src
		b.sites[f.Name] = sites
		for _, s := range spans {
			b.spans[s.variant] = s
		}
		for id, err := range dropped {
			b.Dropped[id] = err
		}
	}
	return files, nil
}

// typeCheck checks the instrumented package as a whole and returns the variants that contain
// errors.
func (b *Binary) typeCheck(files map[string][]byte) (map[int]string, error) {
	p := b.Package
	var list []*ast.File
	parse := func(name string, src []byte) error {
		f, err := parser.ParseFile(p.Fset, filepath.Join(p.Dir, name), src, parser.SkipObjectResolution)
		list = append(list, f)
		return err
	}
	for _, f := range p.Files {
		if src, ok := files[f.Name]; ok {
			if err := parse(f.Name, src); err != nil {
				return nil, fmt.Errorf("instrumented code does not parse: %w", err)
			}
		} else {
			list = append(list, f.AST)
		}
	}
	if err := parse(selectorFile, files[selectorFile]); err != nil {
		return nil, err
	}
	errs := p.check(p.Fset, list, nil)
	bad := map[int]string{}
	for _, e := range errs {
		pos := p.Fset.Position(e.Pos)
		if id := b.variantAt(filepath.Base(pos.Filename), pos.Line); id > 0 {
			bad[id] = e.Msg
		}
	}
	if len(errs) > 0 && len(bad) == 0 {
		return nil, fmt.Errorf("%w: %v", ErrUnfit, errs[0])
	}
	return bad, nil
}

// variantAt returns the number of the variant whose copy is at a line, or 0 if there is none.
func (b *Binary) variantAt(file string, line int) int {
	for id, s := range b.spans {
		if s.file == file && s.start <= line && line <= s.end {
			return id
		}
	}
	return 0
}

var compileError = regexp.MustCompile(`(?m)^(?:\S*/)?([^/\s:]+\.go):(\d+):(?:\d+:)? (.*)$`)

// compile builds the test binary and returns the variants that do not compile.
func (b *Binary) compile(ctx context.Context, files map[string][]byte) (map[int]string, error) {
	out, err := os.CreateTemp(b.cfg.Scratch, "test-*.exe")
	if err != nil {
		return nil, err
	}
	out.Close()
	if b.cfg.Lock != nil {
		b.cfg.Lock.Lock()
		defer b.cfg.Lock.Unlock()
	}
	restore, err := b.replace(files)
	if err == nil {
		_, err = b.cfg.goCommand(ctx, b.Package.Dir, "test", "-c", "-cover", "-covermode=set", "-vet=off", "-gcflags=-e", "-ldflags=-s -w", "-o", out.Name(), ".")
	}
	if back := restore(); back != nil {
		return nil, back
	}
	if err == nil {
		b.Path = out.Name()
		return nil, os.Chmod(b.Path, 0o755)
	}
	os.Remove(out.Name())
	bad := map[int]string{}
	for _, m := range compileError.FindAllStringSubmatch(err.Error(), -1) {
		line, _ := strconv.Atoi(m[2])
		if id := b.variantAt(m[1], line); id > 0 {
			bad[id] = m[3]
		}
	}
	if len(bad) == 0 {
		return nil, fmt.Errorf("%w: %v", ErrUnfit, err)
	}
	return bad, nil
}

// replace writes files into the package's directory and returns a function that restores the old
// ones.
func (b *Binary) replace(files map[string][]byte) (restore func() error, err error) {
	dir := b.Package.Dir
	restore = func() error {
		var errs []error
		for name := range files {
			path := filepath.Join(dir, name)
			if f := b.Package.File(name); f != nil {
				errs = append(errs, os.WriteFile(path, f.Src, 0o644))
			} else if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}
	for name, src := range files {
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o644); err != nil {
			return restore, err
		}
	}
	return restore, nil
}

// Close removes the test binary.
func (b *Binary) Close() error { return os.Remove(b.Path) }

// Usable returns the numbers of the variants that can be run, in order.
func (b *Binary) Usable() []int {
	var ids []int
	for i := range b.Variants {
		if b.Dropped[i+1] == nil {
			ids = append(ids, i+1)
		}
	}
	return slices.Clip(ids)
}
