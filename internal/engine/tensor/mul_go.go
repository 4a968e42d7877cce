package tensor

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// chunk is a chunk of a panel in plain numbers, as the vector kernels hold it in registers.
type chunk struct {
	q     [panelRows][chunkCols]uint8 // weights, made unsigned
	scale [16][panelRows]float32      // of each group of 16 or 32 columns
	mins  [16][panelRows]int32        // of each group, for K-quants that have them
	dmin  [panelRows]float32          // their scale
	fmin  [8][panelRows]float32       // minimum of each block of 32, for Q4_1 and Q5_1
}

// runGo is the kernel in Go, for every type and processor. It defines the results of the other
// kernels.
func runGo(l *layout, k int, c *call) {
	switch {
	case l.block == 1:
		runGoPlain(l, k, c)
	case l.form.super():
		runGoSuper(l, k, c)
	default:
		runGoBlocks(l, k, c)
	}
}

// fma computes a·b+c, rounded once (very rarely, the intermediate rounding to 64 bits affects the
// result).
func fma(a, b, c float32) float32 { return float32(float64(a)*float64(b) + float64(c)) }

func runGoPlain(l *layout, k int, c *call) {
	w := unsafe.Slice((*byte)(c.w), c.n*l.bytes*panelRows)
	for t := range k {
		x := unsafe.Slice((*float32)(c.act[t]), c.n)
		dst := (*[panelRows]float32)(c.dst[t])
		var even, odd [panelRows]float32 // two chains, because additions have a latency
		for i, v := range x {
			sum := &even
			if i&1 == 1 {
				sum = &odd
			}
			for r := range panelRows {
				sum[r] = fma(plain(l.typ, w[(i*panelRows+r)*l.bytes:]), v, sum[r])
			}
		}
		for r := range panelRows {
			dst[r] = even[r] + odd[r]
		}
	}
}

func plain(t gguf.Type, b []byte) float32 {
	switch t {
	case gguf.TypeF32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case gguf.TypeF16:
		return halfAt(b)
	}
	return quant.BF16ToFloat(binary.LittleEndian.Uint16(b))
}

func halfAt(b []byte) float32 { return quant.HalfToFloat(binary.LittleEndian.Uint16(b)) }

func floatAt(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

func intAt(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }

// dot returns init + Σ q·a.
func dot(q []uint8, a []byte, init int32) int32 {
	a = a[:len(q)]
	for i, w := range q {
		init += int32(w) * int32(int8(a[i]))
	}
	return init
}

func runGoBlocks(l *layout, k int, c *call) {
	w := unsafe.Slice((*byte)(c.w), c.n*l.bytes*panelRows)
	var sums [maxTile][panelRows]float32
	var u chunk
	for at := 0; at < c.n; at += 8 {
		nb := min(8, c.n-at)
		l.blocksOf(&u, w[at*l.bytes*panelRows:], nb)
		for t := range k {
			rec := unsafe.Slice((*byte)(unsafe.Add(c.act[t], at/8*recBytes)), recBytes)
			for b := range nb {
				d, init := floatAt(rec[recD+4*b:]), intAt(rec[recInit+4*b:])
				if l.form == formQ8sum {
					init = 0
				}
				for r := range panelRows {
					v := dot(u.q[r][b*32:b*32+32], rec[recQ+b*32:], init)
					sums[t][r] = fma(float32(v), u.scale[b][r]*d, sums[t][r])
					if l.form == formQ8sum {
						sums[t][r] = fma(u.fmin[b][r], floatAt(rec[recInit+4*b:]), sums[t][r])
					}
				}
			}
		}
	}
	for t := range k {
		*(*[panelRows]float32)(c.dst[t]) = sums[t]
	}
}

func runGoSuper(l *layout, k int, c *call) {
	w := unsafe.Slice((*byte)(c.w), c.n*l.bytes*panelRows)
	var sums [maxTile][panelRows]float32
	var u chunk
	for at := range c.n {
		width := l.supersOf(&u, w[at*l.bytes*panelRows:])
		for t := range k {
			rec := unsafe.Slice((*byte)(unsafe.Add(c.act[t], at*recKBytes)), recKBytes)
			for r := range panelRows {
				sums[t][r] = fma(u.superSum(l, rec, width, r), floatAt(rec), sums[t][r])
			}
		}
	}
	for t := range k {
		*(*[panelRows]float32)(c.dst[t]) = sums[t]
	}
}

// superSum returns the product of row r of the chunk with a record, without the record's scale.
func (u *chunk) superSum(l *layout, rec []byte, width, r int) float32 {
	var sum float32
	groups := chunkCols / width
	if l.hasMins() {
		at := recKSum16
		if width == 32 {
			at = recKSum32
		}
		var m int32
		for g := range groups {
			m += u.mins[g][r] * int32(int16(binary.LittleEndian.Uint16(rec[at+2*g:])))
		}
		sum = -u.dmin[r] * float32(m)
	}
	for g := range groups {
		var init int32
		if !l.hasMins() {
			init = intAt(rec[recKInit+4*g:])
		}
		v := dot(u.q[r][g*width:(g+1)*width], rec[recKQ+g*width:], init)
		sum = fma(float32(v), u.scale[g][r], sum)
	}
	return sum
}

// hasMins reports whether the K-quant subtracts a minimum from every group.
func (l *layout) hasMins() bool {
	return l.typ == gguf.TypeQ4_K || l.typ == gguf.TypeQ5_K || l.typ == gguf.TypeQ2_K
}
