package proctree

import (
	"bufio"
	"bytes"
	"strings"
)

// ParseStatus returns the "Key:	value" lines of /proc/PID/status.
func ParseStatus(b []byte) map[string]string {
	out := map[string]string{}
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		if k, v, ok := strings.Cut(sc.Text(), ":"); ok {
			out[k] = strings.TrimSpace(v)
		}
	}
	return out
}
