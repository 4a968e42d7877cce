package measure

import (
	"go/ast"
	"math/rand/v2"

	"github.com/luthier-dev/luthier/examples/fix/internal/mutate"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// enumerate returns the first edits of the enumerator: all one-line slips of the candidates in
// random order, without those that do not compile. An attempt with line 0 is an edit of a function
// other than the broken one.
func enumerate(t *task, p *verify.Package, c *repair.Checker, function bool, edits int, seed uint64) ([]attempt, error) {
	type slip struct {
		r repair.Ranked
		m mutate.Mutant
	}
	var slips []slip
	for _, r := range t.candidates(function) {
		src, err := t.source(p, r.File)
		if err != nil {
			return nil, err
		}
		fset, file, info, err := c.Types(r.File, src)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fset.Position(fn.Pos()).Line != r.Start {
				continue
			}
			for _, m := range mutate.All(src, fn, fset, info) {
				slips = append(slips, slip{r, m})
			}
		}
	}
	rng := rand.New(rand.NewPCG(seed, uint64(t.Start)))
	rng.Shuffle(len(slips), func(i, j int) { slips[i], slips[j] = slips[j], slips[i] })
	var list []attempt
	for _, s := range slips {
		if len(list) == edits {
			break
		}
		src, err := t.source(p, s.r.File)
		if err != nil {
			return nil, err
		}
		after, err := repair.Apply(src, s.r.Function, s.m.Line, s.m.Text)
		if err != nil || c.Check(s.r.File, after) != nil {
			continue
		}
		a := attempt{}
		if t.is(s.r.Function) {
			a = attempt{s.m.Line, s.m.Text}
		}
		list = append(list, a)
	}
	return list, nil
}
