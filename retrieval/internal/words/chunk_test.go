package words

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

// spans returns each chunk as "first-last title".
func spans(text Text, src string) (out []string) {
	names := titles(text, src)
	for i, c := range text.Chunks {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d-%d %s", c.First, c.Last, names[i])))
	}
	return out
}

func TestChunks(t *testing.T) {
	body := strings.Repeat("\tx()\n", 6)
	for _, c := range []struct {
		name, file, src string
		want            []string
	}{
		{"a function is a chunk, with its comment", "a.go", "package a\n\nimport \"x\"\n\n// A does.\n// More.\nfunc A() {\n" + body + "}\n\nfunc B() {\n" + body + "}\n",
			[]string{"1-4", "5-15 A", "16-23 B"}},
		{"small ones share one", "a.go", "package a\nvar a = 1\nvar b = 2\nfunc C() {}\nfunc D() {}\nfunc E() {}\n",
			[]string{"1-1", "2-6 a"}},
		{"decorators belong to what follows", "a.py", "import a\n\n@wrap\n@cached\ndef f():\n" + strings.ReplaceAll(body, "\t", "    ") + "\n# about g\ndef g():\n    pass\n",
			[]string{"1-2", "3-12 f", "13-15 g"}},
		{"methods are chunks, nested functions are not", "a.py", "class A:\n    def f(self):\n        x\n        def inner():\n            y\n        z\n    def g(self):\n        w\n",
			[]string{"1-6 A", "7-8 g"}},
		{"annotations on the line of the method", "A.java", "class A {\n" + strings.Repeat("  @Override public void run() {\n    a();\n    b();\n    c();\n    d();\n  }\n", 2) + "}\n",
			[]string{"1-7 A", "8-14 run"}},
		{"annotated methods of one line", "A.java", "class A {\n" + strings.Repeat("  @Override public void run() {}\n", 12) + "}\n",
			[]string{"1-5 A", "6-10 run", "11-14 run"}},
		{"a method of Rust after an impl", "a.rs", "struct A;\n\nimpl<T> fmt::Display for A<T> {\n    #[inline]\n    fn fmt(&self) {\n        a\n    }\n\n    /// Doc.\n    fn other() {}\n}\n",
			[]string{"1-8 A", "9-11 other"}},
		{"headings", "a.md", "# One\n\na\n\nb\n\n## Two\n\nc\n", []string{"1-6 One", "7-9 Two"}},
		{"C with the type on its own line", "a.c", "#include <a.h>\n\n/* about */\nstatic int\nmain(int c)\n{\n" + body + "}\n", []string{"1-4", "5-13 main"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, spans(read(t, c.file, c.src), c.src)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestLongFunction checks that a definition that is too long for a chunk is cut after a blank line
// with little indentation, and that every piece has the title.
func TestLongFunction(t *testing.T) {
	var b strings.Builder
	b.WriteString("package a\n\nfunc Long() {\n")
	for i := range 200 {
		if i%10 == 9 {
			b.WriteString("\n")
		} else {
			fmt.Fprintf(&b, "\t\tx%d()\n", i)
		}
	}
	b.WriteString("}\n")
	src := b.String()
	text := read(t, "a.go", src)
	lines := strings.Split(src, "\n")
	for i, c := range text.Chunks[1:] {
		if name := titles(text, src)[i+1]; name != "Long" {
			t.Errorf("chunk %d is named %q", i+1, name)
		}
		if c.First > 3 && lines[c.First-2] != "" {
			t.Errorf("chunk %d begins with line %d, %q, behind %q", i+1, c.First, lines[c.First-1], lines[c.First-2])
		}
	}
	if len(text.Chunks) < 5 {
		t.Errorf("%d chunks", len(text.Chunks))
	}
}

// TestChunksOfRandomTexts checks that lines of every length and depth, in every language, are
// divided into chunks that pass checkText.
func TestChunksOfRandomTexts(t *testing.T) {
	pieces := []string{"func f() {\n", "}\n", "\n", "  ", "\t", "x\n", "// c\n", "# h\n", "@A\n", "@A void f() {\n", "class C:\n", "def f():\n", "/*", "*/\n", "\"", "`", "'''\n",
		"#if A\n", "#else\n", "#endif\n", "#define X {\n", "\\\n", "\r\n", "fn f<T>(x: T) {\n", "impl A for B {\n", "(", ")", "x = (a) => {\n", "a: {\n", ";\n", "typedef struct {\n", "CREATE TABLE a (\n", strings.Repeat("y\n", 50)}
	var x Lexer
	rng := rand.New(rand.NewPCG(1, 2))
	for range tier.Pick(800, 4000, 4000) {
		var b strings.Builder
		for range rng.IntN(120) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		src := []byte(b.String())
		for l := range Lang(len(syntaxes)) {
			checkText(t, x.Read(l, src), src)
		}
	}
}

// TestChunksOfRealTexts checks the library of Go and the snippets of all languages.
func TestChunksOfRealTexts(t *testing.T) {
	var x Lexer
	n := 0
	for _, dir := range []string{filepath.Join(runtime.GOROOT(), "src", "net"), filepath.Join("..", "symbols", "testdata", "forms"), ".."} {
		err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil
			}
			src, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			checkText(t, x.Read(LangOf(name), src), src)
			n++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 300 {
		t.Errorf("only %d files", n)
	}
}
