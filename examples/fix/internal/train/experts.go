package train

import "github.com/luthier-dev/luthier/internal/engine/tensor"

// feed computes layer i's feed-forward block or experts for a.h2, and adds the output to out.
func (w *worker) feed(i int, y *layerAt, a *layerState, out []float32) {
	s, m := w.shape, &w.tmp
	d, ff := s.Dim, s.FF
	w.route(i, y, a)
	slots := len(a.route.token)
	a.gateUp, m.act = grow(a.gateUp, slots*2*ff), grow(m.act, slots*ff)
	if s.Experts > 0 {
		a.xg = gather(a.xg, a.h2, a.route.token, d)
		m.y = grow(m.y, slots*d)
	}
	for e := range y.experts {
		lo, hi := a.route.first[e], a.route.first[e+1]
		if lo == hi {
			continue
		}
		x, gu, act := a.inputs()[lo*d:hi*d], a.gateUp[lo*2*ff:hi*2*ff], m.act[lo*ff:hi*ff]
		tensor.Gemm(false, true, hi-lo, 2*ff, d, 1, x, d, w.weights[y.experts[e].gateUp:], d, 0, gu, 2*ff, &w.ws)
		for r := range hi - lo {
			tensor.SwiGLU(act[r*ff:(r+1)*ff], gu[r*2*ff:][:ff], gu[r*2*ff+ff:][:ff])
		}
		down := w.weights[y.experts[e].down:]
		if s.Experts == 0 {
			tensor.Gemm(false, true, hi-lo, d, ff, 1, act, ff, down, ff, 1, out, d, &w.ws)
			return
		}
		tensor.Gemm(false, true, hi-lo, d, ff, 1, act, ff, down, ff, 0, m.y[lo*d:], d, &w.ws)
	}
	for r, t := range a.route.token {
		tensor.Axpy(out[int(t)*d:][:d], a.route.gain[r], m.y[r*d:(r+1)*d])
	}
}

// inputs returns the rows that the experts compute, sorted by expert.
func (a *layerState) inputs() []float32 {
	if a.route.experts == 0 {
		return a.h2
	}
	return a.xg
}

func gather(dst, src []float32, rows []int32, width int) []float32 {
	dst = grow(dst, len(rows)*width)
	for i, r := range rows {
		copy(dst[i*width:(i+1)*width], src[int(r)*width:])
	}
	return dst
}

// feedBack reads the gradient dx of the block's output and adds the gradient of a.h2 to dh.
//
// With y = gain·(act·downᵀ) the gradient of gain is dy·(act·downᵀ) = (dy·down)·act: so only gate
// and up of the forward pass have to be kept.
func (w *worker) feedBack(i int, y *layerAt, a *layerState, dx, dh []float32) {
	s, m := w.shape, &w.tmp
	d, ff, slots := s.Dim, s.FF, len(a.route.token)
	m.act, m.dgateUp = grow(m.act, slots*ff), grow(m.dgateUp, slots*2*ff)
	dy, dxg := dx, dh
	if s.Experts > 0 {
		m.dyg, m.dxg = gather(m.dyg, dx, a.route.token, d), grow(m.dxg, slots*d)
		dy, dxg = m.dyg, m.dxg
	}
	for e := range y.experts {
		if lo, hi := a.route.first[e], a.route.first[e+1]; lo < hi {
			w.expertBack(&y.experts[e], a, lo, hi, dy[lo*d:hi*d], dxg[lo*d:hi*d])
		}
	}
	if s.Experts == 0 {
		return
	}
	for r, t := range a.route.token {
		tensor.AddTo(dh[int(t)*d:][:d], dxg[r*d:(r+1)*d])
	}
	w.routeBack(i, y, a, dh)
}

// expertBack computes the gradients of one expert's slots [lo, hi).
func (w *worker) expertBack(x *expertAt, a *layerState, lo, hi int, dy, dx []float32) {
	d, ff, m := w.shape.Dim, w.shape.FF, &w.tmp
	n := hi - lo
	act, gu, dgu := m.act[lo*ff:hi*ff], a.gateUp[lo*2*ff:hi*2*ff], m.dgateUp[lo*2*ff:hi*2*ff]
	m.ds = grow(m.ds, n*ff)
	dact := m.ds
	tensor.Gemm(false, false, n, ff, d, 1, dy, d, w.weights[x.down:], ff, 0, dact, ff, &w.ws)
	for r := range n {
		gate, up, dgate, dup := gu[r*2*ff:][:ff], gu[r*2*ff+ff:][:ff], dgu[r*2*ff:][:ff], dgu[r*2*ff+ff:][:ff]
		a.route.dgain[lo+r] = tensor.SwiGLUBack(act[r*ff:(r+1)*ff], dgate, dup, dact[r*ff:(r+1)*ff], gate, up, a.route.gain[lo+r])
	}
	tensor.Gemm(true, false, d, ff, n, 1, dy, d, act, ff, 1, w.grads[x.down:], ff, &w.ws)
	tensor.Gemm(true, false, 2*ff, d, n, 1, dgu, 2*ff, a.inputs()[lo*d:hi*d], d, 1, w.grads[x.gateUp:], d, &w.ws)
	tensor.Gemm(false, false, n, d, 2*ff, 1, dgu, 2*ff, w.weights[x.gateUp:], d, 0, dx, d, &w.ws)
}
