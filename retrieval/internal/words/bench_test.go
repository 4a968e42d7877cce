package words

import (
	"fmt"
	"github.com/luthier-dev/luthier/internal/tier"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// library returns the text of Go's net/http.
func library(b *testing.B) (texts [][]byte, size int64) {
	files, err := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", "net", "http", "*.go"))
	if err != nil || len(files) == 0 {
		b.Skip("no source of Go's library")
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		texts, size = append(texts, src), size+int64(len(src))
	}
	return texts, size
}

func BenchmarkRead(b *testing.B) {
	texts, size := library(b)
	b.SetBytes(size)
	b.ReportAllocs()
	var x Lexer
	for b.Loop() {
		for _, src := range texts {
			x.Read(Go, src)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	texts, size := library(b)
	var x Lexer
	var words [][]byte
	for _, src := range texts {
		for _, k := range x.Read(Go, src).Tokens {
			words = append(words, k.Of(src))
		}
	}
	b.SetBytes(size)
	b.ReportAllocs()
	var s Splitter
	terms := 0
	for b.Loop() {
		for _, w := range words {
			s.Split(w, func([]byte) { terms++ })
		}
	}
	b.ReportMetric(float64(len(words)), "words/op")
}

// hostile are texts for which a lexer that backtracks would need quadratic time.
var hostile = []struct {
	name string
	lang Lang
	text func(n int) string
}{
	{"open-comments", Rust, func(n int) string { return strings.Repeat("/*", n/2) }},
	{"nested-comments", Haskell, func(n int) string { return strings.Repeat("{-", n/4) + strings.Repeat("-}", n/4) }},
	{"quotes", Go, func(n int) string { return strings.Repeat(`"`, n) }},
	{"quotes-on-lines", Python, func(n int) string { return strings.Repeat("\"\n", n/2) }},
	{"triple", Python, func(n int) string { return strings.Repeat(`"""'`, n/4) }},
	{"templates", JavaScript, func(n int) string { return strings.Repeat("`${", n/3) }},
	{"open-templates", JavaScript, func(n int) string { return strings.Repeat("`a${b`\n", n/7) }},
	{"slashes", JavaScript, func(n int) string { return strings.Repeat("=/a", n/3) }},
	{"raw-strings", Rust, func(n int) string { return strings.Repeat(`r#"`, n/3) }},
	{"hashes", Rust, func(n int) string { return strings.Repeat("#", n) + `"` }},
	{"hashes-and-quotes", Rust, func(n int) string { return strings.Repeat(`#" `, n/3) }},
	{"raw-strings-of-C", C, func(n int) string { return strings.Repeat(`R"x`, n/3) }},
	{"verbatim", CSharp, func(n int) string { return strings.Repeat(`@"`, n/2) }},
	{"braces", C, func(n int) string { return strings.Repeat("{", n) }},
	{"branches", C, func(n int) string { return strings.Repeat("#if\n{{\n#else\n", n/13) }},
	{"annotated-lines", Java, func(n int) string { return strings.Repeat("@A void f() {}\n", n/15) }},
	{"comments-above", Go, func(n int) string { return strings.Repeat("//\n", n/3) + "func f() {}\n" }},
	{"comments-and-definitions", Python, func(n int) string { return strings.Repeat("#\n@a\ndef f(): 0\n", n/16) }},
	{"pending", C, func(n int) string { return strings.Repeat("struct a\n\n\n", n/11) }},
	{"dotted", Lua, func(n int) string { return "function a" + strings.Repeat(".a\n", n/3) }},
	{"one-line", JavaScript, func(n int) string { return strings.Repeat("var a=function(b){return b};", n/28) }},
	{"one-word", Go, func(n int) string { return strings.Repeat("a", n) }},
	{"arrows", JavaScript, func(n int) string { return strings.Repeat("a=>", n/3) }},
	{"angles", Rust, func(n int) string { return strings.Repeat("impl<", n/5) }},
	{"blank", Plain, func(n int) string { return strings.Repeat("\n", n) }},
	{"indented", Python, func(n int) string { return strings.Repeat(strings.Repeat(" ", 1000)+"def f\n", n/1006) }},
}

// BenchmarkHostile reports how much longer a text of twice the size takes: the ratio should be
// about 2.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		small, large := []byte(h.text(1<<20)), []byte(h.text(1<<21))
		b.Run(h.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(small) + len(large)))
			var x Lexer
			x.Read(h.lang, large) // let its buffers grow first
			var one, two float64
			for b.Loop() {
				at := b.Elapsed()
				x.Read(h.lang, small)
				one += (b.Elapsed() - at).Seconds()
				at = b.Elapsed()
				x.Read(h.lang, large)
				two += (b.Elapsed() - at).Seconds()
			}
			b.ReportMetric(two/one, "times-for-twice")
		})
	}
}

// TestHostile reads hostile texts of a megabyte (an eighth of that in the short tier) and checks
// the properties that hold for any text.
func TestHostile(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			src := []byte(h.text(tier.Pick(1<<17, 1<<20, 1<<20)))
			var x Lexer
			checkText(t, x.Read(h.lang, src), src)
		})
	}
}

func ExampleLexer_Read() {
	src := []byte("// Add sums.\nfunc (c *Counter) Add(n int) {\n\tc.sum += n // no \"overflow\"\n}\n")
	var x Lexer
	text := x.Read(LangOf("counter.go"), src)
	for _, k := range text.Tokens {
		if k.Kind == Definition {
			fmt.Println("defines", string(k.Of(src)))
		}
	}
	for _, c := range text.Chunks {
		fmt.Println("lines", c.First, "to", c.Last)
	}
	// Output:
	// defines Add
	// lines 1 to 4
}

func ExampleSplitter_Split() {
	var s Splitter
	s.Split([]byte("parsingURLs"), func(t []byte) { fmt.Printf("%q ", t) })
	// Output: "pars" "url" "\x01parsingurls"
}
