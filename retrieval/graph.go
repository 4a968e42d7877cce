package retrieval

import (
	"context"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/codestore"
	"github.com/luthier-dev/luthier/internal/source"
	"github.com/luthier-dev/luthier/internal/symbols"
)

// graph says which files use what other files define. It is made from names alone: a
// name that many files define tells little of each.
type graph struct {
	stamp string // of the state it was made from
	files []graphFile
	at    map[string]int // by path
}

type graphFile struct {
	path  string
	class source.Class
	defs  []graphDef
	out   []edge
	total float64 // weight of out
}

type graphDef struct {
	Symbol
	uses int // lines that refer to it by name, in other files
}

type edge struct {
	to     int
	weight float64
}

// maxUses bounds the uses of one name that are looked at: more make it a word, not a link.
const maxUses = 2000

// maxDefs is how many files may define a name that links.
const maxDefs = 12

// graph returns the graph of the newest state, made anew only when that has changed.
func (x *Index) graph(ctx context.Context) (*graph, error) {
	x.graphMu.Lock()
	defer x.graphMu.Unlock()
	var stamp strings.Builder
	err := x.eachSymbols(ctx, func(seg *codestore.Segment, _ *symbols.Index) error {
		stamp.WriteString(seg.Name())
		stamp.WriteByte(byte(seg.LiveDocs()))
		stamp.WriteByte(byte(seg.LiveDocs() >> 8))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if x.lastGraph != nil && x.lastGraph.stamp == stamp.String() {
		return x.lastGraph, nil
	}
	g, err := x.newGraph(ctx)
	if err != nil {
		return nil, err
	}
	g.stamp = stamp.String()
	x.lastGraph = g
	return g, nil
}

type use struct{ file, lines int }

func (x *Index) newGraph(ctx context.Context) (*graph, error) {
	g := &graph{at: map[string]int{}}
	defined := map[string][][2]int{} // file and definition, by name
	err := x.eachSymbols(ctx, func(seg *codestore.Segment, ix *symbols.Index) error {
		for doc := range seg.Docs() {
			if !seg.Live(doc) {
				continue
			}
			d := seg.Doc(doc)
			f := graphFile{path: d.Path, class: d.Class}
			for _, def := range ix.Defs(doc) {
				s := toSymbol(d.Path, &def)
				defined[s.Name] = append(defined[s.Name], [2]int{len(g.files), len(f.defs)})
				f.defs = append(f.defs, graphDef{Symbol: s})
			}
			g.at[d.Path] = len(g.files)
			g.files = append(g.files, f)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	used := map[string][]use{}
	err = x.eachSymbols(ctx, func(seg *codestore.Segment, ix *symbols.Index) error {
		for name, defs := range defined {
			if len(defs) > maxDefs || len(name) < 3 {
				continue
			}
			uses := ix.Refs(name)
			for i := range uses[:min(len(uses), maxUses)] {
				u := &uses[i]
				if u.Doc >= seg.Docs() || !seg.Live(u.Doc) {
					continue
				}
				file := g.at[seg.Path(u.Doc)]
				if l := used[name]; len(l) > 0 && l[len(l)-1].file == file {
					l[len(l)-1].lines++
				} else {
					used[name] = append(l, use{file, 1})
				}
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	g.link(defined, used)
	return g, nil
}

// link makes the edges, and counts the uses of each definition.
func (g *graph) link(defined map[string][][2]int, used map[string][]use) {
	weights := make([]map[int]float64, len(g.files))
	g.eachUse(defined, used, func(from, to int, d *graphDef, lines int, weight float64) {
		if d.Container != "" {
			return
		}
		if weights[from] == nil {
			weights[from] = map[int]float64{}
		}
		d.uses += lines
		weights[from][to] += weight
	})
	// A method's name alone says little (who calls Close means which one?): it counts
	// where the file also uses something else of that file, or lies beside it.
	g.eachUse(defined, used, func(from, to int, d *graphDef, lines int, weight float64) {
		if d.Container == "" || weights[from][to] == 0 && path.Dir(g.files[from].path) != path.Dir(g.files[to].path) {
			return
		}
		d.uses += lines
		if weights[from] == nil {
			weights[from] = map[int]float64{}
		}
		weights[from][to] += weight
	})
	for i, w := range weights {
		f := &g.files[i]
		for to, weight := range w {
			f.out = append(f.out, edge{to, weight})
		}
		slices.SortFunc(f.out, func(a, b edge) int { return a.to - b.to })
		for _, e := range f.out {
			f.total += e.weight
		}
	}
}

// eachUse calls fn for each file that uses a name which another file defines.
func (g *graph) eachUse(defined map[string][][2]int, used map[string][]use, fn func(from, to int, d *graphDef, lines int, weight float64)) {
	for _, name := range slices.Sorted(maps.Keys(used)) { // in order, so that sums are the same each time
		uses, defs := used[name], defined[name]
		for _, u := range uses {
			for _, d := range defs {
				if d[0] != u.file {
					fn(u.file, d[0], &g.files[d[0]].defs[d[1]], u.lines, math.Sqrt(float64(u.lines))/float64(len(defs))/math.Log2(2+float64(len(uses))))
				}
			}
		}
	}
}

// rank is the PageRank (Page, Brin, Motwani and Winograd, 1998) of the files, with
// jumps to where start says.
func (g *graph) rank(start []float64) []float64 {
	const follow, rounds = 0.8, 25
	sum := 0.0
	for _, s := range start {
		sum += s
	}
	now := make([]float64, len(start))
	for i := range now {
		now[i] = start[i] / max(sum, 1e-9)
	}
	for range rounds {
		next := make([]float64, len(now))
		lost := 0.0
		for i, f := range g.files {
			if f.total == 0 {
				lost += now[i]
				continue
			}
			for _, e := range f.out {
				next[e.to] += follow * now[i] * e.weight / f.total
			}
		}
		for i := range next {
			next[i] += (1 - follow + follow*lost) * start[i] / max(sum, 1e-9)
		}
		now = next
	}
	return now
}
