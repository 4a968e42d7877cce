package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"math/rand/v2"
	"slices"
)

// Pick draws up to n different mutants so that kinds are balanced: first a kind, then a mutant of
// it. Kinds that are rare in a function are so drawn as often as the ones it is full of.
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

// Enumerate returns every mutant of a function in an order drawn from seed. On a function with a
// one-line bug this is the plain way of repair that a model is compared with: try all one-line
// slips backwards, in no particular order.
func Enumerate(seed uint64, src []byte, fn *ast.FuncDecl, fset *token.FileSet, info *types.Info) []Mutant {
	mutants := All(src, fn, fset, info)
	rng := rand.New(rand.NewPCG(seed, uint64(len(src))))
	rng.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	return mutants
}
