package tensor

import (
	"math"
	"unsafe"
)

// sdot reports whether the kernels with SDOT can run on this machine.
var sdot = detect() == isaDot

// tileKernel is a product of one or two rows with strides in bytes, see tileMulPlain.
type tileKernel[T any] func(dst *float32, ds int, a *float32, as int, b *T, bs, n int, fix *float32)

// tileMulNEON processes the rows two at a time.
func tileMulNEON[T any](dst []float32, ds int, a []float32, as int, b []T, bs, n, rows int, fix []float32, one, two tileKernel[T]) {
	if rows < 1 || len(dst) < (rows-1)*ds+TileTokens || n < 0 || len(a) < (rows-1)*as+n || n > 0 && len(b) < (n-1)*bs+TileTokens {
		panic("tensor: multiply a tile: a slice is too short")
	}
	var row T
	wide := bs * int(unsafe.Sizeof(row))
	for r := 0; r < rows; r += 2 {
		d, x, y := &dst[r*ds], unsafe.SliceData(a[r*as:]), unsafe.SliceData(b)
		var f *float32
		if fix != nil {
			f = unsafe.SliceData(fix[r:min(rows, r+2)])
		}
		if r+1 < rows {
			two(d, ds*4, x, as*4, y, wide, n, f)
		} else {
			one(d, ds*4, x, as*4, y, wide, n, f)
		}
	}
}

func tileMulF32(dst []float32, ds int, a []float32, as int, b []float32, bs, n, rows int, fix []float32) {
	tileMulNEON(dst, ds, a, as, b, bs, n, rows, fix, tileMulF32x1, tileMulF32x2)
}

func tileMulF16(dst []float32, ds int, a []float32, as int, b []uint16, bs, n, rows int, fix []float32) {
	tileMulNEON(dst, ds, a, as, b, bs, n, rows, fix, tileMulF16x1, tileMulF16x2)
}

func tileMulI8(dst []float32, ds int, a []float32, as int, b []int8, bs, n, rows int, fix []float32) {
	tileMulNEON(dst, ds, a, as, b, bs, n, rows, fix, tileMulI8x1, tileMulI8x2)
}

func softTiles(scores []float32, rows int, top, sum, fix []float32, lo, hi []int32, scale float32) {
	for r := range rows {
		row := (*[TileTokens]float32)(scores[r*TileTokens:])
		from, to := max(lo[r], 0), min(hi[r], TileTokens)
		old := top[r]
		best := softTopNEON(&row[0], from, to, scale, old)
		if best == float32(math.Inf(-1)) {
			clear(row[:])
			fix[r] = 1
			continue
		}
		fix[r] = 0
		if old > float32(math.Inf(-1)) {
			fix[r] = Exp(old - best)
		}
		total := softWeightsNEON(&row[0], from, to, best)
		top[r], sum[r] = best, sum[r]*fix[r]+total
	}
}

func scaleRows(dst, weights []float32, scales []uint16, rows int) {
	_, _, _ = dst[rows*TileTokens-1], weights[rows*TileTokens-1], scales[TileTokens-1]
	scaleRowsNEON(&dst[0], &weights[0], &scales[0], rows)
}

func scoresQ8(dst []float32, q []int8, qs []float32, sums []int32, keys []byte, ks []uint16, blocks, rows int) {
	_, _, _ = dst[rows*TileTokens-1], q[rows*blocks*32-1], qs[rows*blocks-1]
	_, _ = keys[blocks*1024-1], ks[blocks*TileTokens-1]
	for r := 0; r < rows; r += 2 {
		d, x, s := &dst[r*TileTokens], &q[r*blocks*32], &qs[r*blocks]
		switch two := r+1 < rows; {
		case sdot && two:
			dotScoresx2(d, x, s, &keys[0], &ks[0], blocks)
		case sdot:
			dotScoresx1(d, x, s, &keys[0], &ks[0], blocks)
		case two:
			neonScoresx2(d, x, s, &keys[0], &ks[0], blocks)
		default:
			neonScoresx1(d, x, s, &keys[0], &ks[0], blocks)
		}
	}
}

// Prefetch does nothing: these processors detect the kernels' read pattern themselves.
func Prefetch([]byte) {}

// widenPays reports whether widening a whole tile is fast.
func widenPays() bool { return true }
