package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// Symbol is one definition.
type Symbol struct {
	Path               string
	Name               string
	Kind               string // such as "func", "method", "class", "type", "const"
	Container          string // the enclosing definitions, joined by dots
	Signature          string // the beginning of the definition, on one line and without its body
	StartLine, EndLine int    // from 1, inclusive; they include the definition's comment
	Line               int    // line of the definition's name
	Exported           bool   // whether other files may use it, judged only by this file
}

// FullName returns the name with its container, such as "Server.Close".
func (s Symbol) FullName() string {
	if s.Container == "" {
		return s.Name
	}
	return s.Container + "." + s.Name
}

// Reference is a place that uses a name.
type Reference struct {
	Path string
	Line int
	Kind string // "call" or "type"
	In   string // the definition that contains the place; "" if there is none
}

// symbolFormat indexes definitions and references.
func symbolFormat(p symbols.Parser) codestore.Format {
	name := "symbols"
	switch p := p.(type) {
	case symbols.Plain:
	case interface{ Name() string }:
		name += "-" + p.Name()
	default:
		name += "-parser"
	}
	return codestore.Format{Name: name, Version: 1, Build: func(ctx context.Context, docs []codestore.Doc, read func(int) ([]byte, error)) ([]codestore.Section, error) {
		files := make([]symbols.Result, len(docs))
		err := eachDoc(ctx, docs, read, func(i int, text []byte) {
			if docs[i].Class.Any(worktree.Generated | worktree.Data) {
				return
			}
			if r, err := p.Of(docs[i].Path, text); err == nil { // otherwise the language is unknown or the file is too large
				files[i] = r
			}
		})
		if err != nil {
			return nil, err
		}
		return []codestore.Section{{Name: symbolSection, Data: symbols.Encode(files)}}, nil
	}}
}

const symbolSection = "symbols"

// ErrNoSymbols is returned by an Index without symbols, see [Config.WordsOnly].
var ErrNoSymbols = errors.New("retrieval: the index has no symbols; open it without WordsOnly")

// eachSymbols calls fn for each segment of the layer of symbols. The function fn must not keep its
// arguments.
func (x *Index) eachSymbols(ctx context.Context, fn func(*codestore.Segment, *symbols.Index) error) error {
	if x.closed.Load() {
		return ErrClosed
	}
	if x.symbols == nil {
		return ErrNoSymbols
	}
	if err := x.symbols.wait(ctx); err != nil {
		return fmt.Errorf("retrieval: symbols: %w", err)
	}
	if err := x.current(ctx); err != nil {
		return fmt.Errorf("retrieval: symbols: %w", err)
	}
	// All segments are opened first, because fn must not be called twice for a segment.
	if err := x.rebuilding(ctx, func() error {
		return x.segmentsOfSymbols(func(*codestore.Segment, *symbols.Index) error { return nil })
	}); err != nil {
		return err
	}
	return codestore.Guard(func() error {
		if err := x.segmentsOfSymbols(fn); err != nil {
			return err
		}
		return ctx.Err()
	})
}

func (x *Index) segmentsOfSymbols(fn func(*codestore.Segment, *symbols.Index) error) error {
	view, err := x.symbols.store.View()
	if err != nil {
		return err
	}
	defer view.Close()
	for _, seg := range view.Segments() {
		ix, err := opened(seg, symbolSection, symbols.Open)
		if err != nil {
			return err
		}
		if err := fn(seg, ix); err != nil {
			return err
		}
	}
	return nil
}

// toSymbol copies a definition out of the index.
func toSymbol(path string, d *symbols.Def) Symbol {
	start := d.StartLine
	if d.DocLine > 0 {
		start = min(start, d.DocLine)
	}
	return Symbol{
		Path: strings.Clone(path), Name: strings.Clone(d.Name), Kind: d.Kind, Container: strings.Clone(d.Container),
		Signature: strings.Clone(d.Signature), StartLine: start, EndLine: d.EndLine, Line: d.Line, Exported: d.Exported,
	}
}

