package coding

import (
	"bytes"
	"context"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/internal/symbols"
)

// SymbolIndex is an [Index] that knows which files declare and use a name. With it the symbols tool reads those alone; it
// reads them as they are now, so that the index need not be of this moment. An error means that it cannot tell yet, and
// then, or when it knows no file, the tool reads all.
type SymbolIndex interface {
	// Declaring returns the files that declare a name, slash-separated and relative to the workspace.
	Declaring(ctx context.Context, name string) ([]string, error)
	// Using returns the files that call what has a name or use it as a type.
	Using(ctx context.Context, name string) ([]string, error)
}

// A parsedFile is one whose declarations and uses are known.
type parsedFile struct {
	rel, text string
	symbols.Result
}

// filesFor calls fn, for one file at a time and in no order, with the files below t that hold one of the words, each a name.
// ask says what an index is asked of each. fn reports whether the file is one of those that are looked for: when none of
// the index's is, all are read.
func (w *Workspace) filesFor(ctx context.Context, t target, words []string, ask func(SymbolIndex, context.Context, string) ([]string, error), fn func(parsedFile) bool) error {
	var mu sync.Mutex
	any := false
	each := func(f parsedFile) {
		mu.Lock()
		defer mu.Unlock()
		any = fn(f) || any
	}
	if !t.info.IsDir() {
		return w.parseAll(ctx, words, each, func(yield func(rel string) error) error { return yield(t.rel) })
	}
	if paths := w.asked(ctx, t, words, ask); len(paths) > 0 {
		err := w.parseAll(ctx, words, each, func(yield func(rel string) error) error {
			for _, p := range paths {
				if err := yield(p); err != nil {
					return err
				}
			}
			return nil
		})
		if any || err != nil {
			return err
		}
	}
	return w.parseAll(ctx, words, each, func(yield func(rel string) error) error {
		_, err := w.walk(ctx, t, false, func(rel string, d fs.DirEntry) error {
			if d.Type().IsRegular() && symbols.Known(rel) {
				return yield(rel)
			}
			return nil
		})
		return err
	})
}

// asked are the files below t that the index names, none where it cannot tell.
func (w *Workspace) asked(ctx context.Context, t target, words []string, ask func(SymbolIndex, context.Context, string) ([]string, error)) []string {
	ix, ok := w.cfg.Index.(SymbolIndex)
	if !ok {
		return nil
	}
	var out []string
	for _, word := range words {
		paths, err := ask(ix, ctx, word)
		if err != nil {
			return nil
		}
		for _, p := range paths {
			if t.rel == "." || strings.HasPrefix(p, t.rel+"/") {
				out = append(out, p)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// parseAll reads the files that list yields, several at once.
func (w *Workspace) parseAll(ctx context.Context, words []string, fn func(parsedFile), list func(yield func(rel string) error) error) error {
	paths := make(chan string, 64)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), grepWorkers) {
		wg.Go(func() {
			for rel := range paths {
				if f, ok := w.parse(rel, words); ok {
					fn(f)
				}
			}
		})
	}
	err := list(func(rel string) error {
		select {
		case paths <- rel:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(paths)
	wg.Wait()
	return err
}

// parse reads a file, unless it has none of the words.
func (w *Workspace) parse(rel string, words []string) (parsedFile, bool) {
	info, err := w.root.Lstat(rel)
	if err != nil {
		return parsedFile{}, false
	}
	data, _, err := w.readAll(target{rel, info}, symbols.MaxSize)
	if err != nil || !slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(data, []byte(word)) }) {
		return parsedFile{}, false
	}
	f, kind := decode(data)
	if kind != "" {
		return parsedFile{}, false
	}
	all, err := symbols.Of(rel, []byte(f.text))
	return parsedFile{rel, f.text, all}, err == nil
}
