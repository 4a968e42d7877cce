package tensor

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// brainISA tells whether there are kernels of products of bfloat16: AMX, which the system must let
// a process use.
var brainISA = sync.OnceValue(func() bool {
	x := &cpu.X86
	return gemmISA == isaAVX512 && x.HasAMXTile && x.HasAMXBF16 && allowTiles()
})

// amxTask is what amxBlocks computes, whose assembly knows its fields. Distances are in bytes.
type amxTask struct {
	a, b, c    *float32
	rowC       int
	steps      int // tiles along k
	rows, cols int // panels
	sum        int // whether C is added to
}

// brainBlocks multiplies panels of A with panels of B: C = A·B, or C += A·B. It does not look for
// the end of its memory.
func brainBlocks(a, b, c []float32, ldc, steps, rows, cols int, sum bool) {
	t := amxTask{a: &a[0], b: &b[0], c: &c[0], rowC: 4 * ldc, steps: steps, rows: rows, cols: cols}
	if sum {
		t.sum = 1
	}
	amxBlocks(&t)
}

//go:noescape
func amxBlocks(t *amxTask)

// packBrain packs n full tiles, step bytes apart, of 16 lines of x by 32 steps of k: each stride
// numbers behind the last.
func packBrain(dst []float32, step int, x gemmSide, stride, n int, alpha float32, isA bool) {
	_, _ = dst[((n-1)*step+brainBytes)/4-1], x.x[(n-1)*stride+(brainTile-1)*x.line+(brainStep-1)*x.step]
	to, from := (*byte)(unsafe.Pointer(&dst[0])), &x.x[0]
	switch {
	case x.step == 1 && isA:
		gemmBrainAlong(to, step, from, 4*x.line, 4*stride, n, alpha)
	case x.step == 1:
		gemmBrainAlongTurned(to, step, from, 4*x.line, 4*stride, n, alpha)
	case !isA:
		gemmBrainAcross(to, step, from, 4*x.step, 4*stride, n, alpha)
	default:
		gemmBrainAcrossTurned(to, step, from, 4*x.step, 4*stride, n, alpha)
	}
}
