package digest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLineEnds: how a terminal ended lines changes nothing, nor does it make lines of blanks
// between them, which would cut the titles of mocha's list.
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
