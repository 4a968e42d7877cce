package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSuffixAutomaton checks that the automaton knows the longest suffix that occurred before, and
// a place of it.
func TestSuffixAutomaton(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		a := newSuffixAutomaton()
		var text []int32
		for range 300 {
			next := int32(rng.IntN(2 + int(seed%4)))
			if len(text) > 40 && rng.IntN(30) == 0 { // repeat a piece
				at := rng.IntN(len(text) - 30)
				for _, x := range slices.Clone(text[at : at+20]) {
					a.append(x)
					text = append(text, x)
				}
			}
			a.append(next)
			text = append(text, next)
			want := 0
			for end := range len(text) - 1 {
				want = max(want, matchBack(text, end, text, len(text)-1, len(text)))
			}
			if a.back != want {
				t.Fatalf("seed %d: after %d tokens the longest known suffix has %d, want %d", seed, len(text), a.back, want)
			}
			if want > 0 && matchBack(text, a.after-1, text, len(text)-1, want) != want {
				t.Fatalf("seed %d: the place %d does not match", seed, a.after)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	for _, c := range []struct {
		text, want []int32
		class      int
	}{
		{[]int32{1, 2, 3, 4, 9, 1, 2}, []int32{3, 4, 9}, 1},
		{[]int32{7, 8, 1, 2, 5, 9, 1, 2, 6, 9, 8, 1, 2}, []int32{5, 9, 1}, 1}, // the longer match wins, not the later one
		{[]int32{5, 5, 5}, []int32{5, 5, 5}, 1},                               // the draft continues with its own tokens
		{[]int32{1, 2, 3}, nil, 0},
		{[]int32{1}, nil, 0},
	} {
		d := newLookupDrafter()
		var got []int32
		var class int
		for n := 1; n <= len(c.text); n++ { // token by token, as in generation
			got, class = d.draftScored(c.text[:n], 3, nil)
		}
		once, classOnce := newLookupDrafter().draftScored(c.text, 3, nil)
		if diff := cmp.Diff(once, got); diff != "" || class != classOnce {
			t.Errorf("%v: at once and token by token differ: %s", c.text, diff)
		}
		if c.text[0] == 7 { // the n-grams of 4 tokens are longer than the match, so the latest match of two tokens counts
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || class != c.class {
			t.Errorf("%v: class %d, %s", c.text, class, diff)
		}
	}
}

func TestHistoryOutlivesTheContext(t *testing.T) {
	h := &history{}
	first := prompt(300, 1000, 1)
	d := &historyDrafter{h: h}
	d.Draft(first, 5, nil)
	first = append(first, prompt(100, 1000, 2)...)
	d.Draft(first, 5, nil)
	// The conversation was compacted, and then the removed text occurs again.
	second := append(prompt(50, 1000, 3), first[210:220]...)
	got := (&historyDrafter{h: h}).Draft(second, 8, nil)
	if diff := cmp.Diff(first[220:228], got); diff != "" {
		t.Error(diff)
	}
	// If the text continues, the history continues at the same place.
	before := len(h.sam.text)
	second = append(second, 1, 2, 3)
	(&historyDrafter{h: h}).Draft(second, 8, nil)
	if n := len(h.sam.text) - before; n != 3 {
		t.Errorf("%d tokens were added for 3 new ones", n)
	}
	for i := range 3 {
		(&historyDrafter{h: h}).Draft(prompt(maxHistory/2+i, 1000, uint64(i)), 8, nil)
	}
	if len(h.sam.text) > maxHistory {
		t.Errorf("the history has %d tokens", len(h.sam.text))
	}
}

// followEdit runs an edit drafter along a text. It returns the share of tokens correctly proposed
// one step ahead, and the number of drafts of up to 32 tokens that generate the text.
func followEdit(refs [][]int32, text []int32) (share float64, passes int) {
	d := newEditDrafter(refs, 0)
	right := 0
	for n := range text {
		if g := d.Draft(text[:n], 1, nil); len(g) > 0 && g[0] == text[n] {
			right++
		}
	}
	d = newEditDrafter(refs, 0)
	for n := 0; n < len(text); passes++ {
		n += min(commonPrefix(d.Draft(text[:n], 32, nil), text[n:])+1, len(text)-n)
	}
	return float64(right) / float64(len(text)), passes
}

func TestEditDrafterFindsItsPlace(t *testing.T) {
	old := file(300, 5)
	at := len(old) / 2
	for name, c := range map[string]struct {
		text   []int32
		passes int // maximum, in addition to the full drafts
	}{
		"same":             {old, 1},
		"preamble":         {slices.Concat(prompt(12, 900, 3), old), 12 + 2},
		"replaced":         {slices.Concat(old[:at], []int32{3}, old[at+1:]), 2},
		"replaced, longer": {slices.Concat(old[:at], []int32{3, 4, 5}, old[at+1:]), 6},
		"inserted":         {slices.Concat(old[:at], prompt(30, 900, 3), old[at:]), 36},
		"deleted":          {slices.Concat(old[:at], old[at+15:]), 4},
		"much deleted":     {slices.Concat(old[:at], old[at+600:]), 8},
		"moved":            {slices.Concat(old[at:at+300], old[:at], old[at+300:]), 15},
		"from the middle":  {old[at : at+400], 6},
	} {
		share, passes := followEdit([][]int32{file(40, 77), old}, c.text)
		whole := len(c.text)/33 + 1
		t.Logf("%s: %.3f right, %d passes for %d tokens, %d would do", name, share, passes, len(c.text), whole)
		if passes > whole+c.passes {
			t.Errorf("%s: %d passes, want %d at most", name, passes, whole+c.passes)
		}
	}
}

// FuzzDrafters checks for any generated text that drafters stay within their texts and the
// requested length.
func FuzzDrafters(f *testing.F) {
	f.Add([]byte("the file is the file was the file"), []byte("the file"), uint8(5))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaa"), []byte("aaaa"), uint8(64))
	f.Add([]byte{}, []byte{1}, uint8(0))
	f.Fuzz(func(t *testing.T, text, ref []byte, most uint8) {
		var tokens, refs []int32
		for _, b := range text {
			tokens = append(tokens, int32(b%8))
		}
		for _, b := range ref {
			refs = append(refs, int32(b%8))
		}
		ds := []Drafter{newLookupDrafter(), newEditDrafter([][]int32{refs, nil, tokens}, min(1, len(tokens))), &historyDrafter{h: &history{}}}
		for n := 1; n <= len(tokens); n++ {
			for _, d := range ds {
				got := d.Draft(tokens[:n], int(most), []int32{42})
				if len(got) > int(most)+1 || got[0] != 42 {
					t.Fatalf("%T: %v", d, got)
				}
				for _, x := range got[1:] {
					if x < 0 || x > 7 {
						t.Fatalf("%T proposes %d", d, x)
					}
				}
			}
		}
	})
}

func BenchmarkDrafters(b *testing.B) {
	old := file(3000, 5)
	text := edit(old, 40, 3)
	for _, c := range []struct {
		name string
		make func() Drafter
	}{
		{"lookup", func() Drafter { return newLookupDrafter() }},
		{"history", func() Drafter { return &historyDrafter{h: &history{}} }},
		{"edit", func() Drafter { return newEditDrafter([][]int32{old}, 0) }},
	} {
		b.Run(c.name, func(b *testing.B) { // token by token over a text of some 30,000 tokens, with a draft of up to 32 tokens at each step
			b.ReportAllocs()
			var dst []int32
			for b.Loop() {
				d := c.make()
				for n := 1; n < len(text); n++ {
					dst = d.Draft(text[:n], 32, dst[:0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/token")
		})
	}
}
