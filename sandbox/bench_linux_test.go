package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// These benchmarks print ratios within one run, since absolute times depend on the machine and its
// load. "cpu" is the processor time of this process, its broker and all their children.

// cpuUsed returns the processor time that they have used so far.
func cpuUsed(b *testing.B) time.Duration {
	b.Helper()
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var ru syscall.Rusage
		if err := syscall.Getrusage(who, &ru); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	theBroker.mu.Lock()
	defer theBroker.mu.Unlock()
	if theBroker.b == nil {
		return sum
	}
	pid := theBroker.b.proc.Pid
	sum += cpuOf(pid)
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks { // init processes and the fork server
		for _, child := range strings.Fields(read(b, t)) {
			n, _ := strconv.Atoi(child)
			sum += cpuOf(n)
		}
	}
	// Children that were waited for, in clock ticks.
	stat := read(b, fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	for _, s := range f[13:15] {
		n, _ := strconv.ParseInt(s, 10, 64)
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum
}

// cpuOf returns the processor time of a process, without its children's.
func cpuOf(pid int) time.Duration {
	var ts unix.Timespec
	const sched = 2 // CPUCLOCK_SCHED, see clock_getcpuclockid(3)
	if unix.ClockGettime(int32(^pid<<3|sched), &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// timed runs f n times and returns how long each run took, and the processor time per run.
func timed(b *testing.B, n int, f func()) (took []time.Duration, cpu time.Duration) {
	b.Helper()
	before := cpuUsed(b)
	for range n {
		begun := time.Now()
		f()
		took = append(took, time.Since(begun))
	}
	return took, (cpuUsed(b) - before) / time.Duration(n)
}

func quantile(took []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(took))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func plainTrue(b *testing.B) func() {
	return func() {
		if _, err := exec.Command("/bin/true").Output(); err != nil {
			b.Fatal(err)
		}
	}
}

func coldTrue(b *testing.B, dir string) func() {
	open(b, Config{Dir: dir}) // skips if the tier is not available, and starts the broker
	return func() {
		sb, err := Local(b.Context(), Config{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := sb.Exec(b.Context(), Cmd{Args: []string{"/bin/true"}}); err != nil {
			b.Fatal(err)
		}
		if err := sb.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRatios compares a plain exec, a command in an existing sandbox, making a sandbox, a
// sandbox for one command, and the same with other programs, if they are installed. The limits, in
// multiples of a plain exec: warm p50 1.4 and p99 4, cold cpu 4.
func BenchmarkRatios(b *testing.B) {
	dir := b.TempDir()
	cold := coldTrue(b, dir)
	sb := open(b, Config{Dir: dir})
	others := peers(b)
	for b.Loop() {
		const n = 50
		plain, plainCPU := timed(b, n, plainTrue(b))
		report := func(name string, took []time.Duration, cpu time.Duration) {
			b.ReportMetric(ms(quantile(took, 0.5))/ms(quantile(plain, 0.5)), name+"-p50/exec")
			b.ReportMetric(ms(quantile(took, 0.99))/ms(quantile(plain, 0.99)), name+"-p99/exec")
			b.ReportMetric(float64(cpu)/float64(max(plainCPU, 1)), name+"-cpu/exec")
		}
		took, cpu := timed(b, n, func() {
			if _, err := sb.Exec(b.Context(), Cmd{Args: []string{"/bin/true"}}); err != nil {
				b.Fatal(err)
			}
		})
		report("warm", took, cpu)
		took, cpu = timed(b, n, cold)
		report("life", took, cpu)
		var all []Sandbox
		took, cpu = timed(b, n, func() {
			sb, err := Local(b.Context(), Config{Dir: dir})
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, sb)
		})
		for _, sb := range all {
			if err := sb.Close(); err != nil {
				b.Fatal(err)
			}
		}
		report("cold", took, cpu)
		for name, run := range others {
			took, cpu = timed(b, n, run)
			report(name, took, cpu)
		}
		b.ReportMetric(ms(quantile(plain, 0.5)), "exec-p50-ms")
	}
}

// BenchmarkCold makes a sandbox, runs a command in it and closes it.
func BenchmarkCold(b *testing.B) {
	b.ReportAllocs()
	cold := coldTrue(b, b.TempDir())
	for b.Loop() {
		cold()
	}
}

// BenchmarkCreate makes sandboxes and keeps them.
func BenchmarkCreate(b *testing.B) {
	b.ReportAllocs()
	dir := b.TempDir()
	open(b, Config{Dir: dir})
	var all []Sandbox
	for b.Loop() {
		sb, err := Local(b.Context(), Config{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, sb)
	}
	for _, sb := range all {
		if err := sb.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkThroughput measures how many commands in existing sandboxes, and how many whole sandbox
// lifetimes, fit into a second, with four at a time for each processor. The targets, on two
// processors: 1,200 and 250.
func BenchmarkThroughput(b *testing.B) {
	dir := b.TempDir()
	cold := coldTrue(b, dir)
	workers := 4 * runtime.GOMAXPROCS(0)
	each := make([]func(), workers)
	for i := range each {
		sb := open(b, Config{Dir: dir})
		each[i] = func() {
			if _, err := sb.Exec(b.Context(), Cmd{Args: []string{"/bin/true"}}); err != nil {
				b.Error(err)
			}
		}
	}
	rate := func(work func(worker int)) float64 {
		var n atomic.Int64
		var wg sync.WaitGroup
		begun := time.Now()
		for i := range workers {
			wg.Go(func() {
				for time.Since(begun) < time.Second && !b.Failed() {
					work(i)
					n.Add(1)
				}
			})
		}
		wg.Wait()
		return float64(n.Load()) / time.Since(begun).Seconds()
	}
	plain := plainTrue(b)
	for b.Loop() {
		b.ReportMetric(rate(func(int) { plain() }), "exec/s")
		b.ReportMetric(rate(func(i int) { each[i]() }), "warm/s")
		b.ReportMetric(rate(func(int) { cold() }), "cold/s")
	}
}

// BenchmarkHeap compares the start of a sandbox from a small host with that from a host with a heap
// of 2 GiB. The limit is 1.3.
func BenchmarkHeap(b *testing.B) {
	if testing.Short() {
		b.Skip("needs 2 GiB")
	}
	cold := coldTrue(b, b.TempDir())
	for b.Loop() {
		small, _ := timed(b, 30, cold)
		heap := make([]byte, 2<<30)
		for i := 0; i < len(heap); i += 4096 {
			heap[i] = 1
		}
		big, _ := timed(b, 30, cold)
		b.ReportMetric(ms(quantile(big, 0.5))/ms(quantile(small, 0.5)), "2GiB/empty")
		b.ReportMetric(ms(quantile(small, 0.5)), "empty-p50-ms")
		heap[0]++
	}
}

// benchDir makes a directory where workspaces usually are: not below /tmp, since a sandbox has a
// /tmp of its own.
func benchDir(b *testing.B) string {
	b.Helper()
	here, err := os.Getwd()
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.MkdirTemp(here, "bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// BenchmarkAttach attaches a workspace of 5,000 files to ready sandboxes and detaches it again. The
// limit for attaching is 1 ms.
func BenchmarkAttach(b *testing.B) {
	p := recyclable(b, PoolConfig{MaxUses: 1 << 30, Config: Config{ScratchDir: os.Getenv("LUTHIER_SCRATCH")}})
	dir := benchDir(b)
	for i := range 5000 {
		write(b, dir, fmt.Sprintf("%d/%d", i/100, i), "x")
	}
	var attach, recycle []time.Duration
	before, n := cpuUsed(b), 0
	for b.Loop() {
		n++
		begun := time.Now()
		l := acquire(b, p, Request{Snapshot: SnapshotDir(dir), Domain: "probe"})
		attach = append(attach, time.Since(begun))
		begun = time.Now()
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		recycle = append(recycle, time.Since(begun))
	}
	b.ReportMetric(ms(cpuUsed(b)-before)/float64(n), "cpu-ms")
	b.ReportMetric(ms(quantile(attach, 0.5)), "attach-p50-ms")
	b.ReportMetric(ms(quantile(attach, 0.99)), "attach-p99-ms")
	b.ReportMetric(ms(quantile(recycle, 0.5)), "recycle-p50-ms")
}

// BenchmarkBurst asks a recycling pool of 100 for 500 leases at once, each for one command. The
// limit: the p99 time to a lease must be at most 0.35 of that of as many sandboxes started from
// scratch under the same concurrency limit.
func BenchmarkBurst(b *testing.B) {
	const leases, places = 500, 100
	snap := SnapshotDir(benchDir(b))
	run := func(domain string) []time.Duration {
		p := newPool(b, PoolConfig{Config: Config{ScratchDir: os.Getenv("LUTHIER_SCRATCH")}, Max: places, Warm: map[bool]int{true: places}[domain != ""], MaxUses: 1 << 30})
		defer p.Close()
		if domain != "" {
			acquire(b, p, Request{Snapshot: snap, Domain: domain}).Close()
			for limit := time.Now().Add(5 * time.Minute); p.Stats().Spare < places; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(limit) {
					b.Fatalf("the pool does not fill: %+v", p.Stats())
				}
			}
		}
		took := make([]time.Duration, leases)
		var wg sync.WaitGroup
		for i := range leases {
			wg.Go(func() {
				begun := time.Now()
				sb, err := p.Acquire(b.Context(), Request{Snapshot: snap, Domain: domain})
				if err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(begun)
				_, err = sb.Exec(b.Context(), Cmd{Args: []string{"/bin/true"}})
				if err = errors.Join(err, sb.Close()); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		return took
	}
	if _, err := Local(b.Context(), Config{Snapshot: snap}); errors.Is(err, ErrFloor) {
		b.Skip(err)
	}
	for b.Loop() {
		warm, cold := run("burst"), run("")
		b.ReportMetric(ms(quantile(warm, 0.99)), "burst-p99-ms")
		b.ReportMetric(ms(quantile(warm, 0.99))/ms(quantile(cold, 0.99)), "burst-p99/cold-p99")
	}
}

// BenchmarkIdle keeps sandboxes open and reports the memory of each and the time of a command in
// one of them. LUTHIER_IDLE sets their number. The limits, for 1000, are 1 MiB and twice the time
// in a single sandbox.
func BenchmarkIdle(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("LUTHIER_IDLE"))
	n = max(n, 20)
	sb := open(b, Config{Dir: b.TempDir()})
	true := func() {
		if _, err := sb.Exec(b.Context(), Cmd{Args: []string{"/bin/true"}}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		lone, _ := timed(b, 50, true)
		all := []Sandbox{sb}
		before := memAvailable(b)
		for range n {
			all = append(all, open(b, Config{Dir: b.TempDir()}))
		}
		b.ReportMetric(float64(before-memAvailable(b))/float64(n)/(1<<20), "MiB/sandbox")
		i := 0
		among, _ := timed(b, 50, func() { i += 7; sb = all[i%len(all)]; true() })
		sb = all[0]
		var pss int64
		for _, s := range all {
			pid := s.(*local).run.(*guestSpawner).sup.(*brokered).pid
			pss += pssOf(b, pid)
		}
		b.ReportMetric(float64(pss)/float64(len(all))/(1<<20), "MiB-PSS/sandbox")
		b.ReportMetric(ms(quantile(among, 0.5))/ms(quantile(lone, 0.5)), "random/lone-p50")
	}
}

// memAvailable returns the memory that the whole system has available; it therefore counts the
// kernel's use too.
func memAvailable(b *testing.B) int64 {
	for line := range strings.Lines(read(b, "/proc/meminfo")) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemAvailable:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	b.Fatal("no MemAvailable")
	return 0
}

// pssOf returns the memory of a process, with its share of shared pages.
func pssOf(b *testing.B, pid int) int64 {
	text := read(b, filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	b.Fatalf("no Pss in %q", text)
	return 0
}

// BenchmarkCycles creates, uses and destroys sandboxes, alternately new and recycled, and fails if
// any resource has grown by the end. LUTHIER_CYCLES sets their number.
func BenchmarkCycles(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("LUTHIER_CYCLES"))
	n = max(n, 100)
	p := recyclable(b, PoolConfig{MaxUses: 8})
	snap := SnapshotDir(b.TempDir())
	cycle := func(i int) {
		l := acquire(b, p, Request{Snapshot: snap, Domain: []string{"probe", ""}[i%2]})
		if _, err := l.Exec(b.Context(), Cmd{Args: []string{"/bin/true"}}); err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	brokerFDs := func() int {
		theBroker.mu.Lock()
		defer theBroker.mu.Unlock()
		fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", theBroker.b.proc.Pid))
		return len(fds)
	}
	for i := range 20 {
		cycle(i)
	}
	g, d, m := holdings(b, os.TempDir())
	f := brokerFDs()
	for b.Loop() {
		for i := range n {
			cycle(i)
		}
	}
	eventually(b, "return to what was held before", func() bool {
		g2, d2, m2 := holdings(b, os.TempDir())
		return g2 <= g+4 && d2 <= d+4 && m2 <= m && brokerFDs() <= f+8
	})
}
