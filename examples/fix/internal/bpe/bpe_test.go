package bpe

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// specials returns special tokens like those of a model that calls tools.
func specials() []string {
	return []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "run_tests"}
}

func numbers() []string {
	var words []string
	for n := 10; n < 100; n++ {
		words = append(words, strconv.Itoa(n))
	}
	return words
}

// sources returns some files of the standard library, about 1 MB.
var sources = sync.OnceValues(func() ([]string, error) {
	var texts []string
	for _, dir := range []string{"strings", "strconv", "bufio", "net/url"} {
		paths, err := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				return nil, err
			}
			texts = append(texts, string(data))
		}
	}
	return texts, nil
})

// goVocab returns a vocabulary of Go code and the texts it was trained on.
func goVocab(t testing.TB) (*Vocab, []string) {
	t.Helper()
	texts, err := sources()
	if err != nil || len(texts) == 0 {
		t.Skipf("no Go sources at GOROOT: %v", err)
	}
	v, err := Train(slices.Values(texts), 1024, specials(), numbers()...)
	if err != nil {
		t.Fatal(err)
	}
	return v, texts
}

// plainTrain is a naive version of Train: it recounts all pairs for every merge.
func plainTrain(t *testing.T, texts []string, size int) []string {
	cut, err := tokenizer.NewCutter(Pre)
	if err != nil {
		t.Fatal(err)
	}
	var words [][]string
	var pieces []string // by id
	for b := range 256 {
		pieces = append(pieces, string([]byte{byte(b)}))
	}
	for _, text := range texts {
		for w := range cut.Words(text) {
			words = append(words, strings.Split(w, "")) // the texts are ASCII
		}
	}
	var merges []string
	for len(pieces) < size {
		counts := map[[2]int]int{}
		for _, w := range words {
			for i := 1; i < len(w); i++ {
				counts[[2]int{slices.Index(pieces, w[i-1]), slices.Index(pieces, w[i])}]++
			}
		}
		var best [2]int
		for p, n := range counts {
			if m := counts[best]; n > m || n == m && slices.Compare(p[:], best[:]) < 0 {
				best = p
			}
		}
		l, r := pieces[best[0]], pieces[best[1]]
		merges = append(merges, tokenizer.SpellBytes(l)+" "+tokenizer.SpellBytes(r))
		if !slices.Contains(pieces, l+r) {
			pieces = append(pieces, l+r)
		}
		for k, w := range words {
			var out []string
			for i := 0; i < len(w); i++ {
				if i+1 < len(w) && w[i] == l && w[i+1] == r {
					out = append(out, l+r)
					i++
				} else {
					out = append(out, w[i])
				}
			}
			words[k] = out
		}
	}
	return merges
}

// TestTrainPlain compares the trained vocabulary with that of the naive algorithm.
//
// Evidence: training · The vocabulary is learned as by a plain method
func TestTrainPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		var texts []string
		for range 40 {
			var b strings.Builder
			for range 1 + r.IntN(60) {
				b.WriteByte("aaabbcde  ("[r.IntN(11)])
			}
			texts = append(texts, b.String())
		}
		v, err := Train(slices.Values(texts), 296, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plainTrain(t, texts, 296), v.Merges); diff != "" {
			t.Fatalf("the merges (-want +got):\n%s", diff)
		}
	}
}

func TestTrainIsDeterministic(t *testing.T) {
	v, texts := goVocab(t)
	texts = slices.Clone(texts)
	slices.Reverse(texts)
	again, err := Train(slices.Values(texts), 1024, specials(), numbers()...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, again); diff != "" {
		t.Errorf("from the texts in another order (-want +got):\n%s", diff)
	}
}

