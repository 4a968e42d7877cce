package sched

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Demand estimates how many sandboxes should be ready: as many as arrive while one is being made,
// and a margin for the variation of that number.
type Demand struct {
	Window time.Duration // over which arrivals are averaged

	count  float64 // arrivals, decayed over time
	last   time.Time
	Making float64 // average seconds to make one; zero before the first
}

// Arrive records a request.
func (d *Demand) Arrive(now time.Time) {
	d.fade(now)
	d.count++
}

func (d *Demand) fade(now time.Time) {
	if dt := now.Sub(d.last); !d.last.IsZero() && dt > 0 {
		d.count *= math.Exp(-dt.Seconds() / d.Window.Seconds())
	}
	if now.After(d.last) {
		d.last = now
	}
}

// Made records how long one took to make.
func (d *Demand) Made(took time.Duration) {
	const weight = 0.2 // of the newest
	if d.Making == 0 {
		d.Making = took.Seconds()
		return
	}
	d.Making += weight * (took.Seconds() - d.Making)
}

// Rate returns the number of requests per second.
func (d *Demand) Rate(now time.Time) float64 {
	d.fade(now)
	return d.count / d.Window.Seconds()
}

// Target returns how many should be ready, between least and most. The number of independent
// arrivals varies by its square root; twice that covers nearly all of the variation.
func (d *Demand) Target(now time.Time, least, most int) int {
	while := d.Rate(now) * d.Making
	n := math.Ceil(while + 2*math.Sqrt(while))
	return max(least, min(most, int(math.Min(n, 1<<20))))
}

// Pressure is a host's shortage of memory, as the kernel measures it: the percentage of the last
// ten seconds in which some task waited for memory.
type Pressure float64

// Above high, ready sandboxes are released; below low, they are made again.
const (
	pressureHigh Pressure = 10
	pressureLow  Pressure = 2.5
)

// Short reports whether memory is short, given whether it was before.
func (p Pressure) Short(was bool) bool {
	if was {
		return p > pressureLow
	}
	return p > pressureHigh
}

// ParsePressure reads /proc/pressure/memory (the kernel's psi.rst):
//
//	some avg10=0.00 avg60=0.00 avg300=0.00 total=0
func ParsePressure(b []byte) (Pressure, error) {
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) == 0 || f[0] != "some" {
			continue
		}
		for _, kv := range f[1:] {
			if v, ok := strings.CutPrefix(kv, "avg10="); ok {
				n, err := strconv.ParseFloat(v, 64)
				if err != nil || math.IsNaN(n) || n < 0 || n > 100 {
					return 0, fmt.Errorf("memory pressure %q is no percentage", v)
				}
				return Pressure(n), nil
			}
		}
	}
	return 0, fmt.Errorf("no memory pressure in %q", b)
}
