package tensor

import "unsafe"

// attnISA is the kernel set used for attention and vectors on this machine.
var attnISA = detect()

// widenPays reports whether widening a whole tile is fast.
func widenPays() bool { return attnISA != isaAVX2 }

func wide() bool { return attnISA >= isaAVX512 }

// tileMulF32 computes dst[r][j] = fix[r]·dst[r][j] + Σₖ a[r][k]·b[k][j] for rows r, 32 columns j
// and n steps k. If fix is nil, the sum starts at zero. Strides are in elements.
func tileMulF32(dst []float32, ds int, a []float32, as int, b []float32, bs, n, rows int, fix []float32) {
	if attnISA < isaAVX2 {
		tileMulPlain(dst, ds, a, as, b, bs, n, rows, fix)
		return
	}
	checkTile(len(dst), ds, len(a), as, len(b), bs, n, rows)
	ds, as, bs = ds*4, as*4, bs*4
	d, x, y, f := unsafe.Pointer(&dst[0]), unsafe.Pointer(&a[0]), &b[0], first(fix)
	for r := 0; r < rows; {
		at, from, fr := (*float32)(unsafe.Add(d, r*ds)), (*float32)(unsafe.Add(x, r*as)), skip(f, r)
		switch k := rows - r; {
		case !wide() && k >= 2:
			avx2TileMulF32x2(at, ds, from, as, y, bs, n, fr)
			r += 2
		case !wide():
			avx2TileMulF32x1(at, ds, from, as, y, bs, n, fr)
			r++
		case k >= 8:
			tileMulF32x8(at, ds, from, as, y, bs, n, fr)
			r += 8
		case k >= 4:
			tileMulF32x4(at, ds, from, as, y, bs, n, fr)
			r += 4
		case k >= 2:
			tileMulF32x2(at, ds, from, as, y, bs, n, fr)
			r += 2
		default:
			tileMulF32x1(at, ds, from, as, y, bs, n, fr)
			r++
		}
	}
}

// tileMulF16 is like tileMulF32, for half-precision b.
func tileMulF16(dst []float32, ds int, a []float32, as int, b []uint16, bs, n, rows int, fix []float32) {
	if attnISA < isaAVX2 {
		tileMulPlain(dst, ds, a, as, b, bs, n, rows, fix)
		return
	}
	checkTile(len(dst), ds, len(a), as, len(b), bs, n, rows)
	ds, as, bs = ds*4, as*4, bs*2
	d, x, y, f := unsafe.Pointer(&dst[0]), unsafe.Pointer(&a[0]), &b[0], first(fix)
	for r := 0; r < rows; {
		at, from, fr := (*float32)(unsafe.Add(d, r*ds)), (*float32)(unsafe.Add(x, r*as)), skip(f, r)
		switch k := rows - r; {
		case !wide() && k >= 2:
			avx2TileMulF16x2(at, ds, from, as, y, bs, n, fr)
			r += 2
		case !wide():
			avx2TileMulF16x1(at, ds, from, as, y, bs, n, fr)
			r++
		case k >= 8:
			tileMulF16x8(at, ds, from, as, y, bs, n, fr)
			r += 8
		case k >= 4:
			tileMulF16x4(at, ds, from, as, y, bs, n, fr)
			r += 4
		case k >= 2:
			tileMulF16x2(at, ds, from, as, y, bs, n, fr)
			r += 2
		default:
			tileMulF16x1(at, ds, from, as, y, bs, n, fr)
			r++
		}
	}
}

