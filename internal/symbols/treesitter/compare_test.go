//go:build cgo && !luthier_nosymbols

package treesitter

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/internal/symbols"
)

// TestPlainFindsWhatGrammarsFind compares the token reader with the grammars on real repositories
// below $LUTHIER_TREES: the token reader must find 95 % of the top-level definitions that grammars
// find in files without errors.
func TestPlainFindsWhatGrammarsFind(t *testing.T) {
	root := os.Getenv("LUTHIER_TREES")
	if root == "" {
		t.Skip("set LUTHIER_TREES to a directory of source trees")
	}
	type count struct{ files, broken, top, both, all, allBoth, extra, refs, refsBoth, ends int }
	counts := map[string]*count{}
	p := New()
	verbose := os.Getenv("VERBOSE")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !slices.Contains(p.Grammars(), filepath.Ext(path)) {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if len(src) > 200*(1+bytes.Count(src, []byte("\n"))) {
			return nil // minified
		}
		tree, err1 := p.Of(path, src)
		plain, err2 := symbols.Of(path, src)
		if err1 != nil || err2 != nil {
			return nil
		}
		c := counts[plain.Parser]
		if c == nil {
			c = &count{}
			counts[plain.Parser] = c
		}
		c.files++
		if !tree.Exact {
			c.broken++
			return nil
		}
		have := map[string]int{}
		for _, d := range plain.Defs {
			have[fmt.Sprint(d.Name, d.Line)] = d.EndLine
		}
		for _, d := range tree.Defs {
			end, ok := have[fmt.Sprint(d.Name, d.Line)]
			c.all++
			if ok {
				c.allBoth++
				if end == d.EndLine {
					c.ends++
				}
			}
			if d.Depth == 0 {
				c.top++
				if ok {
					c.both++
				}
			}
			if !ok && verbose == plain.Parser {
				fmt.Printf("missing %s:%d %d %s %s | %s\n", path, d.Line, d.Depth, d.Kind, d.FullName(), d.Signature)
			}
		}
		seen := map[string]bool{}
		for _, d := range tree.Defs {
			seen[fmt.Sprint(d.Name, d.Line)] = true
		}
		for _, d := range plain.Defs {
			if !seen[fmt.Sprint(d.Name, d.Line)] {
				c.extra++
				if verbose == "+"+plain.Parser {
					fmt.Printf("extra %s:%d %d %s %s | %s\n", path, d.Line, d.Depth, d.Kind, d.FullName(), d.Signature)
				}
			}
		}
		calls := map[string]bool{}
		for _, r := range plain.Refs {
			calls[fmt.Sprint(r.Name, r.Line)] = true
		}
		for _, r := range tree.Refs {
			c.refs++
			if calls[fmt.Sprint(r.Name, r.Line)] {
				c.refsBoth++
			} else if verbose == "r"+plain.Parser {
				fmt.Printf("ref %s:%d %s %s\n", path, r.Line, r.Name, r.Kind)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	share := func(a, b int) float64 { return 100 * float64(a) / float64(max(b, 1)) }
	for name, c := range counts {
		t.Logf("%-20s %5d files, %4d with errors; top-level %6d, found %5.1f %%; all %6d, found %5.1f %%, end lines %5.1f %%, %5d more; references %7d, found %5.1f %%",
			name, c.files, c.broken, c.top, share(c.both, c.top), c.all, share(c.allBoth, c.all), share(c.ends, c.allBoth), c.extra, c.refs, share(c.refsBoth, c.refs))
		if c.files > 20 && name != "tokens/c" && name != "tokens/cpp" && share(c.both, c.top) < 95 {
			t.Errorf("%s: %.1f %% of the top-level definitions are found, want 95", name, share(c.both, c.top))
		}
	}
}
