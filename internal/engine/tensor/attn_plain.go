package tensor

import (
	"math"

	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// These are the attention kernels in plain Go. Each output element is one chain of multiplications
// and additions in the order of k, so that results do not depend on how rows are grouped.

// tileMulPlain computes dst[r][j] = fix[r]·dst[r][j] + Σₖ a[r][k]·b[k][j] for 32 columns j. If fix
// is nil, the sum starts at zero. Strides are in elements.
func tileMulPlain[T float32 | uint16 | int8](dst []float32, ds int, a []float32, as int, b []T, bs, n, rows int, fix []float32) {
	for r := range rows {
		row := (*[32]float32)(dst[r*ds:])
		for j := range row {
			if fix == nil {
				row[j] = 0
			} else {
				row[j] *= fix[r]
			}
		}
	}
	var y [32]float32
	for k := range n {
		widen(&y, (*[32]T)(b[k*bs:]))
		for r := range rows {
			x, row := a[r*as+k], (*[32]float32)(dst[r*ds:])
			for j, v := range &y {
				row[j] += x * v
			}
		}
	}
}

// widen converts 32 elements to floats.
func widen[T float32 | uint16 | int8](dst *[32]float32, src *[32]T) {
	switch src := any(src).(type) {
	case *[32]float32:
		*dst = *src
	case *[32]uint16:
		for i, h := range src {
			dst[i] = quant.HalfToFloat(h)
		}
	case *[32]int8:
		for i, v := range src {
			dst[i] = float32(v)
		}
	}
}

// softTilePlain turns the scores of one tile into weights relative to the running maximum, which it
// raises, and adds them to the running sum. It returns the factor by which the values accumulated
// under the old maximum must be multiplied.
func softTilePlain(row *[TileTokens]float32, top, sum *float32, lo, hi int, scale float32) float32 {
	lo = min(max(lo, 0), TileTokens)
	hi = min(max(hi, lo), TileTokens)
	seen := row[lo:hi]
	Scale(seen, scale)
	old, best := *top, max(*top, Peak(seen))
	if best == float32(math.Inf(-1)) {
		clear(row[:])
		return 1
	}
	fix := float32(0)
	if old > float32(math.Inf(-1)) {
		fix = Exp(old - best)
	}
	total := ExpSum(seen, best)
	clear(row[:lo])
	clear(row[hi:])
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
