//go:build cgo && !luthier_nosymbols

package treesitter

import (
	"slices"

	"github.com/luthier-dev/luthier/internal/symbols"
)

// repair adds from the token reader's result what the grammar missed in a file with errors:
// definitions on lines for which the grammar found none, and references in parts that it could not
// read.
func (f *file) repair(r *symbols.Result, plain symbols.Result) {
	have := map[int]bool{}
	for _, d := range r.Defs {
		have[d.Line] = true
	}
	for _, d := range plain.Defs {
		if !have[d.Line] {
			r.Defs = append(r.Defs, d)
		}
	}
	slices.SortStableFunc(r.Defs, func(a, b symbols.Def) int { return a.StartLine - b.StartLine })
	if len(f.errors) == 0 {
		return
	}
	bad := f.badLines()
	r.Refs = slices.DeleteFunc(r.Refs, func(x symbols.Ref) bool { return bad[x.Line] })
	for _, x := range plain.Refs {
		if bad[x.Line] {
			r.Refs = append(r.Refs, x)
		}
	}
	slices.SortStableFunc(r.Refs, func(a, b symbols.Ref) int { return a.Line - b.Line })
}

// badLines reports for each line, from 1, whether the grammar could not read it.
func (f *file) badLines() []bool {
	begin := make([]int, len(f.starts)+2) // number of errors that begin on this line, minus those that ended before it
	for _, e := range f.errors {
		begin[f.line(e.from)]++
		begin[f.line(e.to)+1]--
	}
	bad := make([]bool, len(f.starts)+2)
	open := 0
	for l := range bad {
		open += begin[l]
		bad[l] = open > 0
	}
	return bad
}
