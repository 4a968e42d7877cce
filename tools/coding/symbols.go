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
)

type symbolsIn struct {
	Path string `json:"path,omitempty" jsonschema_description:"file to outline; with name, file or directory to look in"`
	Name string `json:"name,omitempty" jsonschema_description:"name whose declarations to find, such as Server or Server.Shutdown"`
}

// A symbol is one declaration in a file.
type symbol struct {
	kind  string // such as "func", "method", "type", "class"
	name  string // with its receiver or class: "Server.Shutdown"
	sig   string // the declaration on one line
	line  int    // from 1
	end   int    // last line, 0 when unknown
	depth int    // nesting
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
	syms, exact, err := symbolsOf(t.rel, cur.text)
	if err != nil {
		return "", fmt.Errorf("%s: %w; use grep for its declarations", quotePath(t.rel), err)
	}
	note := ""
	if !exact {
		note = approximate
	}
	if len(syms) == 0 {
		return joinLines(fmt.Sprintf("%s declares nothing (%d lines).", quotePath(t.rel), countLines(cur.text)), notes(note)), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d lines)\n", quotePath(t.rel), countLines(cur.text))
	for i, s := range syms {
		if b.Len() > w.cfg.Limits.ReadBytes {
			note = strings.TrimPrefix(note+fmt.Sprintf("; %d more declarations are not shown", len(syms)-i), "; ")
			break
		}
		fmt.Fprintf(&b, "%s%s\t%s\n", strings.Repeat("  ", s.depth), s.lines(), cutLine(s.sig, 200))
	}
	return joinLines(b.String(), notes(note)), nil
}

func (s symbol) lines() string {
	if s.end > s.line {
		return fmt.Sprintf("%d-%d", s.line, s.end)
	}
	return fmt.Sprint(s.line)
}

// symbolsOf outlines a file by its name's ending; exact says that it was parsed.
func symbolsOf(rel, text string) (syms []symbol, exact bool, err error) {
	ext := strings.ToLower(path.Ext(rel))
	if ext == ".go" {
		if syms, err = goSymbols(text); err == nil {
			return syms, true, nil
		}
	}
	shapes, ok := outlineShapes()[ext]
	if !ok {
		return nil, false, fmt.Errorf("no outline for files ending in %q", ext)
	}
	return shapes.outline(text), false, nil
}

type foundSymbol struct {
	symbol
	rel   string
	exact bool
}

// findSymbol looks for declarations of name in all files below t whose language is known.
func (w *Workspace) findSymbol(ctx context.Context, t target, name string) (string, error) {
	last := name[strings.LastIndexAny(name, ".:#/")+1:]
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
		return cmp.Or(cmp.Compare(a.rel, b.rel), cmp.Compare(a.line, b.line))
	})
	var b strings.Builder
	loose := false
	for i, f := range found {
		if i == w.cfg.Limits.Results {
			fmt.Fprintf(&b, "(%d more declarations are not shown; give path to narrow the search)\n", len(found)-i)
			break
		}
		fmt.Fprintf(&b, "%s:%s\t%s\n", quotePath(f.rel), f.lines(), cutLine(f.sig, 200))
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
			_, known := outlineShapes()[strings.ToLower(path.Ext(rel))]
			if d.Type().IsRegular() && known {
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

// maxOutlined is the size of the largest file that a search for a name looks into: beyond it lies generated code.
const maxOutlined = 4 << 20

func (w *Workspace) symbolsIn(t target, name, last string) []foundSymbol {
	info, err := w.root.Lstat(t.rel)
	if err != nil {
		return nil
	}
	data, _, err := w.readAll(target{t.rel, info}, maxOutlined)
	if err != nil || !bytes.Contains(data, []byte(last)) {
		return nil
	}
	f, kind := decode(data)
	if kind != "" {
		return nil
	}
	syms, exact, err := symbolsOf(t.rel, f.text)
	if err != nil {
		return nil
	}
	var out []foundSymbol
	for _, s := range syms {
		if s.is(name, last) {
			out = append(out, foundSymbol{s, t.rel, exact})
		}
	}
	return out
}

// is reports whether s is what a model calls name: its full name, or the last part of it. A qualifier that the symbol
// does not have (a package, say) is not held against it.
func (s symbol) is(name, last string) bool {
	own := s.name[strings.LastIndexByte(s.name, '.')+1:]
	if own != last {
		return false
	}
	if name == last || !strings.Contains(s.name, ".") {
		return true
	}
	norm := strings.NewReplacer("::", ".", "#", ".", "/", ".").Replace(name)
	return s.name == norm || strings.HasSuffix(norm, "."+s.name) || strings.HasSuffix(s.name, "."+norm)
}
