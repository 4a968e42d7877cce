package tokenizer

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// sources returns Go source code of the standard library, about 6 MB.
func sources(b *testing.B) string {
	var all strings.Builder
	for _, dir := range []string{"net/http", "runtime"} {
		paths, _ := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", dir, "*.go"))
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				b.Fatal(err)
			}
			all.Write(data)
		}
	}
	if all.Len() == 0 {
		b.Skip("no Go sources at GOROOT")
	}
	return all.String()
}

// BenchmarkEncode encodes source code, in pieces of 4 KB (the size of files in a repository) and as
// a whole.
func BenchmarkEncode(b *testing.B) {
	text := sources(b)
	for _, name := range []string{"qwen2", "deepseek-coder", "deepseek-llm", "gpt-2", "llama-spm"} {
		tok := loadVocab(b, name)
		b.Run(name, func(b *testing.B) {
			var dst []int32
			b.SetBytes(4096)
			b.ReportAllocs()
			at := 0
			for b.Loop() {
				if at+4096 > len(text) {
					at = 0
				}
				dst = tok.Append(dst[:0], text[at:at+4096], false)
				at += 4096
			}
		})
	}
	tok := loadVocab(b, "qwen2")
	b.Run("qwen2-whole", func(b *testing.B) {
		var dst []int32
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			dst = tok.Append(dst[:0], text, false)
		}
		b.ReportMetric(float64(len(text))/float64(len(dst)), "bytes/token")
	})
	b.Run("qwen2-special", func(b *testing.B) {
		var dst []int32
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			dst = tok.Append(dst[:0], text, true)
		}
	})
}

// BenchmarkEncodeCold encodes with a tokenizer that has seen no text yet.
func BenchmarkEncodeCold(b *testing.B) {
	text := sources(b)
	f, err := gguf.Open(vocabPath(b, "qwen2"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		b.StopTimer()
		tok, err := FromGGUF(f)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		tok.Encode(text, false)
	}
}

// BenchmarkDecode decodes the tokens of source code.
func BenchmarkDecode(b *testing.B) {
	text := sources(b)
	tok := loadVocab(b, "qwen2")
	ids := tok.Encode(text, false)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		tok.Decode(ids)
	}
}

// BenchmarkFromGGUF builds tokenizers from open files.
func BenchmarkFromGGUF(b *testing.B) {
	for _, name := range []string{"qwen2", "llama-spm", "gpt-2"} {
		b.Run(name, func(b *testing.B) {
			f, err := gguf.Open(vocabPath(b, name))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := FromGGUF(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
