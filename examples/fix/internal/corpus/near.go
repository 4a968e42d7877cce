package corpus

import (
	"go/scanner"
	"go/token"
	"math"
	"slices"
)

// Near finds functions that nearly repeat a function of a set. Two functions are near if their sets
// of shingles (runs of eight tokens) have a Jaccard similarity of at least 0.8. Comments and layout
// do not count.
//
// Candidates come from MinHash signatures in bands (Broder: On the resemblance and containment of
// documents, 1997; Leskovec, Rajaraman, Ullman: Mining of Massive Datasets, chapter 3) and are then
// compared exactly. So there are no false positives, and at the threshold, about one in five
// thousand functions is missed.
type Near struct {
	sets  [][]uint64
	bands map[uint64][]int32
}

const (
	shingle   = 8   // tokens
	threshold = 0.8 // minimum Jaccard similarity
	bands     = 16
	rows      = 4 // per band
)

// Add adds a function to the set.
func (n *Near) Add(text string) {
	if n.bands == nil {
		n.bands = map[uint64][]int32{}
	}
	set := shingles(text)
	for _, b := range bandsOf(set) {
		n.bands[b] = append(n.bands[b], int32(len(n.sets)))
	}
	n.sets = append(n.sets, set)
}

// Has reports whether a function nearly repeats a function of the set.
func (n *Near) Has(text string) bool {
	set := shingles(text)
	var seen []int32
	for _, b := range bandsOf(set) {
		for _, i := range n.bands[b] {
			if slices.Contains(seen, i) {
				continue
			}
			if similarity(set, n.sets[i]) >= threshold {
				return true
			}
			seen = append(seen, i)
		}
	}
	return false
}

// tokens yields a hash of each token of a function.
func tokens(text string) []uint64 {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), func(token.Position, string) {}, 0) // text that does not scan still yields distinct tokens
	var out []uint64
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.SEMICOLON { // usually inserted by the scanner at the end of a line
			continue
		}
		if lit == "" {
			lit = tok.String()
		}
		out = append(out, hash(lit))
	}
}

// hash is the 64-bit FNV-1a hash.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// shingles returns the distinct hashes of the runs of tokens, sorted. If a text is shorter than one
// run, it returns the hash of all its tokens.
func shingles(text string) []uint64 {
	ts := tokens(text)
	n := max(1, len(ts)-shingle+1)
	out := make([]uint64, 0, n)
	for i := range n {
		h := uint64(0)
		for _, t := range ts[i:min(i+shingle, len(ts))] {
			h = mix(h ^ t)
		}
		out = append(out, h)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// exact returns a hash that is equal for functions with the same tokens.
func exact(text string) uint64 {
	h := uint64(0)
	for _, t := range tokens(text) {
		h = mix(h ^ t)
	}
	return h
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// bandsOf returns a hash of each band of a set's signature.
func bandsOf(set []uint64) [bands]uint64 {
	var sig [bands * rows]uint64
	for i := range sig {
		least, key := uint64(math.MaxUint64), mix(uint64(i)+1)
		for _, s := range set {
			// Multiplying by an odd number and folding is enough, since the hashes of the shingles
			// are already well mixed.
			h := (s ^ key) * (key | 1)
			least = min(least, h^h>>32)
		}
		sig[i] = least
	}
	var out [bands]uint64
	for b := range out {
		h := uint64(b)
		for _, v := range sig[b*rows : (b+1)*rows] {
			h = mix(h ^ v)
		}
		out[b] = h
	}
	return out
}

// similarity returns the Jaccard similarity of two sorted sets.
func similarity(a, b []uint64) float64 {
	both, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			both++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}
