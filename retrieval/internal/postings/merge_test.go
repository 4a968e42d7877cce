package postings

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestMerge checks that merging parts, with some files dropped, produces the same bytes as building
// an index of the kept files.
func TestMerge(t *testing.T) {
	for seed := range uint64(30) {
		var readers []*Reader
		want := NewBuilder()
		keep := func(reader int, file uint32) bool {
			return (uint64(reader)*7+uint64(file)*3+seed)%4 != 0 || seed%5 == 0
		}
		for part := range int(seed % 5) {
			b := NewBuilder()
			fill(rand.New(rand.NewPCG(seed, uint64(part))), 20, all, b)
			readers = append(readers, open(t, b.Bytes()))
			fill(rand.New(rand.NewPCG(seed, uint64(part))), 20, func(file int) bool { return keep(part, uint32(file)) }, want)
		}
		got := Merge(readers, keep)
		if !bytes.Equal(want.Bytes(), got.Bytes()) {
			t.Fatalf("seed %d: not what building anew gives:\n%s", seed, diff(read(open(t, want.Bytes())), read(open(t, got.Bytes()))))
		}
		fill(rand.New(rand.NewPCG(seed, 99)), 5, all, want)
		fill(rand.New(rand.NewPCG(seed, 99)), 5, all, got)
		if !bytes.Equal(want.Bytes(), got.Bytes()) {
			t.Fatalf("seed %d: adding to a merged builder gives something else", seed)
		}
	}
}

func TestMergeKeepsAll(t *testing.T) {
	b := NewBuilder()
	fill(rand.New(rand.NewPCG(3, 3)), 30, all, b)
	data := b.Bytes()
	if !bytes.Equal(data, Merge([]*Reader{open(t, data)}, nil).Bytes()) {
		t.Fatal("merging one index gives another")
	}
}
