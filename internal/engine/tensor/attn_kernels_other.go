//go:build !amd64 && !arm64

package tensor

func tileMulF32(dst []float32, ds int, a []float32, as int, b []float32, bs, n, rows int, fix []float32) {
	tileMulPlain(dst, ds, a, as, b, bs, n, rows, fix)
}

func tileMulF16(dst []float32, ds int, a []float32, as int, b []uint16, bs, n, rows int, fix []float32) {
	tileMulPlain(dst, ds, a, as, b, bs, n, rows, fix)
}

func tileMulI8(dst []float32, ds int, a []float32, as int, b []int8, bs, n, rows int, fix []float32) {
	tileMulPlain(dst, ds, a, as, b, bs, n, rows, fix)
}

func softTiles(scores []float32, rows int, top, sum, fix []float32, lo, hi []int32, scale float32) {
	softTilesPlain(scores, rows, top, sum, fix, lo, hi, scale)
}

func scaleRows(dst, weights []float32, scales []uint16, rows int) {
	scaleRowsPlain(dst, weights, scales, rows)
}

func scoresQ8(dst []float32, q []int8, qs []float32, sums []int32, keys []byte, ks []uint16, blocks, rows int) {
	scoresQ8Plain(dst, q, qs, sums, keys, ks, blocks, rows)
}

// Prefetch does nothing on this architecture; on others it prefetches the start of a tile that will
// be needed soon.
func Prefetch([]byte) {}

func widenPays() bool { return true }
