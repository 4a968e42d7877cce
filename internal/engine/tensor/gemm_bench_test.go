package tensor

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// gemmShapes lists products from training a small model: tokens by weights, gradients of weights,
// attention, experts.
var gemmShapes = []struct {
	form    string
	m, n, k int
}{
	{"nt", 256, 192, 192}, {"nt", 1024, 192, 192}, {"nt", 4096, 192, 192}, {"nt", 1024, 64, 192}, {"nt", 1024, 384, 192},
	{"nt", 1024, 2048, 192}, {"nn", 1024, 192, 192}, {"nn", 1024, 192, 2048}, {"nn", 1024, 192, 384},
	{"tn", 192, 192, 128}, {"tn", 192, 192, 1024}, {"tn", 192, 192, 4096}, {"tn", 2048, 192, 1024}, {"tn", 64, 192, 1024},
	{"nt", 100, 192, 192}, {"nn", 100, 192, 192}, {"tn", 192, 192, 100},
	{"nt", 500, 384, 192}, {"nt", 500, 192, 192}, {"nn", 500, 192, 384}, {"tn", 384, 192, 500}, {"tn", 192, 192, 500},
	{"nt", 64, 64, 32}, {"nt", 192, 400, 32}, {"nt", 512, 512, 32}, {"nn", 64, 32, 64}, {"nn", 192, 32, 400}, {"tn", 400, 32, 192},
	{"nn", 1024, 1024, 1024}, {"nn", 192, 192, 192}, {"nt", 192, 192, 192},
}

// BenchmarkGemm multiplies on one core; GFLOPS is 10⁹ multiplications and additions per second.
// BenchmarkGemmPeak measures the processor's maximum.
func BenchmarkGemm(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range gemmShapes {
		for _, brain := range []bool{false, true} {
			name := "f32"
			if brain {
				name = "bf16"
			}
			b.Run(fmt.Sprintf("%s/%s/%dx%dx%d", name, s.form, s.m, s.n, s.k), func(b *testing.B) {
				ta, tb := s.form[0] == 't', s.form[1] == 't'
				x, y, c, ws := normals(r, s.m*s.k), normals(r, s.k*s.n), make([]float32, s.m*s.n), &GemmSpace{BFloat16: brain}
				lda, ldb := s.k, s.n
				if ta {
					lda = s.m
				}
				if tb {
					ldb = s.k
				}
				b.ReportAllocs()
				for b.Loop() {
					Gemm(ta, tb, s.m, s.n, s.k, 1, x, lda, y, ldb, 0, c, s.n, ws)
				}
				b.ReportMetric(2*float64(s.m)*float64(s.n)*float64(s.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
			})
		}
	}
}
