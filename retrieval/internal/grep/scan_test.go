package grep

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

// slowly finds the matching lines with package regexp, line by line.
func slowly(re *regexp.Regexp, text []byte) (out []Line) {
	number, at := 0, 0
	for part := range bytes.Lines(text) {
		line := bytes.TrimSuffix(part, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		number++
		if re.Match(line) {
			out = append(out, Line{number, at, at + len(line)})
		}
		at += len(part)
	}
	return out
}

var patterns = []string{
	``, `.*`, `^`, `$`, `^$`, `a`, `e`, `\r`, `foo`, `func`, `[a-z]+`, `[^a]`, `.`, `a.b`, `a.*b`, `^a`, `a$`, `^a.*b$`, `\bfoo\b`, `\Bo`, `o\B`,
	`\b`, `\B`, `\Aa`, `b\z`, `(?i)foo`, `(?i)k`, `(?i)s+`, `é`, `[à-ü]`, `(?i)É`, "\uFFFD", `[^\x00-\x7f]`, `\pL{3}`, `foo|bar|baz`, `(foo|bar)+x`,
	`x*`, `x+y?z{2,3}`, `foo.*bar`, `a\nb`, `\s`, `\s$`, `[[:punct:]]`, `\d+\.\d+`, `(a|ab)(c|bcd)(d*)`, `^(\s*)(\w+)`, `漢字`, `[漢字]+`, `.漢.`,
	`^foo$|bar`, `(^|\W)a(\W|$)`, `[^\n]`, `(?s).`, `\z`, `a\r`, `[ab]*a[ab]{6}`, `[^\x00-\x{10FFFF}]`, `foo[^\x00-\x{10FFFF}]`,
	`\bx\b`, `\Bx`, `(?i)\bAb\b`, `\ba{1,2}b`, `^a{1,3}b+$`, `(xy|x)?zz`, `(aab|bar|xyz|zzz|foo|baz|0\.5|FOO|func|é|漢)x`, `(x*|ba)z`, `(?i)ſ.`, `a.?z|ba|xy`, `\b(x|0)\b.z?`,
}

var words = []string{
	"foo", "bar", "baz", "a", "b", "ab", "x", " ", "\t", "\n", "\n", "\r\n", "\r", "é", "É", "\u212a", "\u017f", "K", "漢字", "\xff", "\xe6\xbc", "func", "0.5",
	"_", "-", "e", "", "\uFFFD", "xyzz", "aaabab", "FOO", "foobar", "aab",
}

func TestLines(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var texts [][]byte
	for range tier.Pick(250, 600, 600) {
		var b strings.Builder
		for range rnd.IntN(30) {
			b.WriteString(words[rnd.IntN(len(words))])
		}
		texts = append(texts, []byte(b.String()))
	}
	matched := 0
	for _, pattern := range patterns {
		p, err := Compile(pattern, Options{})
		if err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile(pattern)
		s := p.Scanner()
		noTable := &Scanner{p: p}
		for _, text := range texts {
			want := slowly(re, text)
			matched += len(want)
			if diff := cmp.Diff(want, s.Append(nil, text, -1)); diff != "" {
				t.Fatalf("%q in %q (-want +got):\n%s", pattern, text, diff)
			}
			if diff := cmp.Diff(want, noTable.Append(nil, text, -1)); diff != "" && !p.every {
				t.Fatalf("without automaton: %q in %q (-want +got):\n%s", pattern, text, diff)
			}
			if n := rnd.IntN(4); n < len(want) {
				if diff := cmp.Diff(want[:n], append([]Line{}, s.Append(nil, text, n)...)); diff != "" {
					t.Fatalf("first %d of %q in %q (-want +got):\n%s", n, pattern, text, diff)
				}
			}
		}
		if p.auto == nil || s.table == nil && !p.every && !p.whole {
			t.Errorf("%q has no automaton", pattern)
		}
	}
	if matched < 1000 {
		t.Errorf("%d lines matched: too few for a test", matched)
	}
}

func TestOptions(t *testing.T) {
	text := []byte("a.c\nabc\nA.C\n")
	for _, tt := range []struct {
		pattern string
		opts    Options
		want    []int
	}{
		{"a.c", Options{}, []int{1, 2}},
		{"a.c", Options{Literal: true}, []int{1}},
		{"a.c", Options{FoldCase: true}, []int{1, 2, 3}},
		{"a.c", Options{Literal: true, FoldCase: true}, []int{1, 3}},
	} {
		p, err := Compile(tt.pattern, tt.opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, l := range p.Scanner().Append(nil, text, -1) {
			got = append(got, l.Number)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q %+v (-want +got):\n%s", tt.pattern, tt.opts, diff)
		}
	}
	if _, err := Compile("a(", Options{}); err == nil {
		t.Error("a( was taken")
	}
}

func TestFind(t *testing.T) {
	p, err := Compile(`o+$`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{4, 6}, p.Find([]byte("foo oo"))); diff != "" {
		t.Error(diff)
	}
	if got := p.Find([]byte("oof")); got != nil {
		t.Error(got)
	}
}

func TestRequired(t *testing.T) {
	for _, tt := range []struct {
		pattern, need string
		whole         bool
	}{
		{`foobar`, "foobar", true}, {`foo.*barbaz`, "barbaz", false}, {`(foo)(bar)`, "foobar", true}, {`(?i)foo`, "", false},
		{`fo+bar`, "bar", false}, {`(foo)+`, "foo", false}, {`(foo)*x`, "x", false}, {`(foo){2}`, "foo", false}, {`foo|bar`, "", false},
		{`foo[ab]r`, "foo", false}, {`^foo`, "foo", false}, {"a\uFFFDb", "", false}, {`x{0}y`, "y", false},
	} {
		tree, err := syntax.Parse(tt.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		need, whole := required(tree)
		if string(need) != tt.need || whole != tt.whole {
			t.Errorf("%q: %q %v, want %q %v", tt.pattern, need, whole, tt.need, tt.whole)
		}
	}
}

// TestTooManyStates checks that an expression with too many states is handed over to package regexp
// in the middle of a text, and that no line is lost.
func TestTooManyStates(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	var text []byte
	for range 500 {
		text = append(text, 'a')
		for range 400 {
			text = append(text, "ab"[rnd.IntN(2)])
		}
		text = append(text, strings.Repeat("a", 23)+"bb"+strings.Repeat("a", 50)+"b\n"...)
	}
	pattern := `^a[ab]*a[ab]{18}a[ab]{3}bb[ab]{50}b$`
	p, err := Compile(pattern, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Scanner()
	s.resets = maxResets - 1
	got := s.Append(nil, text, -1)
	if s.table != nil {
		t.Errorf("%d resets: the states sufficed, so that this is no test", s.resets)
	}
	if diff := cmp.Diff(slowly(regexp.MustCompile(pattern), text), got); diff != "" || len(got) != 500 {
		t.Errorf("%d lines:\n%s", len(got), diff)
	}
}

func FuzzLines(f *testing.F) {
	for i, p := range patterns {
		f.Add(p, strings.Join(words[i%20:i%20+10], ""))
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 2000 {
			t.Skip()
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Skip()
		}
		p, err := Compile(pattern, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slowly(re, []byte(text)), p.Scanner().Append(nil, []byte(text), -1)); diff != "" {
			t.Fatalf("%q in %q (-want +got):\n%s", pattern, text, diff)
		}
	})
}
