package grammar

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMaskBruteReal checks that masks over the real vocabulary agree with testing every token
// separately, in the states along instances.
//
// Evidence: engine · A schema or grammar constrains the answer
func TestMaskBruteReal(t *testing.T) {
	v, tok := needVocab(t)
	r := rand.New(rand.NewPCG(5, 6))
	mask := make([]uint64, v.words)
	checked := 0
	for _, c := range schemaCases(t) {
		if r.IntN(3) > 0 || len(c.Tests) == 0 || testing.Short() && checked > 20 {
			continue
		}
		g, err := CompileSchema(c.Schema, v)
		if err != nil {
			continue
		}
		s := g.Start()
		ids := tok.Encode(layouts(c.Tests[0].Data)[r.IntN(3)], false)
		for i, id := range ids {
			if i < 3 || r.IntN(len(ids)/2+1) == 0 {
				checked++
				g.Mask(s, mask)
				g.m.soft = 0 // so that a million states are not kept
				k := g.m.mark()
				for id := range int32(v.size) {
					ok := g.m.next(s, id) >= 0
					if ok != (mask[id>>6]&(1<<(id&63)) != 0) {
						t.Fatalf("%s: after %q token %q: Next says %v, Mask does not", c.name, tok.Decode(ids[:i]), v.pieces[id], ok)
					}
				}
				g.m.rewind(k)
			}
			var ok bool
			if s, ok = g.Next(s, id); !ok {
				break
			}
		}
	}
	t.Logf("%d states", checked)
}

// TestRewind checks that discarding the states that were explored for a mask changes nothing.
func TestRewind(t *testing.T) {
	v := fuzzVocab()
	for _, src := range trickySchemas {
		g, err := CompileSchema(json.RawMessage(src), v)
		if err != nil {
			continue
		}
		lean := g.Fork()
		lean.m.soft = 0
		r := rand.New(rand.NewPCG(7, 8))
		a, b := make([]uint64, v.words), make([]uint64, v.words)
		for range 2 {
			s, l := g.Start(), lean.Start()
			for range 40 {
				g.Mask(s, a)
				lean.Mask(l, b)
				if diff := cmp.Diff(a, b); diff != "" {
					t.Fatalf("%s: masks differ: %s", src, diff)
				}
				if diff := cmp.Diff(g.Forced(s, nil), lean.Forced(l, nil)); diff != "" {
					t.Fatalf("%s: forced tokens differ: %s", src, diff)
				}
				var allowed []int32
				for id := range int32(v.size) {
					if a[id>>6]&(1<<(id&63)) != 0 && !v.isEnd(id) {
						allowed = append(allowed, id)
					}
				}
				if len(allowed) == 0 {
					break
				}
				id := allowed[r.IntN(len(allowed))]
				var ok bool
				if s, ok = g.Next(s, id); !ok {
					t.Fatal("refused")
				}
				if l, ok = lean.Next(l, id); !ok {
					t.Fatal("refused after rewinding")
				}
			}
		}
	}
}

// TestShared checks that many goroutines that read with one grammar get the same results.
func TestShared(t *testing.T) {
	v := fuzzVocab()
	g, err := CompileSchema(json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","items":{"pattern":"^x+y"}}},"additionalProperties":{"type":"number"}}`), v)
	if err != nil {
		t.Fatal(err)
	}
	text := `{"b": 1.5e3, "a": ["xxy", 1, null], "cc": 12}`
	want := make([]uint64, 0, 1000)
	read := func(g *Grammar) (masks []uint64) {
		s := g.Start()
		mask := make([]uint64, v.words)
		for i := range len(text) {
			g.Mask(s, mask)
			masks = append(masks, mask...)
			g.Forced(s, nil)
			var ok bool
			if s, ok = g.Next(s, int32(text[i])); !ok {
				return nil
			}
		}
		return masks
	}
	want = append(want, read(g.Fork())...)
	if len(want) == 0 {
		t.Fatal("refused")
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			h := g
			if i%2 == 0 {
				h = g.Fork()
			}
			if !slices.Equal(want, read(h)) {
				t.Error("masks differ between goroutines")
			}
		})
	}
	wg.Wait()
}

// TestForced checks that forced text must indeed follow, and is split into tokens as by the
// tokenizer.
func TestForced(t *testing.T) {
	v, tok := needVocab(t)
	schema := json.RawMessage(`{"type":"object","properties":{"destination":{"enum":["north-west"]}},"required":["destination"],"additionalProperties":false}`)
	g, err := Compile(Seq(Lit("<tool_call>\n"), JSON(schema, SchemaOptions{Space: SpaceUniform}), Lit("\n</tool_call>")), v)
	if err != nil {
		t.Fatal(err)
	}
	text := "<tool_call>\n{\"destination\": \"north-west\"}\n</tool_call>"
	got := g.Forced(g.Start(), nil)
	if diff := cmp.Diff(tok.Encode(text, false), got); diff != "" {
		t.Errorf("forced tokens (-want +got):\n%s", diff)
	}
	s := g.Start()
	for _, id := range got {
		var ok bool
		if s, ok = g.Next(s, id); !ok {
			t.Fatalf("forced token %q is refused", v.pieces[id])
		}
	}
	if !g.Accepts(s) || len(g.Forced(s, nil)) > 0 {
		t.Error("the text should be complete")
	}
	// The value after the name is free, so a token that the value might still extend is left to the
	// model.
	g, err = CompileSchema(json.RawMessage(`{"type":"object","properties":{"destination":{"type":"string"}},"required":["destination"],"additionalProperties":false}`), v)
	if err != nil {
		t.Fatal(err)
	}
	s, _ = g.Next(g.Start(), tok.Encode(`{"`, false)[0])
	var forced []byte
	for _, id := range g.Forced(s, nil) {
		forced = append(forced, v.pieces[id]...)
	}
	if !bytes.HasPrefix([]byte(`destination"`), forced) {
		t.Errorf("forced %q", forced)
	}
}

