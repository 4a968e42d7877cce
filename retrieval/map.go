package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/retrieval/internal/ranking"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// MapQuery describes the map to make.
type MapQuery struct {
	Tokens int      // maximum length; 0 means 2,000
	Text   string   // the task: related files come first
	Near   []string // files that the task is already about
}

// bytesPerToken is the minimum number of bytes of code per token in most vocabularies.
const bytesPerToken = 3

// Map outlines the most important definitions of the tree, which are those that most other code
// depends on, within the given number of tokens.
func (x *Index) Map(ctx context.Context, tokens int) (string, error) {
	return x.MapFor(ctx, MapQuery{Tokens: tokens})
}

// MapFor outlines the definitions that matter most for a task, by file:
//
//	cart/cart.go
//	  3-4   type Cart struct
//	  9     func (c *Cart) AddItem(sku string, n int)
//
// Files are ranked by the uses of their definitions, starting from the files that the query is
// about; tests, examples and generated code come last. MapFor waits until symbols are indexed; the
// ranking is kept until the tree changes.
func (x *Index) MapFor(ctx context.Context, q MapQuery) (string, error) {
	g, err := x.graph(ctx)
	if err != nil {
		return "", err
	}
	start, err := x.startOf(ctx, g, &q)
	if err != nil {
		return "", fmt.Errorf("retrieval: map: %w", err)
	}
	tokens := q.Tokens
	if tokens <= 0 {
		tokens = 2000
	}
	return g.outline(g.rank(start), tokens*bytesPerToken), nil
}

// aside are the classes of files that a map shows last.
const aside = worktree.Test | worktree.Example | worktree.Bench | worktree.Generated | worktree.Vendored

// startOf returns the distribution of PageRank's random jumps: a small weight for every file, and
// most of the weight on the files that the query is about.
func (x *Index) startOf(ctx context.Context, g *graph, q *MapQuery) ([]float64, error) {
	start := make([]float64, len(g.files))
	for i, f := range g.files {
		if start[i] = 1; f.class.Any(aside) {
			start[i] = 0.05
		}
	}
	about := func(path string, weight float64) {
		if i, ok := g.at[path]; ok {
			start[i] += weight * float64(len(g.files))
		}
	}
	for _, n := range q.Near {
		about(n, 1)
	}
	if strings.TrimSpace(q.Text) == "" {
		return start, nil
	}
	if err := x.words.wait(ctx); err != nil {
		return nil, err
	}
	return start, x.rebuilding(ctx, func() error {
		s, err := x.snapshot()
		if err != nil {
			return err
		}
		defer s.close()
		r := ranking.Rank(ranking.Parse(q.Text), s.segs, x.log.Load(), ranking.Learned(), nil)
		for i := range r.Files[:min(len(r.Files), 15)] {
			about(r.Path(&r.Files[i]), 4*math.Exp(r.Files[i].Score-r.Files[0].Score))
		}
		return nil
	})
}

// A mapLine is a line of a map.
type mapLine struct {
	file  int
	def   int
	value float64
}

// outline chooses the most valuable definitions that fit into room bytes, and writes them by file,
// the most important file first.
func (g *graph) outline(rank []float64, room int) string {
	var all []mapLine
	for i, f := range g.files {
		if f.class.Any(aside) {
			rank[i] *= 0.05
		}
		for j := range f.defs {
			all = append(all, mapLine{i, j, rank[i] * worth(&f.defs[j])})
		}
	}
	slices.SortFunc(all, func(a, b mapLine) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(g.files[a.file].path, g.files[b.file].path), cmp.Compare(a.def, b.def))
	})
	chosen := map[int][]int{}
	var order []int
	for _, l := range all {
		cost := len(mapText(&g.files[l.file].defs[l.def]))
		if chosen[l.file] == nil {
			cost += len(g.files[l.file].path) + 1
		}
		if cost > room {
			if room < 40 {
				break
			}
			continue
		}
		room -= cost
		if chosen[l.file] == nil {
			order = append(order, l.file)
		}
		chosen[l.file] = append(chosen[l.file], l.def)
	}
	var b strings.Builder
	for _, i := range order {
		b.WriteString(g.files[i].path + "\n")
		slices.Sort(chosen[i])
		for _, j := range chosen[i] {
			b.WriteString(mapText(&g.files[i].defs[j]))
		}
	}
	return b.String()
}

// worth rates how informative a definition is about its file.
func worth(d *graphDef) float64 {
	w := 1 + math.Log2(1+float64(d.uses))
	if !d.Exported {
		w *= 0.4
	}
	switch d.Kind {
	case "const", "var", "property", "decl", "heading":
		w *= 0.3
	case "class", "struct", "interface", "trait", "type":
		w *= 1.5
	}
	return w
}

// maxSignature is the length to which a map cuts signatures.
const maxSignature = 120

func mapText(d *graphDef) string {
	lines := fmt.Sprint(d.Line)
	if d.EndLine > d.Line {
		lines = fmt.Sprintf("%d-%d", d.Line, d.EndLine)
	}
	sig := strings.ToValidUTF8(d.Signature, "")
	if sig == "" {
		sig = d.Kind + " " + d.Name
	}
	if len(sig) > maxSignature {
		cut := maxSignature
		for cut > 0 && sig[cut]&0xC0 == 0x80 {
			cut--
		}
		sig = sig[:cut] + "…"
	}
	depth := strings.Count(d.Container, ".")
	if d.Container != "" {
		depth++
	}
	return fmt.Sprintf("  %-9s %s%s\n", lines, strings.Repeat("  ", min(depth, 4)), sig)
}
