package tensor

import (
	"math"
	"math/rand/v2"
	"testing"
)

// coarse reduces numbers to eight bits of precision, which is the precision that a bfloat16 product
// keeps of its operands.
func coarse(x []float32) {
	for i, v := range x {
		x[i] = math.Float32frombits(math.Float32bits(v) &^ 0xffff)
	}
}

// TestGemmBrain multiplies matrices of numbers that bfloat16 can represent: no precision may be
// lost except in the sums.
//
// Evidence: engine · Matrix products of training are exact on every kernel set
func TestGemmBrain(t *testing.T) {
	if !brainISA() {
		t.Skip("no kernels of bfloat16 here")
	}
	r := rand.New(rand.NewPCG(9, 9))
	ws := &GemmSpace{BFloat16: true}
	try := func(g gemmCase) {
		g.forms(func(g gemmCase) { g.checkWith(t, r, ws, coarse, 1e-6) })
	}
	for _, s := range [][3]int{{32, 32, 64}, {33, 31, 65}, {64, 96, 32}, {100, 17, 100}, {16, 130, 47}, {brainRows + 37, 70, 40}, {40, gemmCols + 5, 33}, {70, 66, 2*brainDepth + 9}, {1, 1, 1 << 16}, {300, 300, 1}} {
		for _, beta := range []float32{0, 1, -0.5} {
			try(gemmCase{m: s[0], n: s[1], k: s[2], alpha: 1, beta: beta, gapA: r.IntN(20), gapB: r.IntN(20), gapC: r.IntN(20), shift: r.IntN(17)})
		}
	}
	for range 10 {
		try(gemmCase{m: 1 + r.IntN(200), n: 1 + r.IntN(200), k: 1 + r.IntN(200), alpha: -2, beta: 1, gapA: r.IntN(20), gapB: r.IntN(20), gapC: r.IntN(20), shift: r.IntN(17)})
	}
}

// TestGemmBrainRounds multiplies arbitrary numbers: each operand may have a relative error of
// slightly more than 1/512.
func TestGemmBrainRounds(t *testing.T) {
	if !brainISA() {
		t.Skip("no kernels of bfloat16 here")
	}
	r := rand.New(rand.NewPCG(10, 10))
	ws := &GemmSpace{BFloat16: true}
	for range 10 {
		g := gemmCase{m: 1 + r.IntN(200), n: 1 + r.IntN(200), k: 10 + r.IntN(200), alpha: 0.37, beta: 1}
		g.forms(func(g gemmCase) { g.checkWith(t, r, ws, func([]float32) {}, 1.0/200) })
	}
}