// TestTokens checks that control tokens, which no text produces, can be reached by name and by
// number.
func TestTokens(t *testing.T) {
	pieces := []string{"a", "b", "", "c"}
	v := NewVocab(5, func(id int32) []byte {
		if int(id) >= len(pieces) {
			return nil
		}
		return []byte(pieces[id])
	}, []int32{4})
	v.NameToken("<|call|>", 2)
	g, err := CompileText(`root ::= "a"+ <|call|> ("b" <[2]>)? <[4]>?`, v)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ids []int32
		ok  bool
	}{{[]int32{0, 0, 2}, true}, {[]int32{0, 2, 1, 2}, true}, {[]int32{2}, false}, {[]int32{0, 2, 1}, false}, {[]int32{0, 2, 4}, true}, {[]int32{0, 4}, false}} {
		s, ok := g.Start(), true
		mask := make([]uint64, 1)
		for _, id := range c.ids {
			g.Mask(s, mask)
			var next int32
			if next, ok = g.Next(s, id); ok != (mask[0]>>id&1 == 1) {
				t.Fatalf("%v: Next and Mask disagree about %d", c.ids, id)
			}
			if !ok {
				break
			}
			s = next
		}
		if (ok && g.Accepts(s)) != c.ok {
			t.Errorf("%v: got %v", c.ids, !c.ok)
		}
	}
}

// TestSpacing checks the three layouts.
func TestSpacing(t *testing.T) {
	v := fuzzVocab()
	schema := json.RawMessage(`{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}}`)
	for _, c := range []struct {
		space Space
		text  string
		ok    bool
	}{
		{SpaceAny, `{"a":[1,2],"b":[]}`, true}, {SpaceAny, `{ "a" : [ 1, 2 ], "b": [] }`, true},
		{SpaceAny, "{\r\n\t\"a\": [\n    1,\n    2\n  ]\n}", true}, {SpaceAny, `{  "a":[]}`, false}, {SpaceAny, "{\n\n\"a\":[]}", false},
		{SpaceNone, `{"a":[1,2],"b":[]}`, true}, {SpaceNone, `{"a": []}`, false}, {SpaceNone, `{"a":[1, 2]}`, false},
		{SpaceUniform, `{"a": [1, 2], "b": []}`, true}, {SpaceUniform, `{"a":[]}`, false}, {SpaceUniform, `{"a": [1,2]}`, false}, {SpaceUniform, `{ "a": []}`, false},
	} {
		g, err := Compile(JSON(schema, SchemaOptions{Space: c.space}), v)
		if err != nil {
			t.Fatal(err)
		}
		if got := accepts(g, c.text); got != c.ok {
			t.Errorf("layout %d, %q: got %v", c.space, c.text, got)
		}
	}
}

// TestMaskBruteText repeats TestMaskBrute with grammars of text.
func TestMaskBruteText(t *testing.T) {
	v, tok := needVocab(t)
	mask := make([]uint64, v.words)
	for _, c := range []struct{ src, text string }{
		{`root ::= %until "</tool_call>" "x"`, "abc <b> </tool_call>x"},
		{`root ::= %without "<tool_call>", "<|" ("<tool_call>" "x" | "<|" [a-z]+)?`, "some < text <tool_call>x"},
		{`root ::= "a" [a-z ]+ ("\n" | "b" | "..")`, "abcd efgh\n"},
		{`root ::= .* "\n"?`, "anything «goes» here\n"},
		{"root ::= \"a\" ([a-z]+ | word)* \".\"\nword ::= [A-Z] [a-z]+ | \"(\" word \")\"", "aHello(World)x."},
		{`root ::= /([a-z]+=\d{1,3};)+/ | "" | %json {"type":"array","items":{"type":"string","maxLength":3}} "!"`, `["ab","é"]!`},
	} {
		g, err := CompileText(c.src, v)
		if err != nil {
			t.Fatal(err)
		}
		s := g.Start()
		for _, id := range append(tok.Encode(c.text, false), v.end[0]) {
			g.Mask(s, mask)
			k := g.m.mark()
			for id := range int32(v.size) {
				if ok := g.m.next(s, id) >= 0; ok != (mask[id>>6]&(1<<(id&63)) != 0) {
					t.Fatalf("%s: token %q: Next says %v, Mask does not", c.src, v.pieces[id], ok)
				}
			}
			g.m.rewind(k)
			var ok bool
			if s, ok = g.Next(s, id); !ok {
				t.Fatalf("%s: refuses %q", c.src, v.pieces[id])
			}
		}
	}
}
