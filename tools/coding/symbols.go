package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

type symbolsIn struct {
	Path string `json:"path,omitempty" jsonschema_description:"file to outline; with name, file or directory to look in"`
	Name string `json:"name,omitempty" jsonschema_description:"name whose declarations to find, such as Server or Server.Shutdown"`
	Find string `json:"find,omitempty" jsonschema:"enum=declarations,enum=callers,enum=callees" jsonschema_description:"what to find of name: its declarations (default), who calls it or uses it as a type, or what it calls and uses"`
}

// The kinds of results that the tool finds for a name.
const (
	findDeclarations = "declarations"
	findCallers      = "callers"
	findCallees      = "callees"
)

func (w *Workspace) symbolsTool() (agent.Tool, error) {
	return newTool("symbols", w.symbols, toolParts[symbolsIn]{
		any: agent.ReadOnly("."),
		effects: func(in symbolsIn) agent.Effects {
			if in.Find == findCallees {
				return agent.ReadOnly(".") // a function that is called may be declared anywhere
			}
			return effectsIn(w, orRoot(in.Path), opened.readEffects)
		},
		describe: titled(func(in symbolsIn) string {
			if in.Name != "" {
				return "find " + cmp.Or(in.Find, findDeclarations) + " of " + in.Name
			}
			return "outline " + show.Path(in.Path)
		}),
	})
}

func (w *Workspace) symbols(ctx context.Context, in symbolsIn) (string, error) {
	if in.Name == "" && in.Path == "" {
		return "", errors.New("give path for the outline of a file, or name to find its declarations")
	}
	last := lastName(in.Name)
	if in.Name != "" && last == "" {
		return "", fmt.Errorf("%q is not a name", in.Name)
	}
	t, err := viewing(ctx, w, orRoot(in.Path), opened.found)
	if err != nil {
		return "", err
	}
	switch {
	case in.Find != "" && in.Name == "":
		return "", fmt.Errorf("give name, too: the %s of what?", in.Find)
	case in.Find == findCallers:
		return w.callers(ctx, t, in.Name, last)
	case in.Find == findCallees:
		return w.callees(ctx, t, in.Name, last)
	case in.Name != "":
		return w.findSymbol(ctx, t, in.Name, last)
	}
	if t.info.IsDir() {
		return "", fmt.Errorf("%s is a directory; give a file, or a name to look for in it", show.Path(t.rel))
	}
	return viewing(ctx, w, t, opened.outline)
}

// found resolves the path of something that must exist.
func (w opened) found(_ context.Context, p string) (target, error) {
	t, err := w.resolve(p)
	if err == nil && t.info == nil {
		err = w.missing(t.rel)
	}
	return t, err
}

const approximate = "found by the shape of lines, so that unusual code may be missing"

func (w opened) outline(_ context.Context, t target) (string, error) {
	cur, err := w.currentAt(t)
	if err != nil {
		return "", err
	}
	found, err := symbols.Of(t.rel, []byte(cur.text))
	if err != nil {
		return "", noOutline(t.rel, err)
	}
	note := ""
	if !found.Exact {
		note = approximate
	}
	if len(found.Defs) == 0 {
		return joinLines(fmt.Sprintf("%s declares nothing (%d lines).", show.Path(t.rel), countLines(cur.text)), notes(note)), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d lines)\n", show.Path(t.rel), countLines(cur.text))
	for i, d := range found.Defs {
		if b.Len() > w.cfg.Limits.ReadBytes {
			note = strings.TrimPrefix(note+fmt.Sprintf("; %d more declarations are not shown", len(found.Defs)-i), "; ")
			break
		}
		fmt.Fprintf(&b, "%s%s\t%s\n", strings.Repeat("  ", min(d.Depth, maxIndent)), defLines(d), show.Line(d.Signature, 200))
	}
	return joinLines(b.String(), notes(note)), nil
}

// maxIndent is the maximum indentation depth of an outline. Deeper code is machine-generated.
const maxIndent = 20

func noOutline(rel string, err error) error {
	if errors.Is(err, symbols.ErrUnknown) {
		return fmt.Errorf("%s: no outline for files ending in %q; use grep for its declarations", show.Path(rel), path.Ext(rel))
	}
	return fmt.Errorf("%s: %w; use grep for its declarations", show.Path(rel), err)
}

// defLines returns the line range of a whole declaration.
func defLines(d symbols.Def) string {
	if d.EndLine > d.StartLine {
		return fmt.Sprintf("%d-%d", d.StartLine, d.EndLine)
	}
	return fmt.Sprint(d.StartLine)
}

type foundSymbol struct {
	symbols.Def
	rel   string
	exact bool
	uses  []symbols.Ref
}

func (f *foundSymbol) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s:%s\t%s\n", show.Path(f.rel), defLines(f.Def), show.Line(f.Signature, 200))
}

func sortFound(found []foundSymbol) {
	slices.SortFunc(found, func(a, b foundSymbol) int {
		return cmp.Or(cmp.Compare(a.rel, b.rel), cmp.Compare(a.StartLine, b.StartLine))
	})
}

func notDeclared(name, rel string) string {
	return fmt.Sprintf("No declaration of %q found below %s; it may come from a dependency or an ignored file: use grep to see where it is used.", name, show.Path(rel))
}

// findSymbol looks for declarations of name in all files below t in a known language.
func (w *Workspace) findSymbol(ctx context.Context, t target, name, last string) (string, error) {
	found, err := w.declarations(ctx, t, name, last)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return notDeclared(name, t.rel), nil
	}
	var b strings.Builder
	loose := false
	for i := range found {
		f := &found[i]
		if i == w.cfg.Limits.Results {
			fmt.Fprintf(&b, "(%d more declarations are not shown; give path to narrow the search)\n", len(found)-i)
			break
		}
		f.write(&b)
		loose = loose || !f.exact
	}
	note := ""
	if loose {
		note = "other languages than Go are " + approximate
	}
	return joinLines(b.String(), notes(note)), nil
}

// declarations returns the declarations of name below t, in order.
func (w *Workspace) declarations(ctx context.Context, t target, name, last string) (found []foundSymbol, err error) {
	err = w.filesFor(ctx, t, []string{last}, w.indexFeatures().Declaring, func(f parsedFile) bool {
		any := false
		for i := range f.Defs {
			if d := &f.Defs[i]; isCalled(*d, name, last) {
				found = append(found, foundSymbol{*d, f.rel, f.Exact, f.Within(d)})
				any = true
			}
		}
		return any
	})
	sortFound(found)
	return found, err
}

// isCalled reports whether a model may refer to d as name: by its full name, or by the last part of
// it. A qualifier that the declaration does not have (such as a package) is ignored.
func isCalled(d symbols.Def, name, last string) bool {
	if d.Name != last {
		return false
	}
	if name == last || d.Container == "" {
		return true
	}
	norm := strings.NewReplacer("::", ".", "#", ".", "/", ".").Replace(name)
	own := d.FullName()
	return own == norm || strings.HasSuffix(norm, "."+own) || strings.HasSuffix(own, "."+norm)
}
