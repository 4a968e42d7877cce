package tensor

import (
	"math"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// Attention accumulates softmax(q·K)·V for rows queries over the tiles of one key-value head, in
// the streaming form of FlashAttention (arXiv:2205.14135): a running maximum, a running sum and a
// running weighted value for each query. The result of a row is the same, bit for bit, whatever
// other rows are processed with it. An Attention is for one goroutine at a time.
type Attention struct {
	rows, dim, wide int
	acc             []float32 // rows × wide
	top, sum        []float32 // running maximum and sum of each row
	scores          []float32 // rows × TileTokens
	fix             []float32 // factor for the values accumulated before this tile
	q8              []int8    // rows × wide: queries rounded for integer products
	q8scale         []float32 // rows × wide/32
	q8sum           []int32   // rows × wide/32: -128 times the sum of a block
	wideTile        []float32 // keys, later values, of one tile in single precision
	scaled          []float32 // rows × TileTokens: weights times the scales of quantised values
}

// Reset starts again with rows queries of layout l. The slice q has rows×Dim numbers, or is nil if
// only Merge will follow.
func (a *Attention) Reset(l TileLayout, rows int, q []float32) {
	a.rows, a.dim, a.wide = rows, l.Dim, l.wide
	a.acc = grow(a.acc, rows*l.wide)
	clear(a.acc)
	a.top, a.sum, a.fix = grow(a.top, rows), grow(a.sum, rows), grow(a.fix, rows)
	clear(a.sum)
	for i := range a.top {
		a.top[i] = float32(math.Inf(-1))
	}
	a.scores = grow(a.scores, rows*TileTokens)
	if l.Type == gguf.TypeF16 && a.widen() {
		a.wideTile = grow(a.wideTile, TileTokens*l.wide)
	}
	if l.Type == gguf.TypeQ8_0 && q != nil {
		a.scaled = grow(a.scaled, rows*TileTokens)
		a.quantiseQueries(q)
	}
}

// Tile processes one tile: row r attends to its positions [lo[r], hi[r]). Scores are multiplied by
// scale. Positions from the largest hi on are not read.
func (a *Attention) Tile(l TileLayout, tile []byte, q []float32, lo, hi []int32, scale float32) {
	last := int32(0)
	for _, h := range hi[:a.rows] {
		last = max(last, h)
	}
	kt, vt := tile[:l.k], tile[l.k:l.k+l.v]
	switch l.Type {
	case gguf.TypeF32:
		tileMulF32(a.scores, TileTokens, q, a.dim, view[float32](kt), TileTokens, a.dim, a.rows, nil)
	case gguf.TypeF16:
		if a.widen() {
			FromHalf(a.wideTile, view[uint16](kt))
			tileMulF32(a.scores, TileTokens, q, a.dim, a.wideTile, TileTokens, a.dim, a.rows, nil)
			break
		}
		tileMulF16(a.scores, TileTokens, q, a.dim, view[uint16](kt), TileTokens, a.dim, a.rows, nil)
	default:
		a.scoresQ8(l, kt)
	}
	softTiles(a.scores, a.rows, a.top, a.sum, a.fix, lo, hi, scale)
	if l.Type == gguf.TypeF16 && a.widen() {
		FromHalf(a.wideTile[:int(last)*l.wide], view[uint16](vt)[:int(last)*l.wide])
	}
	for c := 0; c < l.wide; c += 32 {
		a.values(l, vt, c, int(last))
	}
}

// widen reports whether there are so many rows that it is faster to widen a tile of half-precision
// numbers once for all of them than for each group of rows. The products are the same, bit for bit,
// either way.
func (a *Attention) widen() bool { return a.rows >= 24 && widenPays() }

// values adds the weighted values of dimensions [c, c+32).
func (a *Attention) values(l TileLayout, vt []byte, c, last int) {
	switch l.Type {
	case gguf.TypeF32:
		tileMulF32(a.acc[c:], a.wide, a.scores, TileTokens, view[float32](vt)[c:], a.wide, last, a.rows, a.fix)
	case gguf.TypeF16:
		if a.widen() {
			tileMulF32(a.acc[c:], a.wide, a.scores, TileTokens, a.wideTile[c:], a.wide, last, a.rows, a.fix)
			break
		}
		tileMulF16(a.acc[c:], a.wide, a.scores, TileTokens, view[uint16](vt)[c:], a.wide, last, a.rows, a.fix)
	default:
		scaleRows(a.scaled, a.scores, l.scales(vt)[c:c+TileTokens], a.rows)
		tileMulI8(a.acc[c:], a.wide, a.scaled, TileTokens, view[int8](vt[:l.wide*TileTokens])[c:], a.wide, last, a.rows, a.fix)
	}
}

// Sink adds a learned logit as a share of row r's attention without adding a value (gpt-oss).
func (a *Attention) Sink(r int, logit float32) {
	top := max(a.top[r], logit)
	fix := float32(0)
	if a.top[r] > float32(math.Inf(-1)) {
		fix = Exp(a.top[r] - top)
	}
	a.sum[r] = a.sum[r]*fix + Exp(logit-top)
	acc := a.acc[r*a.wide : (r+1)*a.wide]
	for i := range acc {
		acc[i] *= fix
	}
	a.top[r] = top
}

// Finish writes the result of row r, which has Dim numbers, to dst.
func (a *Attention) Finish(r int, dst []float32) {
	inv := 1 / a.sum[r]
	for i, v := range a.acc[r*a.wide : r*a.wide+a.dim] {
		dst[i] = v * inv
	}
}

// PartialSize returns the number of values that Save writes for each row.
func (l TileLayout) PartialSize() int { return l.wide + 2 }

// Save writes the state of all rows, rows×PartialSize numbers, for a later Merge.
func (a *Attention) Save(dst []float32) {
	n := a.wide + 2
	for r := range a.rows {
		d := dst[r*n : (r+1)*n]
		d[0], d[1] = a.top[r], a.sum[r]
		copy(d[2:], a.acc[r*a.wide:(r+1)*a.wide])
	}
}

// Merge adds the saved results of another Attention for the same rows over later positions.
func (a *Attention) Merge(saved []float32) {
	n := a.wide + 2
	for r := range a.rows {
		s := saved[r*n : (r+1)*n]
		if s[1] == 0 && s[0] == float32(math.Inf(-1)) {
			continue // it processed no positions
		}
		if a.top[r] == float32(math.Inf(-1)) {
			a.top[r], a.sum[r] = s[0], s[1]
			copy(a.acc[r*a.wide:], s[2:])
			continue
		}
		top := max(a.top[r], s[0])
		x, y := Exp(a.top[r]-top), Exp(s[0]-top)
		a.top[r], a.sum[r] = top, a.sum[r]*x+s[1]*y
		acc := a.acc[r*a.wide : (r+1)*a.wide]
		for i, v := range s[2:] {
			acc[i] = acc[i]*x + v*y
		}
	}
}

// grow returns a slice of n elements, reusing s if it is large enough; the contents are undefined.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
