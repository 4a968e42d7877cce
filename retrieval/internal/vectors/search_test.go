package vectors

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/luthier-dev/luthier/internal/tier"
)

func TestMain(m *testing.M) { tier.Main(m) }

// TestSearchIsExact compares searches with exhaustive ones: keys, order and scores to the last bit,
// for vectors of several distributions and dimensions, and with many equal vectors among them.
//
// Evidence: retrieval · Vector search is exact
func TestSearchIsExact(t *testing.T) {
	r := random(1)
	equal := gauss(r, 96, 1)
	shapes := []struct {
		name    string
		vectors [][]float32
	}{
		{"cloud", cloud(r, tier.Pick(1000, 3000, 3000), 384)},
		{"cloud of odd width", cloud(r, 2000, 100)},
		{"wide", cloud(r, tier.Pick(100, 300, 300), 4096)},
		{"one component", [][]float32{{1}, {-3}, {2e-38}, {1e38}}},
		{"spikes", spikes(2000, 64)},
		{"all equal", [][]float32{equal, equal, equal, equal, equal, equal, equal}},
	}
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			s := open(t, file(t))
			names := keys(0, len(shape.vectors))
			add(t, s, names, shape.vectors)
			for i := range 8 {
				query := gauss(r, len(shape.vectors[0]), 1)
				if i%2 == 0 {
					query = shape.vectors[r.IntN(len(shape.vectors))]
				}
				for _, k := range []int{1, 10, 333} {
					want, got := naive(t, names, shape.vectors, query, k), search(t, s, query, k)
					if d := cmp.Diff(want, got); d != "" {
						t.Fatalf("k=%d (-want +got):\n%s", k, d)
					}
				}
			}
		})
	}
}

// spikes makes vectors of one large component and many small ones, which are lost when rounded to 8
// bits.
func spikes(n, dim int) [][]float32 {
	r := random(2)
	all := make([][]float32, n)
	for i := range all {
		all[i] = gauss(r, dim, 0.003)
		all[i][i%3] = 1
	}
	return all
}

// TestSetSearch searches a part of a store, in which some texts occur twice and some have no vector
// yet.
func TestSetSearch(t *testing.T) {
	s := open(t, file(t))
	vectors := cloud(random(3), 1000, 64)
	add(t, s, keys(0, 900), vectors[:900])
	chosen := append(append(keys(700, 1000), keys(700, 710)...), keys(990, 1000)...)
	set := s.Select(chosen)
	check := func(have int, missing int) {
		t.Helper()
		names := keys(700, have)
		for _, query := range vectors[695:720] {
			var want []Scored
			for _, hit := range naive(t, names, vectors[700:have], query, 15) {
				for i, k := range chosen {
					if k == hit.Key {
						hit.IDs = append(hit.IDs, i)
					}
				}
				want = append(want, hit)
			}
			if d := cmp.Diff(want, search(t, set, query, 15)); d != "" {
				t.Fatalf("-want +got:\n%s", d)
			}
		}
		got, err := set.Missing()
		if err != nil || len(got) != missing {
			t.Fatalf("%d are missing, want %d; %v", len(got), missing, err)
		}
		for i, n := range got {
			if n != have-700+i {
				t.Fatalf("missing are %v", got)
			}
		}
	}
	check(900, 100)
	add(t, s, keys(900, 950), vectors[900:950])
	check(950, 50)
	add(t, s, keys(950, 1000), vectors[950:])
	check(1000, 0)
	if err := s.Delete(keys(960, 1000)); err != nil {
		t.Fatal(err)
	}
	check(960, 40)
	if found := search(t, s.Select(nil), vectors[0], 3); found != nil {
		t.Errorf("an empty set gave %v", found)
	}
}

// TestSearchRefuses checks that invalid query vectors are refused.
func TestSearchRefuses(t *testing.T) {
	s := open(t, "")
	if found := search(t, s, []float32{1, 2}, 3); found != nil {
		t.Errorf("an empty store gave %v", found)
	}
	add(t, s, keys(0, 2), [][]float32{{1, 2}, {2, 1}})
	if found := search(t, s, []float32{1, 2}, 0); found != nil {
		t.Errorf("k=0 gave %v", found)
	}
	nan := float32(0)
	nan /= nan
	for _, q := range [][]float32{nil, {1}, {1, 2, 3}, {0, 0}, {nan, 1}, {1 / (nan * 0), 1}} {
		if found, err := s.Search(t.Context(), q, 3); err == nil {
			t.Errorf("%v gave %v", q, found)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := s.Search(ctx, []float32{1, 2}, 3); !errors.Is(err, why) {
		t.Errorf("a search that was cancelled gave %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Search(t.Context(), []float32{1, 2}, 3); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed store gave %v", err)
	}
	if d := cmp.Diff(ErrClosed, s.Append(keys(0, 1), [][]float32{{1, 2}}), cmpopts.EquateErrors()); d != "" {
		t.Error(d)
	}
}

// TestHugeK requests more vectors than there are.
func TestHugeK(t *testing.T) {
	s := open(t, "")
	vectors := cloud(random(4), 500, 32)
	add(t, s, keys(0, 500), vectors)
	if d := cmp.Diff(naive(t, keys(0, 500), vectors, vectors[7], 500), search(t, s, vectors[7], math.MaxInt)); d != "" {
		t.Error(d)
	}
}
