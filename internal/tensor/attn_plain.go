package tensor

import (
	"math"

	"github.com/luthier-dev/luthier/internal/quant"
)

// These are the plain forms of the kernels of attention. Each output element is one chain of multiplications and additions
// in the order of k, so that results do not depend on how rows are grouped.

// tileMul computes dst[r][j] = fix[r]·dst[r][j] + Σₖ a[r][k]·b[k][j] for 32 columns j; without fix it starts at zero.
// Strides are in elements.
func tileMulPlain[T float32 | uint16 | int8](dst []float32, ds int, a []float32, as int, b []T, bs, n, rows int, fix []float32, value func(T) float32) {
	for r := range rows {
		row := (*[32]float32)(dst[r*ds:])
		f := float32(0)
		if fix != nil {
			f = fix[r]
		}
		for j := range row {
			if fix == nil {
				row[j] = 0
			} else {
				row[j] *= f
			}
		}
		for k := range n {
			x := a[r*as+k]
			for j, y := range (*[32]T)(b[k*bs:]) {
				row[j] += x * value(y)
			}
		}
	}
}

func tileMulF32Plain(dst []float32, ds int, a []float32, as int, b []float32, bs, n, rows int, fix []float32) {
	tileMulPlain(dst, ds, a, as, b, bs, n, rows, fix, func(x float32) float32 { return x })
}

func tileMulF16Plain(dst []float32, ds int, a []float32, as int, b []uint16, bs, n, rows int, fix []float32) {
	tileMulPlain(dst, ds, a, as, b, bs, n, rows, fix, quant.HalfToFloat)
}

func tileMulI8Plain(dst []float32, ds int, a []float32, as int, b []int8, bs, n, rows int, fix []float32) {
	tileMulPlain(dst, ds, a, as, b, bs, n, rows, fix, func(x int8) float32 { return float32(x) })
}

// softTilePlain turns the scores of one tile into weights relative to the running maximum, which it raises, and adds them to the
// running sum. It returns the factor for what was accumulated under the old maximum.
func softTilePlain(row *[TileTokens]float32, top, sum *float32, lo, hi int, scale float32) float32 {
	lo, hi = max(lo, 0), min(hi, TileTokens)
	old, best := *top, *top
	for j := lo; j < hi; j++ {
		row[j] *= scale
		best = max(best, row[j])
	}
	if best == float32(math.Inf(-1)) {
		clear(row[:])
		return 1
	}
	fix := float32(0)
	if old > float32(math.Inf(-1)) {
		fix = Exp(old - best)
	}
	total := float32(0)
	for j := range row {
		if j < lo || j >= hi {
			row[j] = 0
			continue
		}
		row[j] = Exp(row[j] - best)
		total += row[j]
	}
	*top, *sum = best, *sum*fix+total
	return fix
}

func softTilesPlain(scores []float32, rows int, top, sum, fix []float32, lo, hi []int32, scale float32) {
	for r := range rows {
		row := (*[TileTokens]float32)(scores[r*TileTokens:])
		fix[r] = softTilePlain(row, &top[r], &sum[r], int(lo[r]), int(hi[r]), scale)
	}
}

// scaleRowsPlain multiplies each row of weights by the scales of 32 positions.
func scaleRowsPlain(dst, weights []float32, scales []uint16, rows int) {
	var s [TileTokens]float32
	for j := range s {
		s[j] = quant.HalfToFloat(scales[j])
	}
	for r := range rows {
		w, d := weights[r*TileTokens:][:TileTokens], dst[r*TileTokens:][:TileTokens]
		for j := range s {
			d[j] = w[j] * s[j]
		}
	}
}
