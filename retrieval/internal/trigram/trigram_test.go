package trigram

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

func index(t testing.TB, docs ...string) *Reader {
	t.Helper()
	b := NewBuilder()
	for i, d := range docs {
		b.Add(uint32(i), []byte(d))
	}
	r, err := Open(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestQueries(t *testing.T) {
	tests := []struct {
		pattern string
		flags   syntax.Flags
		want    string
	}{
		{`foobar`, syntax.Perl, `"bar" "foo" "oba" "oob"`},
		{`FooBar`, syntax.Perl | syntax.FoldCase, `"bar" "foo" "oba" "oob"`},
		{`ab`, syntax.Perl, `ALL`},
		{``, syntax.Perl, `ALL`},
		{`.*`, syntax.Perl, `ALL`},
		{`[a-z]+`, syntax.Perl, `ALL`},
		{`a.c`, syntax.Perl, `ALL`},
		{`a.c`, syntax.Literal, `"a.c"`},
		{`foo.*bar`, syntax.Perl, `"bar" "foo"`},
		{`(?s)foo.bar`, syntax.Perl, `"bar" "foo"`},
		{`foo|bar`, syntax.Perl, `"bar"|"foo"`},
		{`foo|b`, syntax.Perl, `ALL`},
		{`x(foo|bar)y`, syntax.Perl, `("ary" "bar" "xba")|("foo" "ooy" "xfo")`},
		{`fo[ox]`, syntax.Perl, `"foo"|"fox"`},
		{`fo[^o]`, syntax.Perl, `ALL`},
		{`fo+d`, syntax.Perl, `ALL`},
		{`(foo)+d`, syntax.Perl, `"foo" "ood"`},
		{`(foo)*bar`, syntax.Perl, `"bar"`},
		{`(foo)?bar`, syntax.Perl, `"bar"`},
		{`x(foo)?bar`, syntax.Perl, `"bar" ("xba"|("foo" "oba" "oob" "xfo"))`},
		{`(ab){2}`, syntax.Perl, `"aba" "bab"`},
		{`(ab){2,}c`, syntax.Perl, `"aba" "abc" "bab"`},
		{`a{3,5}`, syntax.Perl, `"aaa"`},
		{`a{0}b{0,1}`, syntax.Perl, `ALL`},
		{`(?m)^if`, syntax.Perl, `"\nif"`},
		{`^if`, syntax.Perl, `"\nif"`},
		{`(?m)if$`, syntax.Perl, `"if\n"|"if\r"`},
		{`(^|x)if`, syntax.Perl, `"\nif"|"xif"`},
		{`x^if`, syntax.Perl, `"xif"`},
		{`\bfoo\b`, syntax.Perl, `"foo"`},
		{"\u212aelvin", syntax.Perl, `"elv" "kel" "lvi" "vin"`},
		{"foo\u017f", syntax.Perl | syntax.FoldCase, `"foo" "oos"`},
		{"ÄÖ", syntax.Perl | syntax.FoldCase, `"\x84Ö" "Ä\xc3"`},
		{"fo\uFFFDobar", syntax.Perl, `"bar" "oba"`},
		{`[^\x00-\x{10FFFF}]abc`, syntax.Perl, `NONE`},
		{`[0-9][0-9]abc`, syntax.Perl, `"abc" ("0ab"|"1ab"|"2ab"|"3ab"|"4ab"|"5ab"|"6ab"|"7ab"|"8ab"|"9ab")`},
	}
	for _, tt := range tests {
		q, err := Compile(tt.pattern, tt.flags)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, q.String()); diff != "" {
			t.Errorf("%q %+v (-want +got):\n%s", tt.pattern, tt.flags, diff)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	if _, err := Compile(`a(`, syntax.Perl); err == nil {
		t.Fatal("no error")
	}
}

func TestCandidates(t *testing.T) {
	docs := []string{
		"func main() {}\n", "FUNC MAIN\r\n", "the \u212aelvin \u017fcale", "", "\n", "a", "caf\xe9 \xff\xfe bytes",
		"ÄÖÜ äöü", "main\nfunc", "if x {\r\n\tif y", "δοκιμή ΔΟΚΙΜΉ", "漢字かな",
	}
	r := index(t, docs...)
	tests := []struct {
		pattern string
		flags   syntax.Flags
		want    []uint32
	}{
		{`func main`, syntax.Perl, []uint32{0, 1}}, // the index ignores case
		{`func\s+main`, syntax.Perl, []uint32{0, 1, 8}},
		{`kelvin scale`, syntax.Perl | syntax.FoldCase, []uint32{2}},
		{`nothing`, syntax.Perl, nil},
		{`^if`, syntax.Perl, []uint32{9}},
		{`^\tif`, syntax.Perl, []uint32{9}},
		{`äöü`, syntax.Perl | syntax.FoldCase, []uint32{7}},
		{`(?i)δοκ`, syntax.Perl, []uint32{10}},
		{`字か`, syntax.Perl, []uint32{11}},
		{`main$`, syntax.Perl, []uint32{1, 8}},
		{`main|caf`, syntax.Perl, []uint32{0, 1, 6, 8}},
		{`.`, syntax.Perl, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	}
	for _, tt := range tests {
		q, err := Compile(tt.pattern, tt.flags)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Candidates(q)
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: asked %s (-want +got):\n%s", tt.pattern, q, diff)
		}
	}
}

// TestNumbersOfDocuments: the numbers of documents may have gaps.
func TestNumbersOfDocuments(t *testing.T) {
	b := NewBuilder()
	want := []uint32{3, 70000, 1<<32 - 1}
	for _, d := range want {
		b.Add(d, []byte("some text"))
	}
	r, err := Open(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	q, _ := Compile("text", syntax.Perl)
	if diff := cmp.Diff(want, r.Candidates(q)); diff != "" {
		t.Error(diff)
	}
	defer func() {
		if recover() == nil {
			t.Error("a document out of order was taken")
		}
	}()
	b.Add(5, nil)
}

func TestLists(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 1 + rnd.IntN(1<<(1+rnd.IntN(12)))
		odds := rnd.Float64()
		var want []uint32
		for i := range n {
			if rnd.Float64() < odds {
				want = append(want, uint32(i))
			}
		}
		w := bitWriter{out: []byte("before")}
		w.list(want, uint32(n))
		got := make([]uint32, len(want))
		r := bitReader{data: w.out[len("before"):]}
		r.list(got, 0, uint32(n))
		if !slices.Equal(want, got) {
			t.Fatalf("%d of %d: wrote %v, read %v", len(want), n, want, got)
		}
	}
}

func TestFold(t *testing.T) {
	for r := rune(0); r <= 0x10ffff; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		want := []byte(string(foldRune(r)))
		got := appendFolded(nil, []byte(string(r)))
		if !bytes.Equal(want, got) {
			t.Fatalf("%U: text %q, pattern %q", r, got, want)
		}
		for _, f := range orbit(r) {
			if foldRune(f) != foldRune(r) {
				t.Fatalf("%U and %U differ in case only and are folded to %U and %U", r, f, foldRune(r), foldRune(f))
			}
		}
	}
}

// TestNoneMissing checks, for any expression, that every document in which package regexp finds a
// match is a candidate.
func TestNoneMissing(t *testing.T) {
	tier.Normal(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	rounds := 150
	if testing.Short() {
		rounds = 60
	}
	asked, named, matching := 0, 0, 0
	for range rounds {
		g := generator{rnd: rnd, alphabet: alphabets[rnd.IntN(len(alphabets))]}
		docs := make([]string, 1+rnd.IntN(60))
		for i := range docs {
			docs[i] = g.text(rnd.IntN(40))
		}
		r := index(t, docs...)
		for range 60 {
			tree := g.tree(rnd.IntN(4))
			re, err := regexp.Compile(tree.String())
			if err != nil {
				continue
			}
			q := CompileTree(tree)
			got := r.Candidates(q)
			for i, d := range docs {
				if !re.MatchString(d) {
					continue
				}
				matching++
				if _, ok := slices.BinarySearch(got, uint32(i)); !ok {
					t.Fatalf("%s matches %q, which is no candidate; asked for %s", re, d, q)
				}
			}
			if !q.All() {
				asked++
				named += len(got)
			}
		}
	}
	t.Logf("%d queries that the index could help with, %d candidates for them, %d matching documents in all", asked, named, matching)
	if asked < rounds || matching < rounds {
		t.Error("the expressions ask for too little to be a test")
	}
}

// orbit returns r and all characters that differ from it only in case.
func orbit(r rune) []rune {
	out := []rune{r}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		out = append(out, f)
	}
	return out
}
