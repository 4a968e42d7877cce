package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"math/rand/v2"
	"slices"
)

// Pick draws up to n different mutants. It draws first a kind and then a mutant of that kind, so
// that kinds that are rare in a function are drawn as often as frequent ones.
func Pick(rng *rand.Rand, mutants []Mutant, n int) []Mutant {
	byKind := map[string][]Mutant{}
	var kinds []string
	for _, m := range mutants {
		if byKind[m.Kind] == nil {
			kinds = append(kinds, m.Kind)
		}
		byKind[m.Kind] = append(byKind[m.Kind], m)
	}
	var picked []Mutant
	for len(picked) < n && len(kinds) > 0 {
		k := rng.IntN(len(kinds))
		list := byKind[kinds[k]]
		i := rng.IntN(len(list))
		picked = append(picked, list[i])
		list[i] = list[len(list)-1]
		byKind[kinds[k]] = list[:len(list)-1]
		if len(list) == 1 {
			kinds = slices.Delete(kinds, k, k+1)
		}
	}
	return picked
}

// Enumerate returns every mutant of a function in an order drawn from seed. For a function with a
// one-line bug, this is the baseline for a model: trying to reverse every one-line slip, in random
// order.
func Enumerate(seed uint64, src []byte, fn *ast.FuncDecl, fset *token.FileSet, info *types.Info) []Mutant {
	mutants := All(src, fn, fset, info)
	rng := rand.New(rand.NewPCG(seed, uint64(len(src))))
	rng.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	return mutants
}
