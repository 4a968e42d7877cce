package tensor

// gemmPlain is Gemm by its definition.
func gemmPlain(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	as, ak := lda, 1
	if transA {
		as, ak = 1, lda
	}
	scaleMatrix(c, ldc, m, n, beta)
	for i := range m {
		row := c[i*ldc:][:n]
		if transB {
			for j := range row {
				sum, col := float32(0), b[j*ldb:][:k]
				for p, v := range col {
					sum += a[i*as+p*ak] * v
				}
				row[j] += alpha * sum
			}
			continue
		}
		for p := range k {
			Axpy(row, alpha*a[i*as+p*ak], b[p*ldb:][:n])
		}
	}
}
