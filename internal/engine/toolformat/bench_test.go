package toolformat

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
)

// benchText returns a message of prose and one call that writes a file.
func benchText(f *Format) string {
	code := strings.Repeat("func f(x int) int {\n\tif x < 3 { return \"a\" }\n\treturn x\n}\n", 300)
	prose := strings.Repeat("This changes the loop so that it stops at the end of the file. ", 100)
	call := Call{ID: "abc123def", Name: "write", Args: []byte(`{"path":"a.go","content":` + quote(code) + `}`)}
	return prose + "\n" + f.Write([]Call{call})
}

// BenchmarkParser reads a message in pieces of about a token.
func BenchmarkParser(b *testing.B) {
	tools := []Tool{{Name: "write", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)}}
	for _, name := range []string{"hermes-json", "qwen3-coder-xml", "mistral-args", "harmony", "lfm2-pythonic", "gemma4"} {
		f := Lookup(name)
		text := benchText(f)
		for _, size := range []int{4, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					p := f.NewParser(tools, ParserOptions{})
					for rest := text; rest != ""; {
						n := min(size, len(rest))
						p.Feed(rest[:n])
						rest = rest[n:]
					}
					if _, err := p.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkContent reads prose without markers.
func BenchmarkContent(b *testing.B) {
	f := Lookup("hermes-json")
	text := strings.Repeat("This changes the loop so that it stops at the end of the file. ", 1000)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p := f.NewParser(nil, ParserOptions{})
		for rest := text; rest != ""; {
			n := min(4, len(rest))
			p.Feed(rest[:n])
			rest = rest[n:]
		}
		p.Close()
	}
}

// BenchmarkRender renders an agent's conversation.
func BenchmarkRender(b *testing.B) {
	src, err := os.ReadFile(devdata.Path(b, "moe-dev/templates/Qwen3-Coder.jinja"))
	if err != nil {
		b.Fatal(err)
	}
	t, err := NewTemplate(string(src), "<s>", "</s>")
	if err != nil {
		b.Fatal(err)
	}
	c := agentTurns()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Render(c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGrammar creates the grammar of some tools.
func BenchmarkGrammar(b *testing.B) {
	f := Lookup("qwen3-coder-xml")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Grammar(grammarTools, Choice{Mode: Auto, Parallel: true}); err != nil {
			b.Fatal(err)
		}
	}
}