// tileMulI8 is like tileMulF32, for 8-bit integers b.
func tileMulI8(dst []float32, ds int, a []float32, as int, b []int8, bs, n, rows int, fix []float32) {
	if attnISA < isaAVX2 {
		tileMulPlain(dst, ds, a, as, b, bs, n, rows, fix)
		return
	}
	checkTile(len(dst), ds, len(a), as, len(b), bs, n, rows)
	ds, as = ds*4, as*4
	d, x, y, f := unsafe.Pointer(&dst[0]), unsafe.Pointer(&a[0]), &b[0], first(fix)
	for r := 0; r < rows; {
		at, from, fr := (*float32)(unsafe.Add(d, r*ds)), (*float32)(unsafe.Add(x, r*as)), skip(f, r)
		switch k := rows - r; {
		case !wide() && k >= 2:
			avx2TileMulI8x2(at, ds, from, as, y, bs, n, fr)
			r += 2
		case !wide():
			avx2TileMulI8x1(at, ds, from, as, y, bs, n, fr)
			r++
		case k >= 8:
			tileMulI8x8(at, ds, from, as, y, bs, n, fr)
			r += 8
		case k >= 4:
			tileMulI8x4(at, ds, from, as, y, bs, n, fr)
			r += 4
		case k >= 2:
			tileMulI8x2(at, ds, from, as, y, bs, n, fr)
			r += 2
		default:
			tileMulI8x1(at, ds, from, as, y, bs, n, fr)
			r++
		}
	}
}

// checkTile panics if a kernel would access memory outside its slices.
func checkTile(dst, ds, a, as, b, bs, n, rows int) {
	if rows < 1 || dst < (rows-1)*ds+32 || n < 0 || a < (rows-1)*as+n || n > 0 && b < (n-1)*bs+32 {
		panic("tensor: multiply a tile: a slice is too short")
	}
}

func first(x []float32) *float32 {
	if len(x) == 0 {
		return nil
	}
	return &x[0]
}

func skip(x *float32, n int) *float32 {
	if x == nil {
		return nil
	}
	return (*float32)(unsafe.Add(unsafe.Pointer(x), n*4))
}

func softTiles(scores []float32, rows int, top, sum, fix []float32, lo, hi []int32, scale float32) {
	if !wide() {
		softTilesPlain(scores, rows, top, sum, fix, lo, hi, scale)
		return
	}
	_, _, _, _, _, _ = scores[rows*TileTokens-1], top[rows-1], sum[rows-1], fix[rows-1], lo[rows-1], hi[rows-1]
	softTop(&scores[0], rows, &top[0], &fix[0], &lo[0], &hi[0], scale)
	softFix(&fix[0], &top[0], rows)
	softWeights(&scores[0], rows, &top[0], &sum[0], &fix[0], &lo[0], &hi[0])
}

func scaleRows(dst, weights []float32, scales []uint16, rows int) {
	if !wide() {
		scaleRowsPlain(dst, weights, scales, rows)
		return
	}
	_, _, _ = dst[rows*TileTokens-1], weights[rows*TileTokens-1], scales[TileTokens-1]
	scaleRowsAVX512(&dst[0], &weights[0], &scales[0], rows)
}

func scoresQ8(dst []float32, q []int8, qs []float32, sums []int32, keys []byte, ks []uint16, blocks, rows int) {
	if attnISA < isaAVX2 {
		scoresQ8Plain(dst, q, qs, sums, keys, ks, blocks, rows)
		return
	}
	_, _, _, _ = dst[rows*TileTokens-1], q[rows*blocks*32-1], qs[rows*blocks-1], sums[rows*blocks-1]
	_, _ = keys[blocks*1024-1], ks[blocks*TileTokens-1]
	r := 0
	for ; !wide() && r < rows; r++ {
		avx2ScoresQ8(&dst[r*TileTokens], &q[r*blocks*32], &qs[r*blocks], &keys[0], &ks[0], blocks)
	}
	for ; rows-r >= 4; r += 4 {
		scoresQ8x4(&dst[r*TileTokens], &q[r*blocks*32], &qs[r*blocks], &sums[r*blocks], &keys[0], &ks[0], blocks)
	}
	for ; r < rows; r++ {
		scoresQ8x1(&dst[r*TileTokens], &q[r*blocks*32], &qs[r*blocks], &sums[r*blocks], &keys[0], &ks[0], blocks)
	}
}

// Prefetch prefetches the start of a tile that will be needed soon; within a tile, the kernels do
// the prefetching.
func Prefetch(tile []byte) {
	if len(tile) >= prefetchBytes {
		prefetchAMD64(&tile[0], prefetchBytes)
	}
}

const prefetchBytes = 2048
