package toolformat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
	"github.com/luthier-dev/luthier/internal/tier"
)

// TestOrders checks that a grammar accepts many arguments in any order, each once and the required
// ones always, and that an exact grammar accepts the order of the schema alone.
func TestOrders(t *testing.T) {
	tier.Normal(t)
	for _, n := range []int{7, 64, 65, 80} {
		var props, required []string
		for i := range n {
			props = append(props, fmt.Sprintf(`"p%d":{"type":"integer"}`, i))
			if i%20 == 1 {
				required = append(required, fmt.Sprintf(`"p%d"`, i))
			}
		}
		tools := []Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + strings.Join(required, ",") + `]}`)}}
		for _, format := range []string{"qwen3-coder-xml", "lfm2-pythonic", "gemma4", "hermes-json"} {
			orders(t, Lookup(format), tools, n)
		}
	}
}

func orders(t *testing.T, f *Format, tools []Tool, n int) {
	vocab, _ := byteVocab(nil)
	var grammars [2]func(order []int) bool
	for i := range grammars {
		g, err := f.Grammar(tools, Choice{Mode: Required, Exact: i == 1})
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := g.Compile(vocab, nil)
		if err != nil {
			t.Fatal(err)
		}
		grammars[i] = func(order []int) bool {
			args := jsontree.NewObject()
			args.Members = nil
			for _, k := range order {
				args.Members = append(args.Members, jsontree.Member{Key: fmt.Sprintf("p%d", k), Value: jsontree.NewInt(int64(k))})
			}
			_, ok := accepts(compiled.Fork(), nil, f.Write([]Call{{Name: "f", Args: args.JSON()}}))
			return ok
		}
	}
	r := rand.New(rand.NewPCG(uint64(n), 5))
	var inOrder, mixed []int
	for i := range n {
		if i%20 == 1 || r.IntN(8) == 0 {
			inOrder = append(inOrder, i)
		}
	}
	for _, i := range r.Perm(len(inOrder)) {
		mixed = append(mixed, inOrder[i])
	}
	twice := append([]int{inOrder[0]}, inOrder...)
	swapped := append([]int{n - 1, 1}, inOrder...)
	swapped = append(swapped[:2], slices.DeleteFunc(slices.Clone(inOrder), func(k int) bool { return k == 1 || k == n-1 })...)
	without := slices.DeleteFunc(slices.Clone(inOrder), func(k int) bool { return k == 1 })
	any, exact := grammars[0], grammars[1]
	json := f.JSONArguments() // the order of JSON is free
	for name, c := range map[string]struct {
		order      []int
		any, exact bool
	}{
		"order of the schema": {inOrder, true, true}, "another order": {mixed, true, json}, "twice": {twice, false, false},
		"last first": {swapped, true, json}, "without a required one": {without, false, false},
	} {
		if got := any(c.order); got != c.any {
			t.Errorf("%s: %d arguments: %s: accepted is %v", f.Name, n, name, got)
		}
		if got := exact(c.order); got != c.exact {
			t.Errorf("%s: %d arguments, exact: %s: accepted is %v", f.Name, n, name, got)
		}
	}
}
