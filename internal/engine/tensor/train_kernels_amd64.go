package tensor

// The training kernels. They return false if this processor has none.

func productWide(x, y []float32) (float32, bool) {
	if attnISA < isaAVX2 || len(x) == 0 {
		return 0, false
	}
	if wide() {
		return productAVX512(&x[0], &y[0], len(x)), true
	}
	return productAVX2(&x[0], &y[0], len(x)), true
}

func peakWide(x []float32) (float32, bool) {
	if attnISA < isaAVX2 || len(x) == 0 {
		return 0, false
	}
	if wide() {
		return peakAVX512(&x[0], len(x)), true
	}
	return peakAVX2(&x[0], len(x)), true
}

func scaleWide(x []float32, a float32) bool {
	if attnISA < isaAVX2 || len(x) == 0 {
		return false
	}
	if wide() {
		scaleAVX512(&x[0], len(x), a)
	} else {
		scaleAVX2(&x[0], len(x), a)
	}
	return true
}

func expSumWide(x []float32, top float32) (float32, bool) {
	if attnISA < isaAVX2 || len(x) == 0 {
		return 0, false
	}
	if wide() {
		return expSumAVX512(&x[0], len(x), top), true
	}
	return expSumAVX2(&x[0], len(x), top), true
}

func softmaxBackWide(ds, p []float32, delta float32) bool {
	if attnISA < isaAVX2 || len(ds) == 0 {
		return false
	}
	if wide() {
		softmaxBackAVX512(&ds[0], &p[0], len(ds), delta)
	} else {
		softmaxBackAVX2(&ds[0], &p[0], len(ds), delta)
	}
	return true
}

func rotateWide(lo, hi, cos, sin []float32, sign float32) bool {
	if attnISA < isaAVX2 || len(lo) == 0 {
		return false
	}
	if wide() {
		rotateAVX512(&lo[0], &hi[0], &cos[0], &sin[0], len(lo), sign)
	} else {
		rotateAVX2(&lo[0], &hi[0], &cos[0], &sin[0], len(lo), sign)
	}
	return true
}

func normBackWide(dx, dh, x, w, dw []float32, inv float32) bool {
	if attnISA < isaAVX2 || len(dx) == 0 {
		return false
	}
	if wide() {
		normBackAVX512(&dx[0], &dh[0], &x[0], &w[0], &dw[0], len(dx), inv)
	} else {
		normBackAVX2(&dx[0], &dh[0], &x[0], &w[0], &dw[0], len(dx), inv)
	}
	return true
}

func swiGLUBackWide(act, dgate, dup, dact, gate, up []float32, gain float32) (float32, bool) {
	if attnISA < isaAVX2 || len(act) == 0 {
		return 0, false
	}
	if wide() {
		return swiGLUBackAVX512(&act[0], &dgate[0], &dup[0], &dact[0], &gate[0], &up[0], len(act), gain), true
	}
	return swiGLUBackAVX2(&act[0], &dgate[0], &dup[0], &dact[0], &gate[0], &up[0], len(act), gain), true
}
