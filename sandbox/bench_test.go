package sandbox

import (
	"errors"
	"os/exec"
	"testing"
)

// BenchmarkExec runs /bin/true by os/exec and at every tier that this host supports; compare only
// numbers of the same run.
func BenchmarkExec(b *testing.B) {
	b.Run("os-exec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := exec.Command("/bin/true").Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, tier := range []Tier{TierNone, TierLandlock, TierBubblewrap, TierNamespaces} {
		b.Run(tier.String(), func(b *testing.B) {
			sb := open(b, Config{Dir: b.TempDir(), Floor: tier, Ceiling: tier})
			b.ReportAllocs()
			for b.Loop() {
				if exit, err := sb.Exec(b.Context(), Cmd{Args: []string{"/bin/true"}}); err != nil || exit.Code != 0 {
					b.Fatal(exit, err)
				}
			}
		})
	}
}

// BenchmarkLocal opens and closes a sandbox.
func BenchmarkLocal(b *testing.B) {
	for _, tier := range []Tier{TierNone, TierLandlock, TierBubblewrap, TierNamespaces} {
		b.Run(tier.String(), func(b *testing.B) {
			dir := b.TempDir()
			b.ReportAllocs()
			for b.Loop() {
				sb, err := Local(b.Context(), Config{Dir: dir, Floor: tier, Ceiling: tier})
				if errors.Is(err, ErrFloor) {
					b.Skip(err)
				}
				if err != nil {
					b.Fatal(err)
				}
				if err := sb.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPoolGet leases a ready sandbox, runs nothing and returns it.
func BenchmarkPoolGet(b *testing.B) {
	p := newPool(b, PoolConfig{Warm: 4})
	snap := SnapshotDir(b.TempDir())
	get(b, p, snap).Close()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		eventually(b, "a spare", func() bool { return p.Stats().Spare > 0 })
		b.StartTimer()
		sb := get(b, p, snap)
		b.StopTimer()
		sb.Close()
		b.StartTimer()
	}
}

// BenchmarkOutput reads 64 MiB of output with the default limit.
func BenchmarkOutput(b *testing.B) {
	sb := open(b, Config{Dir: b.TempDir(), Floor: TierNone, Ceiling: TierNone})
	b.ReportAllocs()
	b.SetBytes(64 << 20)
	for b.Loop() {
		exit, err := sb.Exec(b.Context(), Cmd{Args: []string{"head", "-c", "67108864", "/dev/zero"}})
		if err != nil || exit.Stdout.Total != 64<<20 {
			b.Fatal(exit, err)
		}
	}
}
