package coding

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// byName is the caveat about uses.
const byName = "uses are found by the name alone, whatever has it"

// callers lists the places below t where name is called or used as a type.
func (w *Workspace) callers(ctx context.Context, t target, name, last string) (string, error) {
	type line struct {
		rel, in, text string
		at            int
	}
	var found []line
	err := w.filesFor(ctx, t, []string{last}, w.indexFeatures().Using, func(f parsedFile) bool {
		var lines []string
		any := false
		for _, r := range f.Refs {
			if r.Name != last {
				continue
			}
			if any = true; lines == nil {
				lines = strings.Split(f.text, "\n")
			}
			l := line{rel: f.rel, at: r.Line}
			if d := symbols.Innermost(f.Defs, r.Line); d != nil {
				l.in = d.FullName()
			}
			if r.Line <= len(lines) {
				l.text = strings.TrimSpace(lines[r.Line-1])
			}
			found = append(found, l)
		}
		return any
	})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return fmt.Sprintf("No call of %q and no use as a type found below %s; use grep for other uses.", name, show.Path(t.rel)), nil
	}
	slices.SortFunc(found, func(a, b line) int { return cmp.Or(cmp.Compare(a.rel, b.rel), cmp.Compare(a.at, b.at)) })
	found = slices.Compact(found)
	var b strings.Builder
	for i, l := range found {
		if i == w.cfg.Limits.Results {
			fmt.Fprintf(&b, "(%d more uses are not shown; give path to narrow the search)\n", len(found)-i)
			break
		}
		fmt.Fprintf(&b, "%s:%d\t%s\t%s\n", show.Path(l.rel), l.at, cmp.Or(l.in, "-"), show.Line(l.text, 200))
	}
	return joinLines(b.String(), notes(byName)), nil
}

// maxPlaces is the maximum number of declarations listed per callee.
const maxPlaces = 3

// callees lists what the declarations of name call and which types they use, with the places where
// those are declared.
func (w *Workspace) callees(ctx context.Context, t target, name, last string) (string, error) {
	found, err := w.declarations(ctx, t, name, last)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return notDeclared(name, t.rel), nil
	}
	var names []string
	for _, f := range found {
		for _, r := range f.uses {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	declared, err := w.placesOf(ctx, slices.Compact(names))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, f := range found {
		if b.Len() > w.cfg.Limits.ReadBytes {
			fmt.Fprintf(&b, "(%d more declarations are not shown; give path to narrow the search)\n", len(found)-i)
			break
		}
		f.write(&b)
		writeCallees(&b, f.uses, declared)
	}
	return joinLines(b.String(), notes(byName)), nil
}

// placesOf returns the declarations of names in the workspace.
func (w *Workspace) placesOf(ctx context.Context, names []string) (map[string][]foundSymbol, error) {
	out := map[string][]foundSymbol{}
	if len(names) == 0 {
		return out, nil
	}
	root, err := viewing(ctx, w, ".", opened.found)
	if err != nil {
		return nil, err
	}
	err = w.filesFor(ctx, root, names, w.indexFeatures().Declaring, func(f parsedFile) bool {
		any := false
		for _, d := range f.Defs {
			if _, ok := slices.BinarySearch(names, d.Name); ok && d.Kind != symbols.Heading { // nobody calls a heading of a text
				out[d.Name] = append(out[d.Name], foundSymbol{Def: d, rel: f.rel, exact: f.Exact})
				any = true
			}
		}
		return any
	})
	for _, places := range out {
		sortFound(places)
	}
	return out, err
}

// writeCallees writes each name once, at the line of its first use.
func writeCallees(b *strings.Builder, uses []symbols.Ref, declared map[string][]foundSymbol) {
	seen := map[string]bool{}
	var foreign []string
	for _, r := range uses {
		if seen[r.Name] {
			continue
		}
		seen[r.Name] = true
		places := declared[r.Name]
		if len(places) == 0 {
			foreign = append(foreign, r.Name)
		}
		for i, p := range places {
			if i == maxPlaces {
				fmt.Fprintf(b, "  %d\t%s\t(%d more declarations)\n", r.Line, r.Name, len(places)-i)
				break
			}
			fmt.Fprintf(b, "  %d\t%s\t", r.Line, r.Name)
			p.write(b)
		}
	}
	if len(foreign) > 0 {
		fmt.Fprintf(b, "  declared outside of the workspace: %s\n", show.Line(strings.Join(foreign, ", "), 400))
	}
}
