package tensor

import "github.com/luthier-dev/luthier/internal/quant"

// quantiseQueries rounds queries to 8 bits in blocks of 32, as the quantised keys are, so that scores are integer products.
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

// scoresQ8 multiplies rounded queries with quantised keys: exact integer sums inside a block, blocks added in order.
func (a *Attention) scoresQ8(l TileLayout, kt []byte) {
	scoresQ8(a.scores, a.q8, a.q8scale, a.q8sum, kt[:l.wide*TileTokens], l.scales(kt), a.wide/32, a.rows)
}

func scoresQ8Plain(dst []float32, q []int8, qs []float32, sums []int32, keys []byte, ks []uint16, blocks, rows int) {
	for r := range rows {
		out := (*[TileTokens]float32)(dst[r*TileTokens:])
		clear(out[:])
		for b := range blocks {
			query := (*[32]int8)(q[(r*blocks+b)*32:])
			for p := range TileTokens {
				dot := sums[r*blocks+b]
				for d, x := range query {
					dot += int32(x) * int32(keys[keyIndex(b*32+d, p)])
				}
				out[p] += float32(dot) * (qs[r*blocks+b] * quant.HalfToFloat(ks[b*TileTokens+p]))
			}
		}
	}
}
