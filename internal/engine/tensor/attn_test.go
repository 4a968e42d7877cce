package tensor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

var tileTypes = []gguf.Type{gguf.TypeF32, gguf.TypeF16, gguf.TypeQ8_0}

func normals(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// history holds the keys and values of one head, in tiles and as read back from them.
type history struct {
	l     TileLayout
	tiles [][]byte
	k, v  [][]float32
}

func newHistory(t testing.TB, typ gguf.Type, dim, n int, r *rand.Rand) *history {
	l, err := NewTileLayout(typ, dim)
	if err != nil {
		t.Fatal(err)
	}
	h := &history{l: l}
	for p := range n {
		if p%TileTokens == 0 {
			h.tiles = append(h.tiles, HeapAlloc(l.Bytes()))
		}
		tile := h.tiles[p/TileTokens]
		l.Put(tile, p%TileTokens, normals(r, dim), normals(r, dim))
		k, v := make([]float32, dim), make([]float32, dim)
		l.Get(tile, p%TileTokens, k, v)
		h.k, h.v = append(h.k, k), append(h.v, v)
	}
	return h
}

// attend runs attention for the rows of q over positions [lo[r], hi[r]).
func (h *history) attend(a *Attention, q []float32, lo, hi []int, scale float32) [][]float32 {
	a.Reset(h.l, len(lo), q)
	l32, h32 := make([]int32, len(lo)), make([]int32, len(lo))
	for i, tile := range h.tiles {
		most := 0
		for r := range lo {
			l32[r] = int32(lo[r] - i*TileTokens)
			h32[r] = int32(max(0, min(TileTokens, hi[r]-i*TileTokens)))
			most = max(most, int(h32[r]))
		}
		if most > 0 {
			a.Tile(h.l, tile, q, l32, h32, scale)
		}
	}
	out := make([][]float32, len(lo))
	for r := range out {
		out[r] = make([]float32, h.l.Dim)
		a.Finish(r, out[r])
	}
	return out
}

// exact computes the attention of one query in double precision.
func (h *history) exact(q []float32, lo, hi int, scale float64) []float64 {
	score, top := make([]float64, hi-lo), math.Inf(-1)
	for p := lo; p < hi; p++ {
		for i, x := range q {
			score[p-lo] += float64(x) * float64(h.k[p][i]) * scale
		}
		top = max(top, score[p-lo])
	}
	out, sum := make([]float64, len(q)), 0.0
	for p := lo; p < hi; p++ {
		w := math.Exp(score[p-lo] - top)
		sum += w
		for i := range out {
			out[i] += w * float64(h.v[p][i])
		}
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// TestAttention compares streaming attention with the textbook formula, and checks that the bits of
// a row do not depend on the other rows.
func TestAttention(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range tileTypes {
		for _, dim := range []int{16, 40, 64, 128, 256} {
			t.Run(fmt.Sprint(typ, dim), func(t *testing.T) {
				const n = 150
				h := newHistory(t, typ, dim, n, r)
				const rows = 27 // enough rows for a tile to be widened, unlike a single row
				q := normals(r, rows*dim)
				lo, hi := make([]int, rows), make([]int, rows)
				for i := range lo {
					lo[i] = r.IntN(n - 1)
					hi[i] = lo[i] + 1 + r.IntN(n-lo[i])
				}
				scale := 1 / math.Sqrt(float64(dim))
				var a Attention
				all := h.attend(&a, q, lo, hi, float32(scale))
				limit := map[gguf.Type]float64{gguf.TypeF32: 1e-5, gguf.TypeF16: 1e-5, gguf.TypeQ8_0: 0.05}[typ]
				for i := range rows {
					query := q[i*dim : (i+1)*dim]
					for d, want := range h.exact(query, lo[i], hi[i], scale) {
						if math.Abs(float64(all[i][d])-want) > limit {
							t.Fatalf("row %d dimension %d is %v, want %v", i, d, all[i][d], want)
						}
					}
					var b Attention
					one := h.attend(&b, query, lo[i:i+1], hi[i:i+1], float32(scale))
					if !slices.Equal(one[0], all[i]) {
						t.Fatalf("row %d depends on the rows beside it", i)
					}
				}
			})
		}
	}
}

// TestAttentionMerge checks that positions accumulated separately and merged give the expected
// result, including sinks.
func TestAttentionMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const dim, n, cut = 64, 160, 96
	h := newHistory(t, gguf.TypeF32, dim, n, r)
	q := normals(r, dim)
	var a, b Attention
	first, second := *h, *h
	first.tiles, second.tiles = h.tiles[:cut/TileTokens], h.tiles[cut/TileTokens:]
	first.attend(&a, q, []int{0}, []int{cut}, 0.1)
	second.attend(&b, q, []int{0}, []int{n - cut}, 0.1)
	saved := make([]float32, h.l.PartialSize())
	b.Save(saved)
	a.Merge(saved)
	got := make([]float32, dim)
	a.Finish(0, got)
	want := h.exact(q, 0, n, 0.1)
	for d := range got {
		if math.Abs(float64(got[d])-want[d]) > 1e-5 {
			t.Fatalf("dimension %d is %v, want %v", d, got[d], want[d])
		}
	}
	sum := float64(a.sum[0]) / (float64(a.sum[0]) + math.Exp(2-float64(a.top[0])))
	a.Sink(0, 2)
	a.Finish(0, got)
	for d := range got {
		if math.Abs(float64(got[d])-want[d]*sum) > 1e-5 {
			t.Fatalf("with a sink, dimension %d is %v, want %v", d, got[d], want[d]*sum)
		}
	}
}

// TestAttentionKernels compares the kernels of this processor with the plain ones.
func TestAttentionKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	near := func(what string, got, want []float32) {
		t.Helper()
		for i := range want {
			if d := math.Abs(float64(got[i] - want[i])); got[i] != want[i] && !(d <= 2e-5*max(1, math.Abs(float64(want[i])))) && !(got[i] != got[i] && want[i] != want[i]) {
				t.Fatalf("%s: element %d is %v, the plain kernel has %v", what, i, got[i], want[i])
			}
		}
	}
	for rows := 1; rows <= 19; rows++ {
		n, as, bs, ds := 1+r.IntN(130), 140, 48, 40
		a, fix, dst := normals(r, rows*as), normals(r, rows), normals(r, rows*ds)
		if rows == 5 {
			a[3], fix[2] = float32(math.NaN()), float32(math.Inf(1))
		}
		f32, f16, i8 := normals(r, n*bs), make([]uint16, n*bs), make([]int8, n*bs)
		ToHalf(f16, f32)
		for i := range i8 {
			i8[i] = int8(r.IntN(256))
		}
		for _, f := range [][]float32{nil, fix} {
			x, y := slices.Clone(dst), slices.Clone(dst)
			tileMulF32(x, ds, a, as, f32, bs, n, rows, f)
			tileMulPlain(y, ds, a, as, f32, bs, n, rows, f)
			near("F32", x, y)
			tileMulF16(x, ds, a, as, f16, bs, n, rows, f)
			tileMulPlain(y, ds, a, as, f16, bs, n, rows, f)
			near("F16", x, y)
			for i := range a {
				a[i] /= 16
			}
			tileMulI8(x, ds, a, as, i8, bs, n, rows, f)
			tileMulPlain(y, ds, a, as, i8, bs, n, rows, f)
			near("I8", x, y)
		}
		testSoftTiles(t, r, rows, near)
		testScoresQ8(t, r, rows, near)
	}
}

func testScoresQ8(t *testing.T, r *rand.Rand, rows int, near func(string, []float32, []float32)) {
	dim := 8 * (1 + r.IntN(20))
	h := newHistory(t, gguf.TypeQ8_0, dim, TileTokens, r)
	var a Attention
	a.Reset(h.l, rows, normals(r, rows*dim))
	kt := h.tiles[0][:h.l.k]
	a.scoresQ8(h.l, kt)
	want := make([]float32, rows*TileTokens)
	scoresQ8Plain(want, a.q8, a.q8scale, a.q8sum, kt[:h.l.wide*TileTokens], h.l.scales(kt), h.l.wide/32, rows)
	near("Q8_0 scores", a.scores, want)
}

func testSoftTiles(t *testing.T, r *rand.Rand, rows int, near func(string, []float32, []float32)) {
	scores, top, sum := normals(r, rows*TileTokens), make([]float32, rows), normals(r, rows)
	lo, hi := make([]int32, rows), make([]int32, rows)
	for i := range rows {
		top[i] = []float32{float32(math.Inf(-1)), 1, -40, 300}[r.IntN(4)]
		lo[i], hi[i] = int32(r.IntN(50)-20), int32(r.IntN(TileTokens+1))
		scores[i*TileTokens+r.IntN(TileTokens)] = []float32{1e30, -1e30, 500, float32(math.Inf(-1))}[r.IntN(4)]
	}
	s2, t2, u2 := slices.Clone(scores), slices.Clone(top), slices.Clone(sum)
	fix, f2 := make([]float32, rows), make([]float32, rows)
	softTiles(scores, rows, top, sum, fix, lo, hi, 0.3)
	softTilesPlain(s2, rows, t2, u2, f2, lo, hi, 0.3)
	near("weights", scores, s2)
	near("maxima", top, t2)
	near("sums", sum, u2)
	near("factors", fix, f2)
	scales := make([]uint16, TileTokens)
	ToHalf(scales, normals(r, TileTokens))
	scaleRows(s2, scores, scales, rows)
	scaleRowsPlain(scores, scores, scales, rows)
	near("scaled", s2, scores)
}

func BenchmarkAttention(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range tileTypes {
		for _, rows := range []int{1, 4, 8, 64} {
			b.Run(fmt.Sprintf("%v/rows=%d", typ, rows), func(b *testing.B) {
				const dim, n = 128, 4096
				h := newHistory(b, typ, dim, n, r)
				q := normals(r, rows*dim)
				lo, hi := make([]int32, rows), make([]int32, rows)
				for i := range hi {
					hi[i] = TileTokens
				}
				var a Attention
				b.ReportAllocs()
				b.SetBytes(int64(len(h.tiles) * h.l.Bytes()))
				for b.Loop() {
					a.Reset(h.l, rows, q)
					for _, tile := range h.tiles {
						a.Tile(h.l, tile, q, lo, hi, 0.1)
					}
				}
				macs := float64(2*dim*n*rows) * float64(b.N)
				b.ReportMetric(macs/b.Elapsed().Seconds()/1e9, "GMAC/s")
			})
		}
	}
}
