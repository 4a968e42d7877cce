package digest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLineEnds checks that the digest does not depend on the line endings that a terminal wrote,
// and that they do not cause additional blank lines, which would split the titles in mocha's list.
func TestLineEnds(t *testing.T) {
	for name := range tools(t) {
		log := eachIn(readLog(t, name), "", "\n")
		want := Digest(Input{Text: log, Budget: 300})
		for _, end := range []string{"\r\n", "\r\r\n"} {
			got := Digest(Input{Text: strings.ReplaceAll(log, "\n", end), Budget: 300})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s with %q (-want +got):\n%s", name, end, diff)
			}
		}
	}
}
