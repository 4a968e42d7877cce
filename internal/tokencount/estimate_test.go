package tokencount

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

func ExampleEstimate() {
	fmt.Println(Estimate("func main() { println(\"hello\") }"))
	fmt.Println(Estimate("expected 42, got 41"))
	// Output:
	// 9
	// 9
}

// samples are files of this module and of the Go distribution that the rates were not learned from.
func samples(t *testing.T) map[string]string {
	t.Helper()
	root := runtime.GOROOT()
	files := map[string]string{
		"Go":    filepath.Join(root, "src/go/types/call.go"),
		"prose": "../../README.md",
		"asm":   filepath.Join(root, "src/runtime/asm_amd64.s"),
		"sums":  "../../go.sum",
		"html":  filepath.Join(root, "doc/go_spec.html"),
	}
	out := map[string]string{"empty": "", "indent": strings.Repeat("\n        x = 1\n\t\ty = 2\n", 50)}
	for kind, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a Go distribution may lack its sources
		}
		out[kind] = string(text[:min(len(text), 60_000)])
	}
	return out
}

// TestAgainstVocabularies compares estimates with the real vocabularies' token counts.
//
// Evidence: compaction · Token estimates are close to real vocabularies
func TestAgainstVocabularies(t *testing.T) {
	bounds := map[string]float64{"qwen2": 0.20, "deepseek-llm": 0.20, "starcoder": 0.25}
	for model, bound := range bounds {
		path := devdata.Path(t, "moe-dev/vocab/ggml-vocab-"+model+".gguf")
		least, most := -bound, bound
		if devdata.Sampled(t, path) {
			least, most = -0.7, 0 // with a vocabulary of only a few hundred tokens, a text has up to three times as many tokens
		}
		f, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		v, err := tokenizer.FromGGUF(f)
		if err != nil {
			t.Fatal(err)
		}
		for kind, text := range samples(t) {
			real, guess := v.Count(text), Estimate(text)
			off := float64(guess-real) / math.Max(float64(real), 1)
			t.Logf("%-12s %-6s %6d tokens, estimated %6d (%+.1f %%), bytes/4 %+.1f %%", model, kind, real, guess, 100*off,
				100*(float64(len(text))/4/math.Max(float64(real), 1)-1))
			if off < least || off > most {
				t.Errorf("%s: %s: estimated %d of %d tokens", model, kind, guess, real)
			}
		}
	}
}

func TestEstimateDoesNotAllocate(t *testing.T) {
	text := "Caused by: java.lang.NullPointerException — at Foo.bar(Foo.java:17)\n\t日本語 ━━━ \xff"
	if n := testing.AllocsPerRun(100, func() { Estimate(text) }); n != 0 {
		t.Errorf("Estimate allocates %v times", n)
	}
}

func TestCountIsEstimateByClass(t *testing.T) {
	for kind, text := range samples(t) {
		if got, want := int(math.Round(Count(text).Sum())), Estimate(text); got != want {
			t.Errorf("%s: Count sums to %d, Estimate is %d", kind, got, want)
		}
	}
	for class, text := range map[Class]string{Words: "word", Digits: "1234", Spaces: "\n\n\t", Marks: "!?", Other: "日本"} {
		if c := Count(text); c[class] == 0 || c.Sum() != c[class] {
			t.Errorf("Count(%q) = %v, want all of it in class %d", text, c, class)
		}
	}
}

// FuzzPieces checks for arbitrary bytes that the pieces come to an end, cover the text, and have
// rates.
func FuzzPieces(f *testing.F) {
	f.Add("FooBar foo_bar  42\r\n\t日本\xff== ==")
	f.Add("HTTPServer\x00\x1b[31m ")
	f.Fuzz(func(t *testing.T, text string) {
		c := cutter{text: text}
		for at := 0; ; at = c.at {
			k, ok := c.next()
			if !ok {
				break
			}
			if k >= kinds || c.at <= at || c.at > len(text) {
				t.Fatalf("piece %d from %d to %d of %d bytes", k, at, c.at, len(text))
			}
		}
		if n := Estimate(text); n < 0 || n > 16*len(text)+1 {
			t.Fatalf("Estimate = %d for %d bytes", n, len(text))
		}
		if text != "" && utf8.ValidString(text) && strings.TrimSpace(text) != "" && len(text) > 200 && Estimate(text) == 0 {
			t.Fatalf("%d bytes are no token", len(text))
		}
	})
}

func BenchmarkEstimate(b *testing.B) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Estimate(string(text))
	}
}
