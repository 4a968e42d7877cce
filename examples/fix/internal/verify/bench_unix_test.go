//go:build unix

package verify

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// processorTime returns the CPU time used by this process and the children it waited for.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	total := time.Duration(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return total
}

// BenchmarkRun measures one variant of the module in testdata: the tests that reach it, then the
// failing and the other tests separately. It reports starts of the test binary per hour of CPU
// time, without the build.
func BenchmarkRun(b *testing.B) {
	cfg, p := small(b)
	bin, err := Build(context.Background(), cfg, p, []Variant{change(b, p, "Factorial", "Factorial(n-1)", "Factorial(n-2)")})
	if err != nil {
		b.Fatal(err)
	}
	defer bin.Close()
	if err := bin.Baseline(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	before, used := bin.runs, processorTime(b)
	for b.Loop() {
		o, err := bin.Run(context.Background(), 1)
		if err != nil || !o.Killed() {
			b.Fatal(o, err)
		}
	}
	b.ReportMetric(float64(bin.runs-before)/(processorTime(b)-used).Hours(), "runs/CPU-h")
}
