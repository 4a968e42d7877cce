package digest

import (
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestHuge checks that the work is linear in the output, whatever a tool writes. Quadratic work
// would not finish here.
//
// Evidence: compaction · Digests take linear time on any input
func TestHuge(t *testing.T) {
	if testing.Short() {
		t.Skip("12 MB each, 64 in the long tier")
	}
	small, large := tier.Pick(0, 2<<20, 8<<20), tier.Pick(0, 12<<20, 64<<20)
	for _, c := range []struct {
		name, unit string
		size       int
	}{
		{"one character", "a", large}, {"newlines", "\n", large}, {"escapes", "\x1b", large}, {"carriage returns", "\r", small}, {"sequences", "\x1b[", small}, {"titles", "\x1b]", small},
		{"blanks", " ", small}, {"error", "error ", small}, {"places", "a.go:1:1: x ", small}, {"failures", "--- FAIL: TestX (0.00s)\n", small}, {"errors", "error: x\n", small},
		{"traces", "at a.B.c(D.java:1)\n", small}, {"python", "  File \"a.py\", line 1, in f\n", small}, {"crosses", "✖ a\n", small}, {"written out", "\\n", small}, {"dots", "a.", small},
		{"nodes", "FAILED a.py::", small}, {"json", `{"Action":"output","Output":"x"}` + "\n", small}, {"numbered", "1) a\n", small}, {"rules", "=====", small}, {"backspaces", "a\b", small},
		{"two lines", "a\nb\n", small},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Repeat(c.unit, c.size/len(c.unit))
			if d := Digest(Input{Text: text, Budget: 500}); d.Tokens > 500 {
				t.Errorf("%d tokens of 500", d.Tokens)
			}
			if n := len(Fold(Clean(text))); n > len(text) {
				t.Errorf("%d bytes of %d", n, len(text))
			}
		})
	}
}
