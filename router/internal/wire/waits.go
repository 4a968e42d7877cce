package wire

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/wait"
)

// Wait returns how long a refusal asks to wait, or 0: by its Retry-After headers, else by its body,
// else, if a limit was reached, by the headers that say when it is reset.
func Wait(h http.Header, body []byte, limited bool, now time.Time) time.Duration {
	if d := wait.RetryAfter(h, now); d > 0 {
		return d
	}
	if d := StatedWait(body); d > 0 {
		return d
	}
	if !limited {
		return 0
	}
	return resetWait(h, now)
}

// StatedWait returns the wait that a body or message states, or 0: as a field (Google's retryDelay,
// retry_after in seconds or milliseconds), or in words (try again in 1m30s).
func StatedWait(body []byte) time.Duration {
	text := strings.ToLower(string(body[:min(len(body), 64<<10)]))
	if m := waitField.FindStringSubmatch(text); m != nil {
		unit := time.Second
		if strings.Contains(m[1], "ms") || strings.Contains(m[1], "milli") {
			unit = time.Millisecond
		}
		if d, ok := span(m[2], unit); ok {
			return d
		}
	}
	if m := waitWords.FindStringSubmatch(text); m != nil {
		if d, ok := span(m[1], time.Second); ok {
			return d
		}
	}
	return 0
}

var (
	waitField = regexp.MustCompile(`"((?:retry|wait|try)[_-]?(?:after|delay|in|again_in|time|seconds|ms)?(?:_?in)?(?:[_-]?(?:ms|millis(?:econds)?|s|secs?|seconds))?)"\s*:\s*"?(\d[\d.a-z ]*)`)
	waitWords = regexp.MustCompile(`(?:(?:re)?try|retrying|wait|available|resets?|reset|request)(?: (?:your |the |this )?(?:again|request|until|for|at least|after|in|please|will|be|is|another|about|approximately|~))*:? ((?:\d+(?:\.\d+)?\s*(?:milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\b?\s*(?:,|and)?\s*)+)`)
	spanPart  = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*([a-z]*)`)
)

// spans are the units of a wait, by the beginning of their names.
func unitOf(name string, bare time.Duration) (time.Duration, bool) {
	switch {
	case name == "":
		return bare, true
	case name == "ms" || strings.HasPrefix(name, "milli") || strings.HasPrefix(name, "msec"):
		return time.Millisecond, true
	case name == "us" || name == "µs":
		return time.Microsecond, true
	case name == "ns":
		return time.Nanosecond, true
	case name[0] == 's':
		return time.Second, true
	case name[0] == 'm':
		return time.Minute, true
	case name[0] == 'h':
		return time.Hour, true
	case name[0] == 'd':
		return 24 * time.Hour, true
	}
	return 0, false
}

// span parses a wait such as 50.5s, 1m30s, 2 minutes 5 seconds or 7, which counts in bare.
func span(text string, bare time.Duration) (time.Duration, bool) {
	var sum float64
	parts := spanPart.FindAllStringSubmatch(text, 8)
	for _, m := range parts {
		n, err := strconv.ParseFloat(m[1], 64)
		unit, ok := unitOf(m[2], bare)
		if err != nil || !ok {
			return 0, false
		}
		sum += n * float64(unit)
	}
	if len(parts) == 0 || sum <= 0 || sum > float64(math.MaxInt64/2) {
		return 0, false
	}
	return time.Duration(sum), true
}

// resetWait returns how long it takes until the limit that was reached is reset: the longest of the
// limits of which nothing remains, or the shortest if the headers do not say which was reached.
func resetWait(h http.Header, now time.Time) time.Duration {
	var reached, shortest time.Duration
	for name, values := range h {
		name = strings.ToLower(name)
		if !strings.Contains(name, "ratelimit") && !strings.Contains(name, "rate-limit") || !strings.Contains(name, "reset") || len(values) == 0 {
			continue
		}
		d := resetIn(values[0], now, h.Get("Date"))
		if d <= 0 {
			continue
		}
		if left := h.Get(strings.Replace(name, "reset", "remaining", 1)); left != "" && strings.Trim(left, "0.- ") == "" {
			reached = max(reached, d)
		}
		if shortest == 0 || d < shortest {
			shortest = d
		}
	}
	if reached > 0 {
		return reached
	}
	return shortest
}

// resetIn reads the value of a header that says when a limit is reset: a span, a number of seconds,
// a time since 1970 in seconds or milliseconds, or a date.
func resetIn(value string, now time.Time, date string) time.Duration {
	value = strings.TrimSpace(value)
	if server, err := http.ParseTime(date); err == nil {
		now = server
	}
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		switch {
		case n >= 1e11 && n < 1e14:
			return time.UnixMilli(int64(n)).Sub(now)
		case n >= 1e9 && n < 1e11:
			return time.Unix(int64(n), 0).Sub(now)
		case n > 0 && n < 1e9:
			return time.Duration(n * float64(time.Second))
		}
		return 0
	}
	for _, layout := range []string{time.RFC3339Nano, http.TimeFormat} {
		if at, err := time.Parse(layout, value); err == nil {
			return at.Sub(now)
		}
	}
	d, _ := span(strings.ToLower(value), time.Second)
	return d
}
