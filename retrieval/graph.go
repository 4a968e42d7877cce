package retrieval

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// graph records which files use names that other files define. It matches uses to definitions by
// name alone: if many files define a name, it carries little weight for each of them.
type graph struct {
	stamp string // identifies the state of the index that the graph was built from
	files []graphFile
	at    map[string]int // by path
}

type graphFile struct {
	path  string
	class worktree.Class
	defs  []graphDef
	out   []edge
	total float64 // sum of the weights in out
}

type graphDef struct {
	Symbol
	uses int // number of lines in other files that refer to it by name
}

type edge struct {
	to     int
	weight float64
}

// maxUses limits the uses of a name that are considered: a name with more is an ordinary word, not
// a link.
const maxUses = 2000

// maxDefs is the maximum number of files that may define a name that links.
const maxDefs = 12

// graph returns the graph of the newest state, which it builds again only if the state has changed.
func (x *Index) graph(ctx context.Context) (*graph, error) {
	select {
	case x.graphing <- true:
		defer func() { <-x.graphing }()
	case <-ctx.Done():
		return nil, fmt.Errorf("retrieval: map: %w", context.Cause(ctx))
	}
	var stamp strings.Builder
	files := 0
	err := x.eachSymbols(ctx, func(seg *codestore.Segment, _ *symbols.Index) error {
		stamp.WriteString(seg.Name())
		stamp.WriteByte(byte(seg.LiveDocs()))
		stamp.WriteByte(byte(seg.LiveDocs() >> 8))
		files += seg.LiveDocs()
		return nil
	})
	if err != nil {
		return nil, err
	}
	if x.lastGraph != nil && x.lastGraph.stamp == stamp.String() {
		return x.lastGraph, nil
	}
	b := graphBuilder{graph: &graph{at: map[string]int{}}, defined: map[string][][2]int{}, used: map[string][]use{}}
	b.tell = func(done int) { x.tell(Progress{Stage: "map", Files: min(done, files), TotalFiles: files}) } // there may be more by now
	if err := x.eachSymbols(ctx, func(seg *codestore.Segment, ix *symbols.Index) error { return b.define(ctx, seg, ix) }); err != nil {
		return nil, err
	}
	if err := x.eachSymbols(ctx, func(seg *codestore.Segment, ix *symbols.Index) error { return b.use(ctx, seg, ix) }); err != nil {
		return nil, err
	}
	b.link(b.defined, b.used)
	b.stamp = stamp.String()
	x.lastGraph = b.graph
	return b.graph, nil
}

// A graphBuilder reads the segments of the symbols twice: first the definitions, then the uses.
type graphBuilder struct {
	*graph
	defined map[string][][2]int // files and definitions, by name
	used    map[string][]use    // by name
	tell    func(files int)
	read    int // number of files whose uses were read
}

type use struct{ file, lines int }

// checkEvery is the number of names or files after which the builder checks whether ctx has ended.
const checkEvery = 256

// define adds the definitions of a segment.
func (b *graphBuilder) define(ctx context.Context, seg *codestore.Segment, ix *symbols.Index) error {
	for doc := range seg.Docs() {
		if doc%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !seg.Live(doc) {
			continue
		}
		d := seg.Doc(doc)
		f := graphFile{path: d.Path, class: d.Class}
		for _, def := range ix.Defs(doc) {
			s := toSymbol(d.Path, &def)
			b.defined[s.Name] = append(b.defined[s.Name], [2]int{len(b.files), len(f.defs)})
			f.defs = append(f.defs, graphDef{Symbol: s})
		}
		b.at[d.Path] = len(b.files)
		b.files = append(b.files, f)
	}
	return nil
}

// use adds the uses in a segment of names that are defined anywhere in the tree.
func (b *graphBuilder) use(ctx context.Context, seg *codestore.Segment, ix *symbols.Index) error {
	fileOf := make([]int, seg.Docs()) // -1 for dead documents
	for doc := range fileOf {
		fileOf[doc] = -1
		if i, ok := b.at[seg.Path(doc)]; ok && seg.Live(doc) {
			fileOf[doc] = i
		}
	}
	n := 0
	var err error
	ix.EachName(func(name []byte, of symbols.Name) bool {
		if n++; n%checkEvery == 0 {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
				return false
			}
			b.tell(b.read + seg.LiveDocs()*n/ix.Names())
		}
		if defs := b.defined[string(name)]; len(defs) == 0 || len(defs) > maxDefs || len(name) < 3 {
			return true
		}
		uses := ix.Uses(of)
		list := b.used[string(name)]
		for i := range uses[:min(len(uses), maxUses)] {
			u := &uses[i]
			if u.Doc >= len(fileOf) || fileOf[u.Doc] < 0 {
				continue
			}
			if n := len(list); n > 0 && list[n-1].file == fileOf[u.Doc] {
				list[n-1].lines++
			} else {
				list = append(list, use{fileOf[u.Doc], 1})
			}
		}
		if len(list) > 0 {
			b.used[string(name)] = list
		}
		return true
	})
	b.read += seg.LiveDocs()
	return err
}

// link adds the edges, and counts the uses of each definition.
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
	// A method's name alone says little (a call of Close may mean any Close). It counts only if the
	// file also uses something else of the defining file, or lies next to it.
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
	for _, name := range slices.Sorted(maps.Keys(used)) { // sorted, so that floating-point sums are always the same
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

// rank computes the PageRank (Page, Brin, Motwani and Winograd, 1998) of the files, with random
// jumps distributed as start.
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
