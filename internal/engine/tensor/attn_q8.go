package tensor

import "github.com/luthier-dev/luthier/internal/engine/quant"

// quantiseQueries rounds queries to 8 bits in blocks of 32, like the quantised keys, so that scores
// are integer products.
func (a *Attention) quantiseQueries(q []float32) {
	blocks := a.wide / 32
	a.q8 = grow(a.q8, a.rows*a.wide)
	a.q8scale, a.q8sum = grow(a.q8scale, a.rows*blocks), grow(a.q8sum, a.rows*blocks)
	var block [32]int8
	for r := range a.rows {
		row := q[r*a.dim : (r+1)*a.dim]
		for b := range blocks {
			x := row[b*32 : min(b*32+32, a.dim)]
			a.q8scale[r*blocks+b] = quant.HalfToFloat(quantise32(&block, x))
			sum := int32(0)
			for _, v := range block {
				sum += int32(v)
			}
			a.q8sum[r*blocks+b] = -128 * sum
			copy(a.q8[r*a.wide+b*32:], block[:])
		}
	}
}

// scoresQ8 multiplies rounded queries by quantised keys, with exact integer sums within a block and
// blocks added in order.
func (a *Attention) scoresQ8(l TileLayout, kt []byte) {
	scoresQ8(a.scores, a.q8, a.q8scale, a.q8sum, kt[:l.wide*TileTokens], l.scales(kt), a.wide/32, a.rows)
}

func scoresQ8Plain(dst []float32, q []int8, qs []float32, sums []int32, keys []byte, ks []uint16, blocks, rows int) {
	for b := range blocks {
		var scale [TileTokens]float32
		for p := range scale {
			scale[p] = quant.HalfToFloat(ks[b*TileTokens+p])
		}
		for r := range rows {
			at := r*blocks + b
			query := (*[32]int8)(q[at*32:])
			var dot [TileTokens]int32
			for d := 0; d < 32; d += 4 {
				a, b2, c, e := int32(query[d]), int32(query[d+1]), int32(query[d+2]), int32(query[d+3])
				group := (*[4 * TileTokens]byte)(keys[keyIndex(b*32+d, 0):])
				for p := range dot {
					dot[p] += a*int32(group[4*p]) + b2*int32(group[4*p+1]) + c*int32(group[4*p+2]) + e*int32(group[4*p+3])
				}
			}
			out := (*[TileTokens]float32)(dst[r*TileTokens:])
			for p, v := range dot {
				sum := float32(v+sums[at]) * (qs[at] * scale[p])
				if b == 0 {
					out[p] = sum
				} else {
					out[p] += sum
				}
			}
		}
	}
}
