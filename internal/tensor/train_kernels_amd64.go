package tensor

// The kernels of learning; false where this processor has none.

func productWide(x, y []float32) (float32, bool) {
	if !wide() || len(x) == 0 {
		return 0, false
	}
	return productAVX512(&x[0], &y[0], len(x)), true
}

func peakWide(x []float32) (float32, bool) {
	if !wide() || len(x) == 0 {
		return 0, false
	}
	return peakAVX512(&x[0], len(x)), true
}

func scaleWide(x []float32, a float32) bool {
	if !wide() || len(x) == 0 {
		return false
	}
	scaleAVX512(&x[0], len(x), a)
	return true
}

func expSumWide(x []float32, top float32) (float32, bool) {
	if !wide() || len(x) == 0 {
		return 0, false
	}
	return expSumAVX512(&x[0], len(x), top), true
}

func softmaxBackWide(ds, p []float32, delta float32) bool {
	if !wide() || len(ds) == 0 {
		return false
	}
	softmaxBackAVX512(&ds[0], &p[0], len(ds), delta)
	return true
}

func rotateWide(lo, hi, cos, sin []float32, sign float32) bool {
	if !wide() || len(lo) == 0 {
		return false
	}
	rotateAVX512(&lo[0], &hi[0], &cos[0], &sin[0], len(lo), sign)
	return true
}

func normBackWide(dx, dh, x, w, dw []float32, inv float32) bool {
	if !wide() || len(dx) == 0 {
		return false
	}
	normBackAVX512(&dx[0], &dh[0], &x[0], &w[0], &dw[0], len(dx), inv)
	return true
}

func swiGLUBackWide(act, dgate, dup, dact, gate, up []float32, gain float32) (float32, bool) {
	if !wide() || len(act) == 0 {
		return 0, false
	}
	return swiGLUBackAVX512(&act[0], &dgate[0], &dup[0], &dact[0], &gate[0], &up[0], len(act), gain), true
}
