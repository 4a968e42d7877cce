package words_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/symbols"
	"github.com/luthier-dev/luthier/retrieval/internal/words"
)

// TestFindsWhatSymbolsFinds compares the definitions found in Go's library with those of go/parser.
// CODETEXT_TREES, a list of directories, adds trees of other languages, for which the test only
// prints the comparison, since package symbols has no grammar for them either.
func TestFindsWhatSymbolsFinds(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command")
	}
	c := counts{}
	c.tree(t, filepath.Join(strings.TrimSpace(string(root)), "src", "net"))
	if n := c[".go"]; n.want < 1000 || n.found*100 < n.want*98 || n.titles*100 < n.want*85 {
		t.Errorf("of %d definitions %d were found, and %d are in a chunk named after a definition", n.want, n.found, n.titles)
	}
	for _, dir := range filepath.SplitList(os.Getenv("CODETEXT_TREES")) {
		c.tree(t, dir)
	}
	for _, ext := range slices.Sorted(func(yield func(string) bool) {
		for ext := range c {
			if !yield(ext) {
				return
			}
		}
	}) {
		n := c[ext]
		t.Logf("%-6s %6d definitions, %5.1f %% found; %6d of ours, %5.1f %% known there; missed %v; ours alone %v",
			ext, n.want, 100*float64(n.found)/float64(max(n.want, 1)), n.ours, 100*float64(n.known)/float64(max(n.ours, 1)), n.missed, n.alone)
	}
}

type counts map[string]*count

type count struct {
	want, found, titles int
	ours, known         int
	missed, alone       []string
}

// kinds are the kinds of package symbols after which a chunk may be named.
var kinds = map[string]bool{
	symbols.Func: true, symbols.Method: true, symbols.Class: true, symbols.Struct: true, symbols.Interface: true, symbols.Trait: true,
	symbols.Enum: true, symbols.Type: true, symbols.Macro: true,
}

func (c counts) tree(t *testing.T, dir string) {
	var x words.Lexer
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !symbols.Known(name) || filepath.Ext(name) == ".md" {
			return err
		}
		src, err := os.ReadFile(name)
		if err != nil || len(src) > 1<<20 {
			return err
		}
		r, err := symbols.Of(name, src)
		if err != nil {
			return nil
		}
		ext := strings.ToLower(path.Ext(name))
		if c[ext] == nil {
			c[ext] = &count{}
		}
		c[ext].file(name, src, r, x.Read(words.LangOf(name), src))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// file compares the definitions of a file by name and line.
func (n *count) file(name string, src []byte, r symbols.Result, text words.Text) {
	ours := map[string]bool{}
	line, at := 1, 0
	for _, k := range text.Tokens {
		for ; at < int(k.Start); at++ {
			if src[at] == '\n' {
				line++
			}
		}
		if k.Kind == words.Definition {
			ours[fmt.Sprint(line, " ", string(k.Of(src)))] = true
		}
	}
	titled := map[int]bool{}
	for _, c := range text.Chunks {
		for l := c.First; c.Title >= 0 && l <= c.Last; l++ {
			titled[l] = true
		}
	}
	theirs := map[string]bool{}
	for _, d := range r.Defs {
		key := fmt.Sprint(d.Line, " ", d.Name)
		theirs[key] = true
		if !kinds[d.Kind] {
			continue
		}
		n.want++
		if ours[key] {
			n.found++
		} else if len(n.missed) < 20 && n.want%7 == 0 {
			n.missed = append(n.missed, fmt.Sprintf("%s:%s", filepath.Base(name), key))
		}
		if titled[d.Line] {
			n.titles++
		}
	}
	i := 0
	for _, key := range slices.Sorted(keys(ours)) {
		n.ours++
		i++
		if theirs[key] {
			n.known++
		} else if len(n.alone) < 20 && n.ours%5 == 0 {
			n.alone = append(n.alone, fmt.Sprintf("%s:%s", filepath.Base(name), key))
		}
	}
}

func keys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
