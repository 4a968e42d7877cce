package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

func TestMain(m *testing.M) { tier.Main(m) }

// tree creates a directory with the given files.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, dir, name, text)
	}
	return dir
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string, cfg retrieval.Config) *retrieval.Index {
	t.Helper()
	if cfg.CacheDir == "" {
		cfg.CacheDir = t.TempDir()
	}
	x, err := retrieval.Open(t.Context(), dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func paths(t testing.TB, x *retrieval.Index, q retrieval.Query) []string {
	t.Helper()
	hits, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range hits {
		out = append(out, h.Path)
	}
	return out
}

func first(t testing.TB, x *retrieval.Index, text string) string {
	t.Helper()
	if p := paths(t, x, retrieval.Query{Text: text}); len(p) > 0 {
		return p[0]
	}
	return ""
}

var shop = map[string]string{
	"go.mod":            "module example.org/shop\n",
	"cart/cart.go":      "package cart\n\n// Cart holds what a customer is about to buy.\ntype Cart struct{ lines []line }\n\ntype line struct{ sku string; n int }\n\n// AddItem puts an article into the cart.\nfunc (c *Cart) AddItem(sku string, n int) { c.lines = append(c.lines, line{sku, n}) }\n",
	"cart/cart_test.go": "package cart\n\nimport \"testing\"\n\nfunc TestAddItem(t *testing.T) { var c Cart; c.AddItem(\"a\", 1); c.AddItem(\"a\", 2) }\n",
	"tax/vat.go":        "package tax\n\n// VAT is the value added tax of a country in percent.\nfunc VAT(country string) float64 {\n\tswitch country {\n\tcase \"DE\":\n\t\treturn 19\n\t}\n\treturn 0\n}\n",
	"mail/retry.go":     "package mail\n\nimport \"time\"\n\n// backoff waits longer after each failed delivery.\nfunc backoff(attempt int) time.Duration {\n\treturn time.Second << attempt\n}\n",
	"README.md":         "# Shop\n\nAdd an item to the cart, pay tax, get mail.\n",
}

// Evidence: retrieval · A question, an issue or a trace finds the right places
func TestSearch(t *testing.T) {
	x := open(t, tree(t, shop), retrieval.Config{})
	for text, want := range map[string]string{
		"how is an item added to the cart":            "cart/cart.go",
		"AddItem":                                     "cart/cart.go",
		"value added tax is wrong for Germany":        "tax/vat.go",
		"panic in mail/retry.go:6":                    "mail/retry.go",
		"waiting between attempts of failed delivery": "mail/retry.go",
	} {
		if got := first(t, x, text); got != want {
			t.Errorf("%q: first is %s, want %s", text, got, want)
		}
	}
	hits, err := x.Search(t.Context(), retrieval.Query{Text: "backoff after failed delivery", K: 1})
	if err != nil || len(hits) != 1 {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
	h := hits[0]
	if h.Symbol != "backoff" || h.StartLine > 5 || h.EndLine < 8 || !strings.Contains(h.Snippet, "time.Second << attempt") || len(h.Why) == 0 {
		t.Errorf("hit %+v", h)
	}
	if hits, err := x.Search(t.Context(), retrieval.Query{Text: "zzzz"}); len(hits) > 0 || err != nil {
		t.Errorf("a word that is nowhere: %v, %v", hits, err)
	}
	if _, err := x.Search(t.Context(), retrieval.Query{Text: " \n"}); err == nil {
		t.Error("an empty text is searched")
	}
}

// Evidence: retrieval · A query can be limited, and what the caller holds is left out
func TestQueryLimits(t *testing.T) {
	x := open(t, tree(t, shop), retrieval.Config{})
	for _, p := range paths(t, x, retrieval.Query{Text: "cart item tax mail", Under: []string{"cart"}}) {
		if !strings.HasPrefix(p, "cart/") {
			t.Errorf("%s is not under cart", p)
		}
	}
	held := []retrieval.Range{{Path: "tax/vat.go", StartLine: 1, EndLine: 1000}}
	for _, p := range paths(t, x, retrieval.Query{Text: "value added tax", Held: held}) {
		if p == "tax/vat.go" {
			t.Error("what is held is found")
		}
	}
	if p := paths(t, x, retrieval.Query{Text: "cart item tax mail", K: 2}); len(p) != 2 {
		t.Errorf("asked for two places, got %v", p)
	}
}

// Evidence: retrieval · Updates reach the index
func TestUpdate(t *testing.T) {
	dir := tree(t, shop)
	x := open(t, dir, retrieval.Config{})
	put(t, dir, "ship/parcel.go", "package ship\n\n// Parcel is what a courier carries.\ntype Parcel struct{ grams int }\n")
	if got := first(t, x, "parcel courier"); got != "" {
		t.Errorf("a file that nobody told of is found: %s", got)
	}
	if err := x.Update(t.Context(), "ship/parcel.go"); err != nil {
		t.Fatal(err)
	}
	if got := first(t, x, "parcel courier"); got != "ship/parcel.go" {
		t.Errorf("new file: found %q", got)
	}
	// A search that meets a changed file updates the index by itself.
	put(t, dir, "ship/parcel.go", "package ship\n\n// Crate is what a courier carries, of wood.\ntype Crate struct{ kilograms int }\n")
	hits, err := x.Search(t.Context(), retrieval.Query{Text: "what does the courier carry", K: 1})
	if err != nil || len(hits) != 1 || hits[0].Symbol != "Crate" || !strings.Contains(hits[0].Snippet, "kilograms") {
		t.Errorf("after a change: %+v, %v", hits, err)
	}
	if err := os.Remove(filepath.Join(dir, "ship/parcel.go")); err != nil {
		t.Fatal(err)
	}
	if got := first(t, x, "courier"); got != "" {
		t.Errorf("a file that is gone is found: %s", got)
	}
	put(t, dir, "a/b.go", "package a\n\nfunc Lighthouse() {}\n")
	if err := x.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := first(t, x, "lighthouse"); got != "a/b.go" {
		t.Errorf("after a scan: %q", got)
	}
	if err := x.Update(t.Context(), "../elsewhere.go"); err == nil {
		t.Error("a path outside of the tree is taken")
	}
}

// Evidence: retrieval · Commit messages lead to the files that they changed
func TestHistoryCounts(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"one.go": "package p\n\nfunc alpha() {}\n", "two.go": "package p\n\nfunc beta() {}\n"})
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "start")
	put(t, dir, "two.go", "package p\n\nfunc beta() { println() }\n")
	git(t, dir, "commit", "-qam", "Avoid the flicker of the lamp at dawn")
	x := open(t, dir, retrieval.Config{})
	if got := first(t, x, "the lamp flickers at dawn again"); got != "two.go" {
		t.Errorf("found %q by the log; status:\n%v", got, x.Status())
	}
	if s := x.Status(); s.Commits != 2 {
		t.Errorf("%d commits in\n%v", s.Commits, s)
	}
	without := open(t, dir, retrieval.Config{NoHistory: true})
	if got := first(t, without, "the lamp flickers at dawn again"); got != "" {
		t.Errorf("found %q without the log", got)
	}
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// Evidence: retrieval · Regular expressions miss no line
func TestGrep(t *testing.T) {
	dir := tree(t, shop)
	x := open(t, dir, retrieval.Config{})
	var got []string
	for l, err := range x.Grep(t.Context(), retrieval.GrepQuery{Pattern: `additem\(`, FoldCase: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s:%d", l.Path, l.Number))
	}
	if want := "cart/cart.go:9 cart/cart_test.go:5"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for _, err := range x.Grep(t.Context(), retrieval.GrepQuery{Pattern: `(`}) {
		if err == nil {
			t.Error("a broken pattern matches")
		}
	}
}

// Evidence: retrieval · Searches work while the index is being built
func TestBackground(t *testing.T) {
	x := open(t, tree(t, shop), retrieval.Config{Background: true})
	hits, err := x.Search(t.Context(), retrieval.Query{Text: "value added tax"})
	if err != nil || len(hits) == 0 || hits[0].Path != "tax/vat.go" {
		t.Errorf("while indexing: %+v, %v", hits, err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := tree(t, shop)
	for _, p := range []string{filepath.Join(dir, "missing"), filepath.Join(dir, "go.mod")} {
		if _, err := retrieval.Open(t.Context(), p, retrieval.Config{CacheDir: t.TempDir()}); err == nil {
			t.Errorf("%s is opened", p)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := retrieval.Open(ctx, dir, retrieval.Config{CacheDir: t.TempDir()}); err == nil {
		t.Error("opened although cancelled")
	}
	x := open(t, dir, retrieval.Config{})
	x.Close()
	if _, err := x.Search(t.Context(), retrieval.Query{Text: "cart"}); err != retrieval.ErrClosed {
		t.Errorf("a closed index answers %v", err)
	}
}

// Evidence: retrieval · Definitions, references and outlines are found
func TestSymbols(t *testing.T) {
	dir := tree(t, shop)
	put(t, dir, "cmd/main.go", "package main\n\nimport \"example.org/shop/cart\"\n\nfunc main() {\n\tvar c cart.Cart\n\tc.AddItem(\"a\", 1)\n}\n")
	x := open(t, dir, retrieval.Config{})
	defs, err := x.Definitions(t.Context(), "Cart.AddItem")
	if err != nil || len(defs) != 1 || defs[0].Path != "cart/cart.go" || defs[0].Line != 9 {
		t.Errorf("Cart.AddItem: %+v, %v", defs, err)
	}
	if defs, _ := x.Definitions(t.Context(), "additem"); len(defs) != 1 {
		t.Errorf("additem: %+v", defs)
	}
	if defs, _ := x.Definitions(t.Context(), "Basket.AddItem"); len(defs) != 0 {
		t.Errorf("Basket.AddItem: %+v", defs)
	}
	refs, err := x.References(t.Context(), "AddItem")
	var in []string
	for _, r := range refs {
		in = append(in, r.Path+" "+r.In)
	}
	if want := "cart/cart_test.go TestAddItem,cmd/main.go main"; err != nil || !strings.Contains(strings.Join(in, ","), "cmd/main.go main") {
		t.Errorf("references in %v, want %s; %v", in, want, err)
	}
	like, err := x.Symbols(t.Context(), "AdItem", 5)
	if err != nil || len(like) == 0 || like[0].Name != "AddItem" {
		t.Errorf("like AdItem: %+v, %v", like, err)
	}
	outline, err := x.Outline(t.Context(), "tax/vat.go")
	if err != nil || len(outline) != 1 || outline[0].Name != "VAT" || outline[0].StartLine != 3 || outline[0].EndLine != 10 {
		t.Errorf("outline: %+v, %v", outline, err)
	}
}

// TestCallees checks what a definition uses: each name once, with its definitions in the tree.
//
// Evidence: retrieval · Callers and callees are the same with an index as without
func TestCallees(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/run.go": "package a\n\nimport \"fmt\"\n\ntype S struct{}\n\nfunc (s *S) Run(c Config) {\n\tstop()\n\tfmt.Println(c)\n\tstop()\n}\n\nfunc stop() {}\n\nfunc other() { never() }\n",
		"a/t.go":   "package a\n\ntype T struct{}\n\nfunc (T) Run() { other() }\n",
		"b/b.go":   "package b\n\ntype Config struct{}\n\nfunc Stop() {}\n\nfunc never() {}\n",
	})
	x := open(t, dir, retrieval.Config{})
	say := func(name string) (out []string) {
		t.Helper()
		found, err := x.Callees(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range found {
			var defs []string
			for _, d := range c.Defs {
				defs = append(defs, fmt.Sprintf("%s:%d", d.Path, d.Line))
			}
			out = append(out, fmt.Sprintf("%s in %s %s %s at %v: %s", c.Path, c.In, c.Kind, c.Name, c.Lines, strings.Join(defs, " ")))
		}
		return out
	}
	run := []string{
		"a/run.go in S.Run type S at [7]: a/run.go:5", "a/run.go in S.Run type Config at [7]: b/b.go:3",
		"a/run.go in S.Run call stop at [8 10]: a/run.go:13", "a/run.go in S.Run call Println at [9]: ",
	}
	if d := cmp.Diff(run, say("S.Run")); d != "" {
		t.Errorf("S.Run (-want +got):\n%s", d)
	}
	if d := cmp.Diff(append(run, "a/t.go in T.Run type T at [5]: a/t.go:3", "a/t.go in T.Run call other at [5]: a/run.go:15"), say("Run")); d != "" {
		t.Errorf("Run (-want +got):\n%s", d)
	}
	// The file is read in its current state.
	put(t, dir, "a/t.go", "package a\n\ntype T struct{}\n\n// moved\nfunc (T) Run() { stop() }\n")
	if d := cmp.Diff([]string{"a/t.go in T.Run type T at [6]: a/t.go:3", "a/t.go in T.Run call stop at [6]: a/run.go:13"}, say("T.Run")); d != "" {
		t.Errorf("T.Run, changed (-want +got):\n%s", d)
	}
	if got := say("nothing"); got != nil {
		t.Errorf("of nothing: %q", got)
	}
	words := open(t, dir, retrieval.Config{WordsOnly: true})
	if _, err := words.Callees(t.Context(), "Run"); !errors.Is(err, retrieval.ErrNoSymbols) {
		t.Errorf("without symbols: %v", err)
	}
}

// TestMapCancelled cancels the first map, which reads all symbols; the next map is complete.
func TestMapCancelled(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("p%d/f.go", i)] = fmt.Sprintf("package p%d\n\nfunc Walrus%d() { Walrus%d() }\n", i, i, i/2)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := 0
	x := open(t, tree(t, files), retrieval.Config{Progress: func(p retrieval.Progress) {
		if p.Stage == "map" {
			if told++; p.TotalFiles != 300 || p.Files > 300 {
				t.Errorf("progress %+v", p)
			}
			cancel()
		}
	}})
	if m, err := x.Map(ctx, 500); !errors.Is(err, context.Canceled) || m != "" {
		t.Errorf("cancelled: %q, %v", m, err)
	}
	if told != 1 {
		t.Errorf("told %d times how far it is before the end", told)
	}
	if m, err := x.Map(t.Context(), 500); err != nil || !strings.Contains(m, "func Walrus0()") {
		t.Errorf("afterwards: %q, %v", m, err)
	}
}

// Evidence: retrieval · A map of the repository keeps to a budget of tokens
func TestMap(t *testing.T) {
	dir := tree(t, shop)
	put(t, dir, "cmd/main.go", "package main\n\nimport \"example.org/shop/cart\"\n\nfunc main() {\n\tvar c cart.Cart\n\tc.AddItem(\"a\", 1)\n}\n")
	x := open(t, dir, retrieval.Config{})
	m, err := x.Map(t.Context(), 500)
	if err != nil || !strings.HasPrefix(m, "cart/cart.go\n") || !strings.Contains(m, "func (c *Cart) AddItem(sku string, n int)") {
		t.Errorf("map:\n%s%v", m, err)
	}
	m, err = x.MapFor(t.Context(), retrieval.MapQuery{Tokens: 40, Text: "value added tax of a country"})
	if err != nil || !strings.HasPrefix(m, "tax/vat.go\n") || len(m) > 40*3 {
		t.Errorf("map for tax:\n%s%v", m, err)
	}
	for range 3 {
		again, _ := x.MapFor(t.Context(), retrieval.MapQuery{Tokens: 40, Text: "value added tax of a country"})
		if again != m {
			t.Errorf("the map changes:\n%s", again)
		}
	}
}

// TestCloseEndsWaiting closes an index before its symbols are built: callers that wait for them get
// an error.
func TestCloseEndsWaiting(t *testing.T) {
	t.Parallel()
	dir := tree(t, shop)
	for i := 0; i < 50; i += tier.Pick(4, 1, 1) {
		x, err := retrieval.Open(t.Context(), dir, retrieval.Config{CacheDir: t.TempDir(), Background: true, Watch: true})
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan error, 2)
		go func() { _, err := x.Definitions(t.Context(), "Cart"); heard <- err }()
		go func() { heard <- x.Update(t.Context()) }()
		time.Sleep(time.Duration(i) * 20 * time.Microsecond) // so that the callers are waiting
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		for range 2 {
			select {
			case <-heard:
			case <-time.After(time.Minute):
				t.Fatal("a call on a closed index never ends")
			}
		}
	}
}
