package coding

import (
	"bytes"
	"context"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/symbols"
)

// A parsedFile is a file whose declarations and uses are known.
type parsedFile struct {
	rel, text string
	symbols.Result
}

// filesFor calls fn, for one file at a time and in no particular order, with the files below t that
// contain one of words; each word is a name. ask queries the index for the files of a word; nil
// means that the index cannot answer. fn reports whether the file is one of those looked for: if
// none of the files from the index is, all files are read.
func (w *Workspace) filesFor(ctx context.Context, t target, words []string, ask NameFunc, fn func(parsedFile) bool) error {
	var mu sync.Mutex
	any := false
	each := func(f parsedFile) {
		mu.Lock()
		defer mu.Unlock()
		any = fn(f) || any
	}
	// The index may look at the tree too, so it is asked while the tree is not held.
	these := func(paths ...string) error {
		return w.parseAll(ctx, words, each, func(_ opened, yield func(rel string) error) error {
			for _, p := range paths {
				if err := yield(p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if !t.info.IsDir() {
		return these(t.rel)
	}
	if paths := asked(ctx, t, words, ask); len(paths) > 0 {
		if err := these(paths...); any || err != nil {
			return err
		}
	}
	return w.parseAll(ctx, words, each, func(w opened, yield func(rel string) error) error {
		_, err := w.walk(ctx, t, false, func(rel string, d fs.DirEntry) error {
			if d.Type().IsRegular() && symbols.Known(rel) {
				return yield(rel)
			}
			return nil
		})
		return err
	})
}

// asked returns the files below t that the index names, or none if it cannot answer.
func asked(ctx context.Context, t target, words []string, ask NameFunc) []string {
	if ask == nil {
		return nil
	}
	var out []string
	for _, word := range words {
		paths, err := ask(ctx, word)
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

// A parseJob is files to read: those that list yields.
type parseJob struct {
	words []string
	fn    func(parsedFile)
	list  func(w opened, yield func(rel string) error) error
}

// parseAll calls fn with the files that list yields and that contain one of words.
func (w *Workspace) parseAll(ctx context.Context, words []string, fn func(parsedFile), list func(w opened, yield func(rel string) error) error) error {
	_, err := viewing(ctx, w, parseJob{words, fn, list}, opened.parseFiles)
	return err
}

// parseFiles does a parseJob, several files concurrently.
func (w opened) parseFiles(ctx context.Context, j parseJob) (struct{}, error) {
	paths := make(chan string, 64)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), grepWorkers) {
		wg.Go(func() {
			for rel := range paths {
				if f, ok := w.parse(rel, j.words); ok {
					j.fn(f)
				}
			}
		})
	}
	err := j.list(w, func(rel string) error {
		select {
		case paths <- rel:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(paths)
	wg.Wait()
	return struct{}{}, err
}

// parse reads a file, unless it contains none of the words.
func (w opened) parse(rel string, words []string) (parsedFile, bool) {
	info, err := w.root.Lstat(rel)
	if err != nil {
		return parsedFile{}, false
	}
	data, _, err := w.readAll(target{rel, info}, symbols.MaxSize)
	has := func(word string) bool { return bytes.Contains(data, []byte(word)) }
	if err != nil || utf8.Valid(data) && !slices.ContainsFunc(words, has) {
		return parsedFile{}, false
	}
	f, kind := decode(data)
	if kind != "" || !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(f.text, word) }) {
		return parsedFile{}, false
	}
	all, err := symbols.Of(rel, []byte(f.text))
	return parsedFile{rel, f.text, all}, err == nil
}
