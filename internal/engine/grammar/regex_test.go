package grammar

import (
	"regexp"
	"testing"
)

// TestPattern checks that patterns accept and refuse the right texts, in agreement with Go's regexp
// if that can parse the pattern.
func TestPattern(t *testing.T) {
	texts := []string{"", "a", "ab", "abc", "aab", "b", "ba", "12", "2024-01-31", "x9", "a b", "é", "😀", "a\nb", "foo.bar", "FOO", "_x-1", "aaaa", "abab"}
	for _, p := range []string{
		`a`, `^a`, `a$`, `^a$`, `^a|b$`, `^(a|b)*$`, `^(?:^a$)$`, `^(^a|^b)`, `(a$|b$)$`, `^$`, ``, `^.*$`, `\d`, `^\d{2,3}$`, `^\w+$`, `\s`, `[^a-c]`,
		`^[\w.-]+$`, `a{2}`, `a{2,}`, `^a{0,2}$`, `(ab)+`, `^(ab){2}$`, `^[^\d]+$`, `^\D*$`, `a|`, `^(a|)$`, `x?9`, `\.`, `[.]`, `[a\]]`, `é`, `\x61`, `[[:]a]`,
	} {
		d, err := compilePattern(p, false)
		if err != nil {
			t.Errorf("%q: %v", p, err)
			continue
		}
		ref := regexp.MustCompile(p)
		for _, s := range texts {
			want := ref.MatchString(s)
			if got := !d.empty() && reads(d, s) >= 0; got != want {
				t.Errorf("%q on %q: got %v, want %v", p, s, got, want)
			}
		}
	}
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{`^(?!foo)`, "foo", false}, {`^(?!foo)`, "fo", true}, {`^(?=.*\d)(?=.*[a-z]).{3,}$`, "a1x", true}, {`^(?=.*\d)(?=.*[a-z]).{3,}$`, "abc", false},
		{`a(?!b)`, "ab", false}, {`a(?!b)`, "abac", true}, {`^(a(?=b)|c)`, "ab", true}, {`^(a(?=b)|c)`, "ac", false}, {`^\p{Lu}`, "Éa", true}, {`^\p{Lu}`, "éa", false},
		{`^\u{1F600}$`, "😀", true}, {`^\ud83d\ude00$`, "😀", true}, {`^.$`, "😀", true}, {`^[^\n]$`, "\u2028", true}, {`^.$`, "\u2028", false},
	} {
		d, err := compilePattern(c.pattern, false)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
		} else if got := !d.empty() && reads(d, c.text) >= 0; got != c.want {
			t.Errorf("%q on %q: got %v", c.pattern, c.text, got)
		}
	}
	for _, p := range []string{`(`, `)`, `[a`, `a**b(`, `\`, `(?<=a)b`, `\bx`, `(a)\1`, `a{3,2}`, `[z-a]`, `\p{Nope}`, `*a`, `((?=a)b)*`} {
		if _, err := compilePattern(p, false); err == nil {
			t.Errorf("%q: compiled", p)
		}
	}
}