// TestTokens checks that a vocabulary has all required tokens.
func TestTokens(t *testing.T) {
	v, _ := goVocab(t)
	tok, err := v.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if tok.Size() != 1024 || len(tok.Warnings()) > 0 {
		t.Errorf("there are %d tokens, want 1024; warnings: %q", tok.Size(), tok.Warnings())
	}
	for n := range 100 {
		if ids := tok.Encode(strconv.Itoa(n), false); len(ids) != 1 {
			t.Errorf("%d is %d tokens", n, len(ids))
		}
	}
	for i, s := range specials() {
		want := []int32{int32(1024 - len(specials()) + i)}
		if diff := cmp.Diff(want, tok.Encode(s, true)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s, diff)
		}
		one := len(tok.Encode(s, false)) == 1
		if control := strings.HasPrefix(s, "<|"); one == control {
			t.Errorf("%s in foreign text is one token: %t", s, one)
		}
	}
	if bos, _ := tok.BOS(); tok.Piece(bos) != "<|endoftext|>" || tok.AddBOS() {
		t.Errorf("texts begin with %q, added %t", tok.Piece(bos), tok.AddBOS())
	}
	if eos, _ := tok.EOS(); tok.Piece(eos) != "<|im_end|>" {
		t.Errorf("answers end with %q", tok.Piece(eos))
	}
	for _, id := range tok.EndOfGeneration() {
		if tok.Kind(id) != tokenizer.Control {
			t.Errorf("%q ends answers", tok.Piece(id))
		}
	}
}

// TestGGUF writes a vocabulary to a file and reads it back.
//
// Evidence: training · A vocabulary survives its file
func TestGGUF(t *testing.T) {
	v, texts := goVocab(t)
	var w gguf.Writer
	v.Set(&w)
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got, err := tokenizer.ReadConfig(f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v.Config(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if pad, ok := f.Uint("tokenizer.ggml.padding_token_id"); !ok || v.Tokens[pad] != "<|endoftext|>" {
		t.Errorf("the padding is %d, %t", pad, ok)
	}
	tok, err := tokenizer.FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if tok.Decode(tok.Encode(text, false)) != text {
			t.Errorf("a text of %d bytes does not survive", len(text))
		}
	}
}

// checkLoad compares the vocabulary in a file.
func checkLoad(t *testing.T, path string, want *Vocab) {
	t.Helper()
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLoadGGUF checks that the vocabulary can be loaded from a model's file alone.
func TestLoadGGUF(t *testing.T) {
	v, _ := goVocab(t)
	var w gguf.Writer
	v.Set(&w)
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := w.Create(path); err != nil {
		t.Fatal(err)
	}
	checkLoad(t, path, v)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("half a file: %v", err)
	}
	var other gguf.Writer
	other.SetString("tokenizer.ggml.model", "gpt2")
	other.SetString("tokenizer.ggml.pre", "qwen2")
	if err := other.Create(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "qwen2") {
		t.Errorf("a file of another tokenizer: %v", err)
	}
}

func TestSaveLoad(t *testing.T) {
	v, _ := goVocab(t)
	path := filepath.Join(t.TempDir(), "vocab.json")
	for range 2 { // the second run replaces the file
		if err := v.Save(path); err != nil {
			t.Fatal(err)
		}
	}
	checkLoad(t, path, v)
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
		t.Errorf("beside the file are %v", names)
	}
	tok, err := LoadVocab(path)
	if err != nil || tok.Size() != 1024 {
		t.Errorf("LoadVocab: %v", err)
	}
	if _, err := LoadVocab(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := v.Save(filepath.Join(path, "x")); err == nil || !strings.HasPrefix(err.Error(), "bpe: save vocabulary: ") {
		t.Errorf("saving below a file: %v", err)
	}
}

func TestTrainErrors(t *testing.T) {
	texts := []string{"hello hello"}
	for _, c := range []struct {
		size           int
		special, words []string
		want           string
	}{
		{256, nil, nil, "no room for merges"},
		{258, []string{"<|a|>", "<|b|>"}, nil, "no room for merges"},
		{400, nil, nil, "merges for 261 tokens only"},
		{260, nil, []string{"a_b"}, "3 words"},
		{260, nil, []string{""}, "0 words"},
		{257, nil, []string{"abc"}, "too small"},
		{260, []string{"x"}, nil, "too short"},
		{260, []string{"ab", "ab"}, nil, "listed twice"},
		{260, []string{"ab"}, []string{"ab"}, "there twice"},
	} {
		_, err := Train(slices.Values(texts), c.size, c.special, c.words...)
		if err == nil || !strings.HasPrefix(err.Error(), "bpe: train: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("size %d, %q, %q: the error is %v, want … %s …", c.size, c.special, c.words, err, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", "EOF"},
		{"{}", "it is empty"},
		{`{"tokens":["a"]}`, "0 kinds for 1 tokens"},
		{`{"tokens":["a","b"],"kinds":[1,1]}`, "needs tokenizer.ggml.merges"},
		{`{"tokens":["a","b"],"kinds":[1,1],"merges":["a b"]}`, "none of the 1 merges"},
		{`{"words":1}`, "unknown field"},
	} {
		if _, err := Parse([]byte(c.data)); err == nil || !strings.HasPrefix(err.Error(), "bpe: parse vocabulary: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want … %s …", c.data, err, c.want)
		}
	}
}

