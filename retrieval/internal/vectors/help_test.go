package vectors

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
)

// key returns the key of the n-th text of a test.
func key(n int) Key { return KeyOf(fmt.Sprint("text ", n)) }

func keys(lo, hi int) (list []Key) {
	for i := lo; i < hi; i++ {
		list = append(list, key(i))
	}
	return list
}

// cloud makes vectors that are distributed like embeddings: they are clustered around about a
// hundred topics, lie in a narrow cone, have a few components that are much larger than the rest,
// and are not of length 1.
func cloud(r *rand.Rand, n, dim int) [][]float32 {
	topics := make([][]float32, 100)
	for i := range topics {
		topics[i] = gauss(r, dim, 1)
	}
	cone := gauss(r, dim, 1.5)
	cone[dim/2] = 12
	all := make([][]float32, n)
	for i := range all {
		v, topic, noise := make([]float32, dim), topics[r.IntN(len(topics))], gauss(r, dim, 0.7)
		for j := range v {
			v[j] = cone[j] + topic[j] + noise[j]
		}
		all[i] = v
	}
	return all
}

func gauss(r *rand.Rand, dim int, deviation float64) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64() * deviation)
	}
	return v
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 11)) }

// naive searches exhaustively: it computes the cosines of all vectors in float32 after scaling them
// to length 1, and sorts them.
func naive(t testing.TB, keys []Key, vectors [][]float32, query []float32, k int) []Scored {
	t.Helper()
	q := make([]float32, len(query))
	if err := unit(q, query); err != nil {
		t.Fatal(err)
	}
	u := make([]float32, len(query))
	var all []Scored
	for i, v := range vectors {
		if err := unit(u, v); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for j := range u {
			sum += float64(u[j]) * float64(q[j])
		}
		all = append(all, Scored{Key: keys[i], Score: float32(sum)})
	}
	slices.SortFunc(all, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Key[:], b.Key[:]))
	})
	return all[:min(k, len(all))]
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, Config{Model: "test 1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "cache", "test.vectors") }

func add(t testing.TB, s *Store, keys []Key, vectors [][]float32) {
	t.Helper()
	if err := s.Append(keys, vectors); err != nil {
		t.Fatal(err)
	}
}

func search(t testing.TB, s interface {
	Search(context.Context, []float32, int) ([]Scored, error)
}, query []float32, k int) []Scored {
	t.Helper()
	found, err := s.Search(t.Context(), query, k)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
