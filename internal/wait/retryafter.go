package wait

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter returns the wait that a response's headers ask for, or 0: Retry-After-Ms, or
// Retry-After in seconds or as a date (RFC 9110, section 10.2.3). A date is compared with the
// server's own clock, its Date header, so that an inaccurate client clock does not matter; without
// a Date header it is compared with now.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := units(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := units(value, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(0, at.Sub(now))
}

// units parses a number of units, limited to the range of a Duration.
func units(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(n >= 0 && n < 1e9) {
		return 0, false
	}
	return time.Duration(n * float64(unit)), true
}