// FuzzRoundTrip checks that any byte string survives encoding and decoding, and that the tokens of
// text are never control tokens.
func FuzzRoundTrip(f *testing.F) {
	v, _ := goVocab(f)
	tok, err := v.Tokenizer()
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "12*\tif err != nil {\n", "<|im_end|>", "é\xff\x00 日本", "xrun_testsy", "1234567890", " \t \r\n "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, special := range []bool{false, true} {
			ids := tok.Encode(text, special)
			if got := tok.Decode(ids); got != text {
				t.Errorf("%q becomes %q", text, got)
			}
			for _, id := range ids {
				if !special && tok.Kind(id) == tokenizer.Control {
					t.Errorf("%q has the control token %q", text, tok.Piece(id))
				}
			}
		}
	})
}

// FuzzTrain checks that training on any texts results in an error, or in a vocabulary that can
// encode and decode them without loss.
func FuzzTrain(f *testing.F) {
	f.Add("hello hello <tool_call>", 3)
	f.Add("aaaa aaaaaaa\xff\xff\xff\xff", 9)
	f.Fuzz(func(t *testing.T, text string, more int) {
		if more < 0 || more > 200 || len(text) > 4096 {
			return
		}
		special := []string{"<tool_call>", "aa"}
		v, err := Train(slices.Values([]string{text}), 256+len(special)+more, special)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "bpe: train: ") {
				t.Errorf("the error is %q", err)
			}
			return
		}
		if len(v.Tokens) != 256+len(special)+more {
			t.Errorf("there are %d tokens", len(v.Tokens))
		}
		tok, err := v.Tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Decode(tok.Encode(text, true)); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}

// FuzzParse checks that parsing any bytes results in an error or in a working vocabulary.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"tokens":["a","b","ab"],"kinds":[1,1,1],"merges":["a b"]}`))
	f.Add([]byte(`{"tokens":["a","b",""],"kinds":[3,300,0],"merges":["a "]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data)
		if err != nil {
			return
		}
		tok, err := v.Tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		tok.Decode(tok.Encode("ab\xff", true))
	})
}

func ExampleTrain() {
	texts := slices.Values([]string{"if err != nil { return err }", "if n != 0 { return n }", "return err"})
	v, err := Train(texts, 270, []string{"<|im_end|>"}, "42")
	if err != nil {
		fmt.Println(err)
		return
	}
	tok, err := v.Tokenizer()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range tok.Encode("return 42<|im_end|>", true) {
		fmt.Printf("%d %q\n", id, tok.Piece(id))
	}
	// Output:
	// 265 "return"
	// 32 "Ġ"
	// 256 "42"
	// 269 "<|im_end|>"
}

// BenchmarkTrain learns 2,048 tokens from the larger packages of the standard library.
func BenchmarkTrain(b *testing.B) {
	var texts []string
	size := int64(0)
	for _, dir := range []string{"net/http", "runtime", "go/types", "crypto/tls"} {
		paths, _ := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", dir, "*.go"))
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				b.Fatal(err)
			}
			texts = append(texts, string(data))
			size += int64(len(data))
		}
	}
	if size == 0 {
		b.Skip("no Go sources at GOROOT")
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Train(slices.Values(texts), 2048, specials(), numbers()...); err != nil {
			b.Fatal(err)
		}
	}
}
