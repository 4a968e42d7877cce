package sim

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// samples is the number of sandboxes that are measured.
const samples = 40

var update = flag.Bool("update", false, "measure real sandboxes and write measured.json")

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

func config(t testing.TB, leases int) Config {
	m, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Seed: 1, Leases: leases, Hosts: 20, Places: 16, Spares: 4, Tenants: []int{10, 3, 1, 1}, Snapshots: 50, Cache: 20,
		MaxUses: 20, Heartbeat: time.Second, TTL: 30 * time.Second, Dying: 0.0005, HostsDie: 1, Presence: 5 * time.Second, Measured: m}
	cfg.Rate = rate(&cfg, 0.6)
	return cfg
}

// rate sets the load so that the given fraction of the fleet's places is in use. So the tests have
// the same meaning whatever durations were measured.
func rate(cfg *Config, part float64) float64 {
	mean := func(d Distribution) (sum float64) {
		for _, v := range d {
			sum += v.Seconds() / float64(len(d))
		}
		return sum
	}
	m := &cfg.Measured
	each := mean(m.Hold) + mean(m.Recycle) + mean(m.Create)/4 + mean(m.Fetch)/2
	return part * float64(cfg.Hosts*cfg.Places) / each
}

func run(t testing.TB, cfg Config) *Report {
	t.Helper()
	r, err := Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHundredThousandLeases(t *testing.T) {
	cfg := config(t, 100_000)
	if testing.Short() {
		cfg.Leases = 20_000
	}
	r := run(t, cfg)
	t.Logf("\n%v", r)
	total := 0
	for _, x := range r.Tenants {
		total += x.Leases
	}
	// If a lease's host dies, the lease is opened a second time, and its client waits a second
	// time.
	if total < cfg.Leases || total > cfg.Leases+r.Moved || r.Leases != cfg.Leases {
		t.Errorf("%d leases were opened, of %d with %d moved", total, cfg.Leases, r.Moved)
	}
	if r.Recycled < 0.5 {
		t.Errorf("%.2f recycled, want most", r.Recycled)
	}
	if median := cfg.Measured.Create; r.P50 > median[len(median)/2] || r.Fairness < 0.5 {
		t.Errorf("p50 %v, fairness %.3f: the fleet is large enough for better", r.P50, r.Fairness)
	}
}

func TestSameSeedSameReport(t *testing.T) {
	cfg := config(t, 5000)
	a, b := run(t, cfg), run(t, cfg)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("two runs differ:\n%v\n%v", a, b)
	}
	cfg.Seed++
	if c := run(t, cfg); reflect.DeepEqual(a, c) {
		t.Error("another seed gives the same report")
	}
}

// TestGreedyTenant checks that if one tenant requests far more than is available, the others are
// hardly affected.
func TestGreedyTenant(t *testing.T) {
	cfg := config(t, 20_000)
	cfg.Tenants, cfg.Dying, cfg.HostsDie = []int{50, 1, 1}, 0, 0
	cfg.Hosts, cfg.Places = 4, 8
	cfg.Rate = rate(&cfg, 3)
	r := run(t, cfg)
	t.Logf("\n%v", r)
	for i, x := range r.Tenants[1:] {
		if x.P50*2 > r.Tenants[0].P50 {
			t.Errorf("tenant %d waits %v, the greedy one %v", i+1, x.P50, r.Tenants[0].P50)
		}
	}
}

func TestRecyclingIsWorthIt(t *testing.T) {
	cfg := config(t, 20_000)
	with := run(t, cfg)
	cfg.MaxUses, cfg.Spares = 1, 0
	without := run(t, cfg)
	if without.Recycled != 0 || with.P50 >= without.P50 {
		t.Errorf("with recycling\n%vwithout\n%v", with, without)
	}
}

func TestRefusedConfigs(t *testing.T) {
	for what, change := range map[string]func(*Config){
		"no hosts":   func(c *Config) { c.Hosts = 0 },
		"all die":    func(c *Config) { c.HostsDie = c.Hosts },
		"no share":   func(c *Config) { c.Tenants = []int{0} },
		"no numbers": func(c *Config) { c.Measured = Measured{} },
		"disorder":   func(c *Config) { c.Measured.Hold = Distribution{2, 1} },
	} {
		cfg := config(t, 10)
		change(&cfg)
		if _, err := Run(cfg); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

// TestMeasure writes measured.json if -update is set, from real sandboxes of this machine. Fetch is
// a checkout of a directory of 500 files.
func TestMeasure(t *testing.T) {
	if !*update {
		t.Skip("measures only with -update")
	}
	m, tier := measure(t, samples)
	out, err := json.MarshalIndent(map[string]any{
		"Note":     fmt.Sprintf("nanoseconds; quantiles of %d real sandboxes of tier %s, with other work on the machine; go test ./sim -run TestMeasure -update", samples, tier),
		"Measured": m,
	}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("measured.json", append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func measure(t *testing.T, n int) (m Measured, tier sandbox.Tier) {
	small, large := t.TempDir(), t.TempDir()
	for i := range 500 {
		if err := os.WriteFile(fmt.Sprintf("%s/f%d", large, i), make([]byte, 4096), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pool, err := sandbox.NewPool(sandbox.PoolConfig{Config: sandbox.Config{Floor: sandbox.TierNone}, Warm: 2, Max: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ctx := context.Background()
	since := func(d *Distribution, from time.Time) { *d = append(*d, time.Since(from)) }
	for range n {
		at := time.Now()
		sb, err := sandbox.Local(ctx, sandbox.Config{Snapshot: sandbox.SnapshotDir(small), Floor: sandbox.TierNone})
		if err != nil {
			t.Fatal(err)
		}
		since(&m.Create, at)
		at = time.Now()
		if _, err := sb.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done; sleep 0.1"}}); err != nil {
			t.Fatal(err)
		}
		since(&m.Hold, at)
		tier = sb.Isolation().Tier
		at = time.Now()
		sb.Close()
		since(&m.Recycle, at)
		for deadline := time.Now().Add(time.Second); pool.Stats().Spare == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		at = time.Now()
		warm, err := pool.Get(ctx, sandbox.SnapshotDir(small))
		if err != nil {
			t.Fatal(err)
		}
		since(&m.Lease, at)
		warm.Close()
		at = time.Now()
		if err := os.CopyFS(t.TempDir()+"/c", os.DirFS(large)); err != nil {
			t.Fatal(err)
		}
		since(&m.Fetch, at)
	}
	for _, d := range []*Distribution{&m.Create, &m.Lease, &m.Recycle, &m.Fetch, &m.Hold} {
		slices.Sort(*d)
	}
	return m, tier
}
