package toolformat

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/grammar"
	"github.com/luthier-dev/luthier/internal/tier"
)

// byteVocab returns a vocabulary of one token for each byte, an end token, and one control token
// for each of the texts.
func byteVocab(controls []string) (*grammar.Vocab, map[string]int32) {
	ids := map[string]int32{}
	for i, c := range controls {
		ids[c] = int32(257 + i)
	}
	v := grammar.NewVocab(257+len(controls), func(id int32) []byte {
		if id < 256 {
			return []byte{byte(id)}
		}
		return nil
	}, []int32{256})
	return v, ids
}

// accepts reports whether a compiled grammar accepts the whole text.
func accepts(g *grammar.Grammar, ids map[string]int32, text string) (int, bool) {
	c := newControls(ids)
	state := g.Start()
	for i := 0; i < len(text); {
		token, n := int32(text[i]), 1
		if m, _ := c.marks.at(text[i:], false); m != nil {
			token, n = ids[m.text], len(m.text)
		}
		next, ok := g.Next(state, token)
		if !ok {
			return i, false
		}
		state, i = next, i+n
	}
	return len(text), g.Accepts(state)
}

// TestCompile checks that the grammar of every format compiles, with and without control tokens,
// and accepts the texts that a random walk over its rules writes. There are four ways to compile a
// format. A long run tests all of them; other runs test one or two, which vary from format to
// format.
func TestCompile(t *testing.T) {
	tier.Normal(t)
	controls := []string{"<tool_call>", "</tool_call>", "<think>", "</think>", "<|channel|>", "<|message|>", "<|start|>", "<|end|>", "[TOOL_CALLS]", "<|tool_call>", "<tool_call|>", `<|"|>`}
	ways := []struct {
		control []string
		mode    Mode
	}{{nil, Required}, {controls, Auto}, {nil, Auto}, {controls, Required}}
	for i, f := range formats {
		first := tier.Pick(i, 2*i, 0)
		for k := range tier.Pick(1, 2, 4) {
			w := ways[(first+k)%len(ways)]
			t.Run(fmt.Sprintf("%s/%d/%d", f.Name, len(w.control), w.mode), func(t *testing.T) {
				compileAndWalk(t, f, w.control, w.mode)
			})
		}
	}
}

func compileAndWalk(t *testing.T, f *Format, control []string, mode Mode) {
	g, err := f.Grammar(grammarTools, Choice{Mode: mode, Parallel: true})
	if err != nil {
		t.Fatal(err)
	}
	vocab, ids := byteVocab(control)
	compiled, err := g.Compile(vocab, ids)
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{g: g, r: rand.New(rand.NewPCG(3, 4)), never: slices.Clip(control)}
	for range tier.Pick(10, 20, 20) {
		w.b.Reset()
		w.walk(g.Root)
		text := w.b.String()
		if at, ok := accepts(compiled, ids, text); !ok {
			t.Fatalf("not accepted at %d of %d: %q", at, len(text), text)
		}
	}
}

// TestSampled checks calls that are written at random, byte by byte, as a compiled grammar allows:
// the parser must read them as calls with valid arguments.
func TestSampled(t *testing.T) {
	tier.Normal(t)
	valid := validators(t, grammarTools)
	vocab, _ := byteVocab(nil)
	for _, f := range formats {
		t.Run(f.Name, func(t *testing.T) {
			g, err := f.Grammar(grammarTools, Choice{Mode: Required})
			if err != nil {
				t.Fatal(err)
			}
			compiled, err := g.Compile(vocab, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(5, 6))
			ended := 0
			for try := 0; try < 200 && ended < tier.Pick(1, 6, 6); try++ {
				text, ok := sample(compiled, r)
				if !ok {
					continue
				}
				ended++
				reply := collect(f.NewParser(grammarTools, ParserOptions{}), text, 0)
				if len(reply.Calls) == 0 {
					t.Fatalf("no call in %q: %+v", text, reply)
				}
				checkCalls(t, valid, reply.Calls)
			}
			if ended == 0 {
				t.Error("no text came to its end")
			}
		})
	}
}

// sample writes a text of the grammar, preferring bytes that end a string, a value or a list.
func sample(g *grammar.Grammar, r *rand.Rand) (string, bool) {
	const most, end = 1500, 256
	var text []byte
	state := g.Start()
	mask, may := make([]uint64, 5), make([]int32, 0, end+1)
	for range most {
		g.Mask(state, mask)
		may = may[:0]
		for id := range int32(end + 1) {
			if mask[id/64]>>(id%64)&1 != 0 {
				may = append(may, id)
			}
		}
		if len(may) == 0 {
			return string(text), false
		}
		token := may[r.IntN(len(may))]
		for _, likely := range []byte(`"}]<[`) {
			if slices.Contains(may, int32(likely)) && r.IntN(3) == 0 {
				token = int32(likely)
			}
		}
		if token == end || may[len(may)-1] == end && r.IntN(2) == 0 {
			return string(text), true
		}
		text = append(text, byte(token))
		state, _ = g.Next(state, token)
	}
	return string(text), false
}
