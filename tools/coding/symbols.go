package coding

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/symbols"
)

type symbolsIn struct {
	Path string `json:"path,omitempty" jsonschema_description:"file to outline; with name, file or directory to look in"`
	Name string `json:"name,omitempty" jsonschema_description:"name whose declarations to find, such as Server or Server.Shutdown"`
}

func (w *Workspace) symbolsTool() (agent.Tool, error) {
	return newTool("symbols", w.symbols, toolParts[symbolsIn]{
		any:     agent.ReadOnly("."),
		effects: func(in symbolsIn) agent.Effects { return w.readEffects(orRoot(in.Path)) },
		describe: titled(func(in symbolsIn) string {
			if in.Name != "" {
				return "find declarations of " + in.Name
			}
			return "outline " + quotePath(in.Path)
		}),
	})
}

func (w *Workspace) symbols(ctx context.Context, in symbolsIn) (string, error) {
	if in.Name == "" && in.Path == "" {
		return "", errors.New("give path for the outline of a file, or name to find its declarations")
	}
	t, err := w.resolve(orRoot(in.Path))
	if err != nil {
		return "", err
	}
	if t.info == nil {
		return "", w.missing(t.rel)
	}
	if in.Name != "" {
		return w.findSymbol(ctx, t, in.Name)
	}
	if t.info.IsDir() {
		return "", fmt.Errorf("%s is a directory; give a file, or a name to look for in it", quotePath(t.rel))
	}
	return w.outline(t)
}

const approximate = "found by the shape of lines, so that unusual code may be missing"

func (w *Workspace) outline(t target) (string, error) {
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
		return joinLines(fmt.Sprintf("%s declares nothing (%d lines).", quotePath(t.rel), countLines(cur.text)), notes(note)), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d lines)\n", quotePath(t.rel), countLines(cur.text))
	for i, d := range found.Defs {
		if b.Len() > w.cfg.Limits.ReadBytes {
			note = strings.TrimPrefix(note+fmt.Sprintf("; %d more declarations are not shown", len(found.Defs)-i), "; ")
			break
		}
		fmt.Fprintf(&b, "%s%s\t%s\n", strings.Repeat("  ", min(d.Depth, maxIndent)), defLines(d), cutLine(d.Signature, 200))
	}
	return joinLines(b.String(), notes(note)), nil
}

// maxIndent is how deep an outline is indented. Deeper code is made by programs.
const maxIndent = 20

func noOutline(rel string, err error) error {
	if errors.Is(err, symbols.ErrUnknown) {
		return fmt.Errorf("%s: no outline for files ending in %q; use grep for its declarations", quotePath(rel), path.Ext(rel))
	}
	return fmt.Errorf("%s: %w; use grep for its declarations", quotePath(rel), err)
}

// defLines are the lines of a whole declaration.
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
}

// findSymbol looks for declarations of name in all files below t whose language is known.
func (w *Workspace) findSymbol(ctx context.Context, t target, name string) (string, error) {
	last := lastName(name)
	if last == "" {
		return "", fmt.Errorf("%q is not a name", name)
	}
	found, err := w.scanSymbols(ctx, t, name, last)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return fmt.Sprintf("No declaration of %q found below %s; it may come from a dependency or an ignored file: use grep to see where it is used.", name, quotePath(t.rel)), nil
	}
	slices.SortFunc(found, func(a, b foundSymbol) int {
		return cmp.Or(cmp.Compare(a.rel, b.rel), cmp.Compare(a.StartLine, b.StartLine))
	})
	var b strings.Builder
	loose := false
	for i, f := range found {
		if i == w.cfg.Limits.Results {
			fmt.Fprintf(&b, "(%d more declarations are not shown; give path to narrow the search)\n", len(found)-i)
			break
		}
		fmt.Fprintf(&b, "%s:%s\t%s\n", quotePath(f.rel), defLines(f.Def), cutLine(f.Signature, 200))
		loose = loose || !f.exact
	}
	note := ""
	if loose {
		note = "other languages than Go are " + approximate
	}
	return joinLines(b.String(), notes(note)), nil
}

func (w *Workspace) scanSymbols(ctx context.Context, t target, name, last string) ([]foundSymbol, error) {
	var mu sync.Mutex
	var found []foundSymbol
	paths := make(chan target, 64)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), grepWorkers) {
		wg.Go(func() {
			for t := range paths {
				if hits := w.symbolsIn(t, name, last); len(hits) > 0 {
					mu.Lock()
					found = append(found, hits...)
					mu.Unlock()
				}
			}
		})
	}
	var err error
	if !t.info.IsDir() {
		paths <- t
	} else {
		_, err = w.walk(ctx, t, false, func(rel string, d fs.DirEntry) error {
			if d.Type().IsRegular() && symbols.Known(rel) {
				select {
				case paths <- target{rel: rel}:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nil
		})
	}
	close(paths)
	wg.Wait()
	return found, err
}

func (w *Workspace) symbolsIn(t target, name, last string) []foundSymbol {
	info, err := w.root.Lstat(t.rel)
	if err != nil {
		return nil
	}
	data, _, err := w.readAll(target{t.rel, info}, symbols.MaxSize)
	if err != nil || !bytes.Contains(data, []byte(last)) {
		return nil
	}
	f, kind := decode(data)
	if kind != "" {
		return nil
	}
	all, err := symbols.Of(t.rel, []byte(f.text))
	if err != nil {
		return nil
	}
	var out []foundSymbol
	for _, d := range all.Defs {
		if isCalled(d, name, last) {
			out = append(out, foundSymbol{d, t.rel, all.Exact})
		}
	}
	return out
}

// isCalled reports whether d is what a model calls name: its full name, or the last part of it. A qualifier that the
// declaration does not have (a package, say) is not held against it.
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
