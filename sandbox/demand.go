package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// demand says how many sandboxes should stand ready: as many as arrive while one
// is being made, and what that number varies by.
type demand struct {
	window time.Duration // over which arrivals are averaged

	count  float64 // arrivals, faded
	last   time.Time
	making float64 // seconds that making one takes, averaged; zero before the first
}

// arrive notes a request.
func (d *demand) arrive(now time.Time) {
	d.fade(now)
	d.count++
}

func (d *demand) fade(now time.Time) {
	if dt := now.Sub(d.last); !d.last.IsZero() && dt > 0 {
		d.count *= math.Exp(-dt.Seconds() / d.window.Seconds())
	}
	if now.After(d.last) {
		d.last = now
	}
}

// made notes how long one took to make.
func (d *demand) made(took time.Duration) {
	const weight = 0.2 // of the newest
	if d.making == 0 {
		d.making = took.Seconds()
		return
	}
	d.making += weight * (took.Seconds() - d.making)
}

// rate is how many requests arrive in a second.
func (d *demand) rate(now time.Time) float64 {
	d.fade(now)
	return d.count / d.window.Seconds()
}

// target is how many should stand ready, between least and most. Arrivals that
// know nothing of each other vary by the square root of their number; two of these
// cover nearly all of it.
func (d *demand) target(now time.Time, least, most int) int {
	while := d.rate(now) * d.making
	n := math.Ceil(while + 2*math.Sqrt(while))
	return max(least, min(most, int(math.Min(n, 1<<20))))
}

// pressure is a host's shortage of memory, as the kernel measures it: the part of
// the last ten seconds, in per cent, in which some task waited for memory.
type pressure float64

// Sandboxes that stand ready are given up above high, and made again below low.
const (
	pressureHigh pressure = 10
	pressureLow  pressure = 2.5
)

// short reports whether memory is short, knowing whether it was before.
func (p pressure) short(was bool) bool {
	if was {
		return p > pressureLow
	}
	return p > pressureHigh
}

// parsePressure reads /proc/pressure/memory (the kernel's psi.rst):
//
//	some avg10=0.00 avg60=0.00 avg300=0.00 total=0
func parsePressure(b []byte) (pressure, error) {
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
				return pressure(n), nil
			}
		}
	}
	return 0, fmt.Errorf("no memory pressure in %q", b)
}
