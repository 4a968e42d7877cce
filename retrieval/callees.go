package retrieval

import (
	"context"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// Callee is something that a definition calls or uses as a type.
type Callee struct {
	Name  string
	Kind  string   // "call" or "type"
	Path  string   // file of the definition that uses it
	Lines []int    // lines of the uses
	In    string   // full name of the definition that uses it
	Defs  []Symbol // definitions of that name in the tree; none if it is defined elsewhere
}

// Callees finds the calls and the types in the definitions of a name (as for [Index.Definitions]),
// in the order of their lines. Their files are read in their current state, and uses are matched to
// definitions by name alone. [Index.References] works in the other direction.
func (x *Index) Callees(ctx context.Context, name string) ([]Callee, error) {
	defs, err := x.Definitions(ctx, name)
	if err != nil {
		return nil, err
	}
	var out []Callee
	for i, d := range defs {
		if i > 0 && defs[i-1].Path == d.Path {
			continue // all definitions of a file are handled at once
		}
		out = append(out, x.calleesIn(ctx, defs, d.Path)...)
	}
	meant := map[string][]Symbol{}
	for i := range out {
		c := &out[i]
		found, known := meant[c.Name]
		if !known {
			if found, err = x.Definitions(ctx, c.Name); err != nil {
				return nil, err
			}
			found = slices.DeleteFunc(found, func(s Symbol) bool { return s.Name != c.Name })
			meant[c.Name] = found
		}
		c.Defs = found
	}
	return out, nil
}

// calleesIn reads one file and finds what the definitions in that file use.
func (x *Index) calleesIn(ctx context.Context, defs []Symbol, path string) (out []Callee) {
	t := x.readText(ctx, codestore.Doc{File: worktree.File{Path: path}})
	if t.err != nil {
		return nil
	}
	file, err := x.parser.Of(path, t.content)
	if err != nil {
		return nil
	}
	for i := range file.Defs {
		d := &file.Defs[i]
		if !slices.ContainsFunc(defs, func(s Symbol) bool { return s.Path == path && s.FullName() == d.FullName() }) {
			continue
		}
		out = append(out, callees(path, d, file.Within(d))...)
	}
	return out
}

// callees groups the uses by name.
func callees(path string, d *symbols.Def, refs []symbols.Ref) (out []Callee) {
	at := map[string]int{}
	for _, r := range refs {
		i, ok := at[r.Name]
		if !ok {
			i = len(out)
			at[r.Name] = i
			out = append(out, Callee{Name: strings.Clone(r.Name), Kind: r.Kind, Path: path, In: d.FullName()})
		}
		out[i].Lines = append(out[i].Lines, r.Line)
	}
	return out
}
