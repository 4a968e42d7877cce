package tokenizer

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// vocabDir has real vocabularies as GGUF files. Most come with texts (.inp) and the ids that the
// models' own tokenizers produce for them (.out).
const vocabDir = "moe-dev/vocab/ggml-vocab-"

var loaded sync.Map // name → *Tokenizer: the files are large, and a tokenizer is immutable

// loadVocab loads one of the real vocabularies or skips the test.
func loadVocab(tb testing.TB, name string) *Tokenizer {
	tb.Helper()
	if t, ok := loaded.Load(name); ok {
		return t.(*Tokenizer)
	}
	f, err := gguf.Open(vocabPath(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	t, err := FromGGUF(f)
	if err != nil {
		tb.Fatal(err)
	}
	loaded.Store(name, t)
	return t
}

func vocabPath(tb testing.TB, name string) string {
	tb.Helper()
	return devdata.Path(tb, vocabDir+name+".gguf")
}

// vector is a text and its ids.
type vector struct {
	text string
	ids  []int32
}

// readVectors reads the texts of the file base.inp and the ids of base.out. It returns nil if the
// files do not exist.
func readVectors(tb testing.TB, base string) []vector {
	tb.Helper()
	in, err := os.ReadFile(base + ".inp")
	if err != nil {
		return nil
	}
	out, err := os.ReadFile(base + ".out")
	if err != nil {
		tb.Fatal(err)
	}
	const mark = "\n__ggml_vocab_test__\n" // after every text
	texts := strings.Split(strings.TrimSuffix(string(in), mark), mark)
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(texts) != len(lines) {
		tb.Fatalf("%s: %d texts, %d lines", base, len(texts), len(lines))
	}
	var vs []vector
	for i, text := range texts {
		v := vector{text: text}
		for _, field := range strings.Fields(lines[i]) {
			id, err := strconv.ParseInt(field, 10, 32)
			if err != nil {
				tb.Fatal(err)
			}
			v.ids = append(v.ids, int32(id))
		}
		vs = append(vs, v)
	}
	return vs
}

// vocabNames returns the names of the vocabularies that are available.
func vocabNames(tb testing.TB) []string {
	tb.Helper()
	var names []string
	for _, p := range devdata.Glob(tb, vocabDir+"*.gguf") {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(p), "ggml-vocab-"), ".gguf"))
	}
	return names
}

// TestVectors encodes the texts that come with the vocabularies.
//
// Evidence: engine · Tokenizers match real vocabularies
func TestVectors(t *testing.T) {
	for _, name := range vocabNames(t) {
		t.Run(name, func(t *testing.T) {
			tok := loadVocab(t, name)
			for _, w := range tok.Warnings() {
				t.Log("warning:", w)
			}
			vs := readVectors(t, vocabPath(t, name))
			if vs == nil {
				t.Skip("no vectors come with this vocabulary; it loads")
			}
			for _, v := range vs {
				if diff := cmp.Diff(v.ids, tok.Encode(v.text, false), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("Encode(%q) (-want +got):\n%s", v.text, diff)
				}
			}
		})
	}
}
