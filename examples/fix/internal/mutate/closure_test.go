package mutate

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// apply returns the source of a file with the mutant's line applied, and the original line.
func apply(src []byte, fset *token.FileSet, fn *ast.FuncDecl, m Mutant) (mutated []byte, original string) {
	file := fset.File(fn.Pos())
	start := file.Offset(file.LineStart(fset.PositionFor(fn.Pos(), false).Line + m.Line - 1))
	line, _, _ := bytes.Cut(src[start:], []byte("\n"))
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	return slices.Concat(src[:start], indent, []byte(m.Text), src[start+len(line):]), string(bytes.TrimSpace(line))
}

// TestInverse breaks functions of the standard library and checks that the original line is among
// the mutants of the broken function.
//
// Evidence: training · Each of 45 kinds of one-line faults can be undone by one
func TestInverse(t *testing.T) {
	sample := inverse{loader: shared(), tried: map[string]int{}, missed: map[string]int{}, refused: map[string]int{}}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, path := range libraries[:tier.Pick(4, len(libraries), len(libraries))] {
		p := sample.load(t, path)
		mutator := New(p.info)
		for i, file := range p.files {
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && rng.IntN(8) == 0 {
					for _, m := range Pick(rng, mutator.All(p.src[file], fn, p.fset), 3) {
						sample.repaired(t, p, i, fn, m)
					}
				}
			}
		}
	}
	t.Log("tried", sample.tried, "\nnot mended", sample.missed, "\nnot compiled", sample.refused)
	if all, missed := sum(sample.tried), sum(sample.missed); missed*100 > all {
		t.Errorf("the repair of %d of %d mutants is not among the mutants of the broken function: %v", missed, all, sample.missed)
	}
	if all, refused := sum(sample.tried), sum(sample.refused); refused*50 > all {
		t.Errorf("%d of %d mutants do not compile: %v", refused, all, sample.refused)
	}
}

// inverse counts, for each kind, all mutants, the mutants whose own mutants lack the original line,
// and the mutants that do not compile.
type inverse struct {
	*loader
	tried, missed, refused map[string]int
}

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// repaired applies a mutant to a function of a package's i-th file and looks for the mutant that
// reverts it.
func (s *inverse) repaired(t *testing.T, p *pkg, i int, fn *ast.FuncDecl, m Mutant) {
	mutated, original := apply(p.src[p.files[i]], p.fset, fn, m)
	s.tried[m.Kind]++
	f, err := parser.ParseFile(s.fset, p.fset.File(fn.Pos()).Name(), mutated, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%s: %q -> %+v: %v", fn.Name.Name, original, m, err)
	}
	files := slices.Clone(p.bare)
	files[i] = f
	info := newInfo()
	refused := false
	config := types.Config{Importer: s.imp, Error: func(err error) {
		// The other files have no function bodies here, so some of their imports are unused.
		e, ok := errors.AsType[types.Error](err)
		refused = refused || !ok || f.FileStart <= e.Pos && e.Pos <= f.FileEnd
	}}
	if _, _ = config.Check(p.pkg.Path(), s.fset, files, info); refused {
		s.refused[m.Kind]++
		return
	}
	if !slices.ContainsFunc(All(mutated, find(f, fn), s.fset, info), func(back Mutant) bool { return back.Line == m.Line && back.Text == original }) {
		s.missed[m.Kind]++
		t.Logf("not mended: %s: %q -> %+v", fn.Name.Name, original, m)
	}
}

// find returns the function of f that is declared at the position of fn.
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
