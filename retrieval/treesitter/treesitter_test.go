package treesitter_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/retrieval/treesitter"
)

// Evidence: retrieval · Symbols can come from tree-sitter grammars
func TestParser(t *testing.T) {
	dir := t.TempDir()
	src := "class Cart:\n    def add(self, item):\n        return price(item)\n\n\ndef price(item):\n    return 1\n"
	if err := os.WriteFile(filepath.Join(dir, "shop.py"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := retrieval.Open(t.Context(), dir, retrieval.Config{CacheDir: t.TempDir(), Parser: treesitter.New()})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	defs, err := x.Definitions(t.Context(), "Cart.add")
	if err != nil || len(defs) != 1 || defs[0].StartLine != 2 || defs[0].EndLine != 3 {
		t.Errorf("Cart.add: %+v, %v", defs, err)
	}
	refs, err := x.References(t.Context(), "price")
	if err != nil || len(refs) != 1 || refs[0].Line != 3 || refs[0].In != "Cart.add" {
		t.Errorf("price: %+v, %v", refs, err)
	}
}
