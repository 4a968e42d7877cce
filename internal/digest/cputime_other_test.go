//go:build !unix

package digest

import "testing"

func cpuTime(b *testing.B, bytes int, run func()) {
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}
