package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Report describes how a fleet performed.
type Report struct {
	Leases     int
	Took       time.Duration // simulated time until the last sandbox was returned
	P50, P99   time.Duration // from the request to the sandbox
	Worst      time.Duration
	Recycled   float64 // fraction of requests served by a sandbox of the same tenant
	Warm, Cold float64 // fraction served by a ready sandbox, and by a new one
	Fetched    int     // number of times a snapshot was fetched to a host
	Expired    int     // leases whose client died
	Moved      int     // leases that were restarted because their host died
	// Fairness is Jain's index of the tenants' median waits, each added to the overall median: 1
	// means that all tenants waited equally long, and 1 divided by the number of tenants means that
	// only one was served.
	Fairness float64
	Tenants  []TenantReport
}

// TenantReport describes how a fleet served one tenant.
type TenantReport struct {
	Leases   int
	P50, P99 time.Duration
}

// String returns the report for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d leases in %v: wait p50 %v, p99 %v, worst %v\n", r.Leases, r.Took.Round(time.Millisecond), us(r.P50), us(r.P99), us(r.Worst))
	fmt.Fprintf(&b, "recycled %.1f %%, warm %.1f %%, cold %.1f %%; %d snapshots fetched, %d clients died, %d leases moved; fairness %.3f\n",
		100*r.Recycled, 100*r.Warm, 100*r.Cold, r.Fetched, r.Expired, r.Moved, r.Fairness)
	for i, t := range r.Tenants {
		fmt.Fprintf(&b, "  tenant %d: %d leases, p50 %v, p99 %v\n", i, t.Leases, us(t.P50), us(t.P99))
	}
	return b.String()
}

func us(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

// tally collects a report.
type tally struct {
	waits                                         [][]time.Duration // by tenant
	recycled, warm, cold, fetched, expired, moved int
}

func newTally(tenants int) tally { return tally{waits: make([][]time.Duration, tenants)} }

func (t *tally) wait(tenant int, d time.Duration) { t.waits[tenant] = append(t.waits[tenant], d) }

func (t *tally) report(took time.Duration, leases int) *Report {
	opened := float64(max(1, t.recycled+t.warm+t.cold))
	r := &Report{Leases: leases, Took: took, Fetched: t.fetched, Expired: t.expired, Moved: t.moved,
		Recycled: float64(t.recycled) / opened, Warm: float64(t.warm) / opened, Cold: float64(t.cold) / opened}
	all := slices.Concat(t.waits...)
	slices.Sort(all)
	r.P50, r.P99, r.Worst = quantile(all, 0.5), quantile(all, 0.99), quantile(all, 1)
	var sum, squares, n float64
	for _, waits := range t.waits {
		slices.Sort(waits)
		r.Tenants = append(r.Tenants, TenantReport{len(waits), quantile(waits, 0.5), quantile(waits, 0.99)})
		if len(waits) > 0 {
			x := float64(quantile(waits, 0.5) + r.P50)
			sum, squares, n = sum+x, squares+x*x, n+1
		}
	}
	if squares > 0 {
		r.Fairness = sum * sum / (n * squares)
	}
	return r
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}
