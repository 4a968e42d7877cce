package words

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// seeds adds the snippets of all languages, and texts with unclosed constructs, as seeds.
func seeds(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "symbols", "testdata", "forms", "*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(LangOf(name)), src)
	}
	for l := range syntaxes {
		f.Add(uint8(l), []byte("\uFEFFdef f(a, b=1): x = `${`a`}` # c\n@A(1) func (r T[K, V]) Get(x int) { return /a'[/]/ }\r\n#if A\n{\n#else\n{\n#endif\n}"))
		f.Add(uint8(l), []byte("impl<'a, T: Fn(u8) -> u8> fmt::Display for A<T> where T: B { const fn f() {} }\ntypedef struct a { int b; } c, *d;\n\"\"\"x\n'''y /* z <!-- -- {- "))
	}
}

// FuzzRead reads arbitrary text in any language. checkText checks the result; the lexer is used
// twice, because it keeps buffers.
func FuzzRead(f *testing.F) {
	seeds(f)
	var used Lexer
	f.Fuzz(func(t *testing.T, lang uint8, src []byte) {
		l := Lang(lang) % Lang(len(syntaxes))
		var fresh Lexer
		text := fresh.Read(l, src)
		checkText(t, text, src)
		if d := cmp.Diff(text, used.Read(l, src), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("what was read before makes a difference (-fresh +used):\n%s", d)
		}
		// Every byte of a word must be in a token.
		words, covered := 0, 0
		for _, b := range src[bom(src):] {
			if InWord(b) {
				words++
			}
		}
		for _, k := range text.Tokens {
			covered += int(k.Len)
			for _, b := range k.Of(src) {
				if !InWord(b) {
					t.Fatalf("the token %q is no word", k.Of(src))
				}
			}
		}
		if words != covered && len(src) < 1<<15 { // longer tokens are cut
			t.Fatalf("tokens have %d of %d bytes of words", covered, words)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", "a", "parseFile", "HTTPServer2", "user_IDs", "__init__", "straße", "naïveÜber", "日本語", "\xff\xfe", "queries", "\xc3", "e\u0301s", "ies", "xed", "eing"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, word []byte) {
		given := bytes.Clone(word)
		var s Splitter
		whole := 0
		s.Split(word, func(term []byte) {
			switch {
			case len(term) == 0:
				t.Fatal("an empty term")
			case len(term) > len(word)+1:
				t.Fatalf("the term %q is longer than the word %q", term, word)
			case term[0] == Whole:
				whole++
			case bytes.ContainsAny(term, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"):
				t.Fatalf("%q gives %q", word, term)
			}
		})
		if whole > 1 {
			t.Fatalf("%q has %d wholes", word, whole)
		}
		if !bytes.Equal(given, word) {
			t.Fatalf("%q was changed to %q", given, word)
		}
		low := bytes.ToLower(bytes.Clone(word))
		if stem := Stem(bytes.Clone(low)); len(stem) > len(low) || len(low) > 0 && len(stem) == 0 {
			t.Fatalf("the stem of %q is %q", low, stem)
		}
	})
}
