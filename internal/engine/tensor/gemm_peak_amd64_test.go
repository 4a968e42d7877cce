package tensor

import "testing"

// BenchmarkGemmPeak runs only multiply-adds between registers.
func BenchmarkGemmPeak(b *testing.B) {
	const n = 100000
	for _, s := range []struct {
		isa  isa
		run  func(int)
		each float64
	}{{isaAVX512, gemmPeak512, 24 * 16 * 2}, {isaAVX2, gemmPeak256, 12 * 8 * 2}} {
		b.Run(s.isa.String(), func(b *testing.B) {
			if detect() < s.isa {
				b.Skip("not on this processor")
			}
			for b.Loop() {
				s.run(n)
			}
			b.ReportMetric(n*s.each*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
		})
	}
}
