package retrieval_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/retrieval"
)

// smallShop makes a small tree and a directory for its index.
func smallShop() (dir, cache string, remove func()) {
	dir, err := os.MkdirTemp("", "shop-*")
	if err != nil {
		log.Fatal(err)
	}
	for path, text := range map[string]string{
		"cart/cart.go":   "package cart\n\n// Cart holds what a customer wants to buy.\ntype Cart struct{ items []string }\n\n// Add puts an item into the cart.\nfunc (c *Cart) Add(sku string) { c.items = append(c.items, sku) }\n",
		"pay/pay.go":     "package pay\n\n// Retry charges the card again after the bank has asked to wait.\nfunc Retry(card string) error { return charge(card) }\n\nfunc charge(card string) error { return nil }\n",
		"deploy/web.hcl": "# the web server\nservice web {\n  uses db\n}\n\nservice db {\n}\n",
	} {
		path = filepath.Join(dir, "tree", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	return filepath.Join(dir, "tree"), filepath.Join(dir, "cache"), func() { os.RemoveAll(dir) }
}

// An index finds places by a question in words.
func ExampleIndex_Search() {
	dir, cache, remove := smallShop()
	defer remove()
	ctx := context.Background()
	x, err := retrieval.Open(ctx, dir, retrieval.Config{CacheDir: cache})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	hits, err := x.Search(ctx, retrieval.Query{Text: "where is the card charged again when the bank asks to wait?", K: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits {
		fmt.Printf("%s:%d %s\n", h.Path, h.StartLine, h.Symbol)
	}
	// Output:
	// pay/pay.go:3 Retry
}

// Grep yields the lines that match a regular expression.
func ExampleIndex_Grep() {
	dir, cache, remove := smallShop()
	defer remove()
	ctx := context.Background()
	x, err := retrieval.Open(ctx, dir, retrieval.Config{CacheDir: cache})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	for line, err := range x.Grep(ctx, retrieval.GrepQuery{Pattern: `^func .*string\)`}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s:%d: %s\n", line.Path, line.Number, line.Text)
	}
	// Output:
	// cart/cart.go:7: func (c *Cart) Add(sku string) { c.items = append(c.items, sku) }
	// pay/pay.go:4: func Retry(card string) error { return charge(card) }
	// pay/pay.go:6: func charge(card string) error { return nil }
}

// Names are found by their definitions and by their uses.
func ExampleIndex_References() {
	dir, cache, remove := smallShop()
	defer remove()
	ctx := context.Background()
	x, err := retrieval.Open(ctx, dir, retrieval.Config{CacheDir: cache})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	defs, err := x.Definitions(ctx, "charge")
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range defs {
		fmt.Printf("%s:%d: %s\n", d.Path, d.Line, d.Signature)
	}
	refs, err := x.References(ctx, "charge")
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range refs {
		fmt.Printf("%s:%d: a %s in %s\n", r.Path, r.Line, r.Kind, r.In)
	}
	// Output:
	// pay/pay.go:6: func charge(card string) error
	// pay/pay.go:4: a call in Retry
}

// services finds the symbols of a language of the house, and leaves other files to the parser in
// pure Go.
type services struct{ retrieval.Parser }

// Name keeps its symbols apart from those of other parsers in the cache.
func (services) Name() string { return "services-1" }

func (s services) Of(path string, src []byte) (retrieval.FileSymbols, error) {
	if filepath.Ext(path) != ".hcl" {
		return s.Parser.Of(path, src)
	}
	var out retrieval.FileSymbols
	lines := bufio.NewScanner(bytes.NewReader(src))
	for n := 1; lines.Scan(); n++ {
		switch words := strings.Fields(lines.Text()); {
		case len(words) == 3 && words[0] == "service":
			out.Definitions = append(out.Definitions, retrieval.Definition{Name: words[1], Kind: retrieval.KindModule, Signature: "service " + words[1], StartLine: n, Exported: true})
		case len(words) == 2 && words[0] == "uses":
			out.Uses = append(out.Uses, retrieval.Use{Name: words[1], Line: n, Kind: retrieval.UseCall})
		case len(words) == 1 && words[0] == "}":
			out.Definitions[len(out.Definitions)-1].EndLine = n
		}
	}
	return out, lines.Err()
}

// A host can write a parser for a language that the library does not know.
func ExampleParser() {
	dir, cache, remove := smallShop()
	defer remove()
	ctx := context.Background()
	x, err := retrieval.Open(ctx, dir, retrieval.Config{CacheDir: cache, Parser: services{retrieval.PlainParser()}})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	for _, name := range []string{"web", "Cart.Add"} {
		defs, err := x.Definitions(ctx, name)
		if err != nil {
			log.Fatal(err)
		}
		for _, d := range defs {
			fmt.Printf("%s:%d-%d: %s %s\n", d.Path, d.StartLine, d.EndLine, d.Kind, d.FullName())
		}
	}
	refs, err := x.References(ctx, "db")
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range refs {
		fmt.Printf("%s:%d: in %s\n", r.Path, r.Line, r.In)
	}
	// Output:
	// deploy/web.hcl:2-4: module web
	// cart/cart.go:6-7: method Cart.Add
	// deploy/web.hcl:3: in web
}
