package mutate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// apply returns the source of a file with the mutant's line in place.
func apply(src []byte, fset *token.FileSet, fn *ast.FuncDecl, m Mutant) (mutated []byte, original string) {
	lines := strings.Split(string(src), "\n")
	i := fset.PositionFor(fn.Pos(), false).Line + m.Line - 2
	original = strings.TrimSpace(lines[i])
	indent := lines[i][:len(lines[i])-len(strings.TrimLeft(lines[i], " \t"))]
	lines[i] = indent + m.Text
	return []byte(strings.Join(lines, "\n")), original
}

// TestInverse breaks functions of the standard library and looks for the original line among the mutants of the broken one.
func TestInverse(t *testing.T) {
	l := newLoader()
	rng := rand.New(rand.NewPCG(1, 2))
	total, missed, wrong, uncompiled := 0, map[string]int{}, map[string]int{}, 0
	tried := map[string]int{}
	packages := libraries
	if testing.Short() {
		packages = libraries[:4]
	}
	for _, path := range packages {
		p := l.load(t, path)
		mutator := New(p.info)
		for i, file := range p.files {
			for _, d := range file.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || rng.IntN(3) > 0 {
					continue
				}
				src := p.src[file]
				for _, m := range Pick(rng, mutator.All(src, fn, p.fset), 3) {
					mutated, original := apply(src, p.fset, fn, m)
					name := p.fset.File(file.Pos()).Name()
					fset := l.fset
					f, err := parser.ParseFile(fset, name, mutated, parser.SkipObjectResolution)
					if err != nil {
						t.Fatalf("%s: %s %s: %q -> %q: %v", path, fn.Name.Name, m.Kind, original, m.Text, err)
					}
					files := slices.Clone(p.files)
					files[i] = f
					info := newInfo()
					errors := 0
					config := types.Config{Importer: l.imp, Error: func(err error) {
						errors++
					}}
					config.Check(path, fset, files, info)
					tried[m.Kind]++
					if errors > 0 {
						uncompiled++
						wrong[m.Kind]++
						if os.Getenv("MUTATE_DEBUG") != "" {
							t.Logf("COMPILE %s %s: %s: %q -> %q", filepath.Base(name), fn.Name.Name, m.Kind, original, m.Text)
						}
						continue
					}
					total++
					if !contains(All(mutated, find(f, fn), fset, info), m.Line, original) {
						missed[m.Kind]++
						if os.Getenv("MUTATE_DEBUG") != "" {
							t.Logf("MISSED %s %s: %s: %q -> %q", filepath.Base(name), fn.Name.Name, m.Kind, original, m.Text)
						}
					}
				}
			}
		}
	}
	n := 0
	for _, k := range missed {
		n += k
	}
	t.Logf("%d mutants, %d not mended, %d did not compile", total, n, uncompiled)
	t.Log("tried", tried, "\nnot mended", fmt.Sprint(missed), "\nnot compiled", fmt.Sprint(wrong))
	if float64(n) > 0.01*float64(total) {
		t.Errorf("the repair of %d of %d mutants is not among the mutants of the broken function: %v", n, total, missed)
	}
}

func contains(ms []Mutant, line int, text string) bool {
	return slices.ContainsFunc(ms, func(m Mutant) bool { return m.Line == line && m.Text == text })
}

// find returns the function of f that was declared where fn was.
func find(f *ast.File, fn *ast.FuncDecl) *ast.FuncDecl {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.FuncDecl); ok && g.Name.Name == fn.Name.Name && receiver(g) == receiver(fn) {
			return g
		}
	}
	return nil
}

func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	return types.ExprString(fn.Recv.List[0].Type)
}
