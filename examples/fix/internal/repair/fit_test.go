package repair_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// TestReadBeside checks that a long function after a long report leaves room for the answer,
// whatever the length of tokens, and that the text names the lines that are left out.
func TestReadBeside(t *testing.T) {
	lines := []string{"func long() {"}
	var marks []repair.Mark
	for i := range 150 {
		lines = append(lines, fmt.Sprintf("\tstatement(%d)", i))
		marks = append(marks, repair.NotRun)
	}
	marks[60] = repair.Suspect
	r := repair.Ranked{
		Function: repair.Function{Name: "long", File: "l.go", Text: strings.Join(append(lines, "}"), "\n")},
		Marks:    marks, Names: []string{"near"},
	}
	report := strings.Repeat("it failed\n", 60)
	for bytesPerToken := 1; bytesPerToken < 4; bytesPerToken++ {
		count := func(text string) int { return len(text) / bytesPerToken }
		got := r.ReadBeside(report, 1, count)
		if n := count(report + got); n > 870 && len(got) > 700 {
			t.Errorf("%d bytes a token: %d tokens", bytesPerToken, n)
		}
		if !repair.Shows(got, 1) || !repair.Shows(got, 61) || !repair.Shows(got, 152) || !strings.HasSuffix(got, "\nnames near") {
			t.Errorf("%d bytes a token: what matters most is missing:\n%s", bytesPerToken, got)
		}
		if repair.Shows(got, 6) || repair.Shows(got, 153) || repair.Shows(got, 0) {
			t.Errorf("%d bytes a token: lines that are not there:\n%s", bytesPerToken, got)
		}
	}
	if got := r.ReadBeside("", 1, nil); len(got) > 2150+len("\nnames near")+100 || !repair.Shows(got, 90) {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
}
