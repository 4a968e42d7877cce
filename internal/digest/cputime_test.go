//go:build unix

package digest

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime also reports the bytes per second of processor time, which a busy machine does not
// distort, in addition to wall-clock time.
func cpuTime(b *testing.B, bytes int, run func()) {
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	start := spent()
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(bytes)*float64(b.N)/1e6/(spent()-start).Seconds(), "MB/cpu-s")
}

func spent() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
