package grammar

import "testing"

// byteVocab returns a vocabulary of all single bytes, some words, and an end token.
func byteVocab(words ...string) *Vocab {
	pieces := make([][]byte, 0, 300)
	for b := range 256 {
		pieces = append(pieces, []byte{byte(b)})
	}
	for _, w := range words {
		pieces = append(pieces, []byte(w))
	}
	end := int32(len(pieces))
	return NewVocab(len(pieces)+1, func(id int32) []byte {
		if id == end {
			return nil
		}
		return pieces[id]
	}, []int32{end})
}

// accepts reads text byte by byte and reports whether it is accepted.
func accepts(g *Grammar, text string) bool {
	s := g.Start()
	for i := range len(text) {
		var ok bool
		if s, ok = g.Next(s, int32(text[i])); !ok {
			return false
		}
	}
	return g.Accepts(s)
}

func TestText(t *testing.T) {
	v := byteVocab("hello", "if", `"}`)
	for _, c := range []struct {
		src     string
		yes, no []string
	}{
		{`root ::= "a" b* # comment
b ::= "b" | "c" root "d"`, []string{"a", "ab", "abb", "acad", "acabdb"}, []string{"", "b", "aca", "abd"}},
		{`root ::= [a-c]{2,3} ("x" | "y")?`, []string{"ab", "abc", "abcx", "aay"}, []string{"a", "abcc", "ax"}},
		{`root ::= %until "</x>" "end"`, []string{"abc</x>end", "</x>end", "<</x>end", "</</x>end"}, []string{"</x></x>end", "abcend"}},
		{`root ::= %without "<t>", "<u>" "<t>" [0-9]+`, []string{"hello<t>12", "<t>1"}, []string{"a<u><t>1", "a"}},
		{`root ::= /[a-z]+(?!9)[0-9]/ | "é" . `, []string{"abc1", "éx", "éé"}, []string{"abc9", "é", "é\n"}},
		{`root ::= (("a" | "") ("b"?)*)* "c"`, []string{"c", "abbac"}, []string{"ab"}},
	} {
		g, err := CompileText(c.src, v)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		for _, s := range c.yes {
			if !accepts(g, s) {
				t.Errorf("%s: refuses %q", c.src, s)
			}
		}
		for _, s := range c.no {
			if accepts(g, s) {
				t.Errorf("%s: accepts %q", c.src, s)
			}
		}
	}
}
