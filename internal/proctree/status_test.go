package proctree

import (
	"strings"
	"testing"
)

// FuzzParseStatus checks that no parsed key contains a colon or a line end.
func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("Name:\tx\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n"))
	f.Add([]byte(":\n::\n\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for k := range ParseStatus(b) {
			if strings.Contains(k, ":") || strings.Contains(k, "\n") {
				t.Errorf("key %q", k)
			}
		}
	})
}