// Definitions finds the definitions of a name: "Close", or "Server.Close" with the enclosing
// definition. If none has exactly this spelling, case is ignored. Definitions waits until symbols
// are indexed.
func (x *Index) Definitions(ctx context.Context, name string) ([]Symbol, error) {
	last := name[strings.LastIndexAny(name, ".:#/")+1:]
	var exact, folded []Symbol
	err := x.eachSymbols(ctx, func(seg *codestore.Segment, ix *symbols.Index) error {
		for _, s := range ix.LookupFold(last) {
			d, ok := ix.Def(s)
			if !ok || s.Doc >= seg.Docs() || !seg.Live(s.Doc) {
				continue
			}
			sym := toSymbol(seg.Path(s.Doc), &d)
			if !within(name, last, sym) {
				continue
			}
			if d.Name == last {
				exact = append(exact, sym)
			} else {
				folded = append(folded, sym)
			}
		}
		return nil
	})
	if len(exact) == 0 {
		exact = folded
	}
	sortSymbols(exact)
	return exact, err
}

// within reports whether a definition is in the container that a qualified name specifies.
func within(name, last string, s Symbol) bool {
	outer := strings.Trim(strings.TrimSuffix(name, last), ".:#/")
	if outer == "" {
		return true
	}
	outer = strings.NewReplacer("::", ".", "#", ".", "/", ".").Replace(outer)
	full := strings.ToLower(strings.ReplaceAll(s.Path, "/", ".") + "." + s.Container)
	return strings.HasSuffix(full, strings.ToLower(outer)) || strings.HasSuffix(strings.ToLower(s.Container), strings.ToLower(outer)) ||
		strings.Contains(full, strings.ToLower("."+outer+"."))
}

func sortSymbols(s []Symbol) {
	slices.SortFunc(s, func(a, b Symbol) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line)) })
}

// Symbols finds definitions whose names begin with a text or are similar to it (camel-case
// abbreviations, missing letters, misspellings), the most similar first.
func (x *Index) Symbols(ctx context.Context, like string, limit int) ([]Symbol, error) {
	if limit <= 0 {
		limit = 20
	}
	type scored struct {
		Symbol
		rank int
	}
	var all []scored
	err := x.eachSymbols(ctx, func(seg *codestore.Segment, ix *symbols.Index) error {
		for rank, n := range append(ix.Prefix(like, limit), ix.Fuzzy(like, limit)...) {
			for _, s := range ix.Sites(n) {
				if d, ok := ix.Def(s); ok && s.Doc < seg.Docs() && seg.Live(s.Doc) {
					all = append(all, scored{toSymbol(seg.Path(s.Doc), &d), rank})
				}
			}
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	var out []Symbol
	seen := map[Range]bool{}
	for _, s := range all {
		if at := (Range{s.Path, s.Line, 0}); !seen[at] && len(out) < limit {
			seen[at] = true
			out = append(out, s.Symbol)
		}
	}
	return out, err
}

// Outline lists the definitions of one file in the order of their lines.
func (x *Index) Outline(ctx context.Context, path string) ([]Symbol, error) {
	var out []Symbol
	err := x.eachSymbols(ctx, func(seg *codestore.Segment, ix *symbols.Index) error {
		if doc, ok := seg.Find(path); ok {
			for _, d := range ix.Defs(doc) {
				out = append(out, toSymbol(path, &d))
			}
		}
		return nil
	})
	return out, err
}

// References finds the lines where a name is called or used as a type, by path and line. Uses are
// matched by name alone.
func (x *Index) References(ctx context.Context, name string) ([]Reference, error) {
	name = name[strings.LastIndexAny(name, ".:#/")+1:]
	var out []Reference
	err := x.eachSymbols(ctx, func(seg *codestore.Segment, ix *symbols.Index) error {
		uses := ix.Refs(name)
		var defs []symbols.Def
		doc := -1
		for _, u := range uses {
			if u.Doc >= seg.Docs() || !seg.Live(u.Doc) {
				continue
			}
			if u.Doc != doc {
				doc, defs = u.Doc, ix.Defs(u.Doc)
			}
			r := Reference{Path: strings.Clone(seg.Path(u.Doc)), Line: u.Line, Kind: u.Kind}
			if d := symbols.Innermost(defs, u.Line); d != nil {
				r.In = strings.Clone(d.FullName())
			}
			out = append(out, r)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Reference) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line)) })
	return out, err
}
