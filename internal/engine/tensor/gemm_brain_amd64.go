package tensor

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// brainISA reports whether there are kernels for bfloat16 products. They need AMX, which the
// operating system must allow the process to use.
var brainISA = sync.OnceValue(func() bool {
	x := &cpu.X86
	return gemmISA == isaAVX512 && x.HasAMXTile && x.HasAMXBF16 && allowTiles()
})

// amxTask holds the parameters of amxBlocks, whose assembly depends on the order of its fields.
// Distances are in bytes.
type amxTask struct {
	a, b, c    *float32
	rowC       int
	steps      int // tiles along k
	rows, cols int // panels
	sum        int // whether to add to C
}

// brainBlocks multiplies panels of A by panels of B: C = A·B, or C += A·B. It does not check the
// bounds of its memory.
func brainBlocks(a, b, c []float32, ldc, steps, rows, cols int, sum bool) {
	t := amxTask{a: &a[0], b: &b[0], c: &c[0], rowC: 4 * ldc, steps: steps, rows: rows, cols: cols}
	if sum {
		t.sum = 1
	}
	amxBlocks(&t)
}

//go:noescape
func amxBlocks(t *amxTask)

// packBrain packs n full tiles of 16 lines of x by 32 steps of k, and writes them step bytes apart.
// Each tile starts stride numbers after the previous one in x.
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
