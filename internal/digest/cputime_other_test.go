//go:build !unix

package digest

import (
	"testing"
	"time"
)

func cpuTime(b *testing.B, bytes int, run func()) {
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}

// spent returns 0: processor time is not available here.
func spent() time.Duration { return 0 }
