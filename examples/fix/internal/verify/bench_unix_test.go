//go:build unix

package verify

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// processorTime is what this process and those it waited for have used.
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

// BenchmarkRun is one variant of the module in testdata: the tests that reach it, and the failing
// and the others apart. It reports starts of the test binary for an hour of processor time, without
// the build.
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
