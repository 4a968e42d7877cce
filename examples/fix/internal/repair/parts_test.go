package repair_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// TestParts checks that the parts of a function that is too long to be read at once show every line
// that may be at fault. Each part must show the function's first and last line and fit into the
// context.
//
// Evidence: repair · Long functions are read in parts
func TestParts(t *testing.T) {
	lines := []string{"func long() {"}
	for i := range 400 {
		lines = append(lines, fmt.Sprintf("\tstatement(%d)", i), "\t}", "\t// about it", "")
	}
	lines = append(lines, "\tunless(done)", "}")
	ran := make([]repair.Mark, len(lines))
	for i := 41; i < 501; i++ {
		ran[i] = repair.Run
	}
	few := make([]repair.Mark, len(lines))
	few[300], few[301] = repair.Suspect, repair.Run
	report := strings.Repeat("it failed\n", 50)
	for _, tt := range []struct {
		name          string
		until         int // number of lines of the function, without the last two
		marks         []repair.Mark
		bytesPerToken int // 0 if the model does not count tokens
		parts         int
	}{
		{"coverage unknown", 601, nil, 3, 5},
		{"some lines ran", 601, ran, 3, 4},
		{"all lines that ran are shown", 601, few, 3, 0},
		{"shown whole", 61, nil, 3, 0},
		{"not counted", 601, nil, 0, 5},
		{"long tokens", 601, ran, 1, 4},
		{"too long for all parts", len(lines) - 2, nil, 3, 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := slices.Concat(lines[:tt.until], lines[len(lines)-2:])
			r := repair.Ranked{Function: repair.Function{Name: "long", File: "l.go", Text: strings.Join(text, "\n")}, Marks: tt.marks, Names: []string{"near"}, Like: []string{"f\tx := 1"}}
			count := func(text string) int { return len(text) / tt.bytesPerToken }
			if tt.bytesPerToken == 0 {
				count = nil
			}
			parts := r.Parts(report, 2, count)
			if len(parts) != tt.parts {
				t.Errorf("%d parts, want %d", len(parts), tt.parts)
			}
			for _, p := range parts {
				if !strings.HasPrefix(p, repair.FunctionStart+"2 l.go\n") || !repair.Shows(p, 1) || !repair.Shows(p, len(text)) || strings.Contains(p, "near") {
					t.Errorf("a part that is none:\n%s", p)
				}
				if len(p) > 1100 || count != nil && tt.bytesPerToken > 1 && count(report+p) > 870 {
					t.Errorf("a part of %d bytes", len(p))
				}
			}
			if p, ok := r.ReadLine(1, report, 2, count); !ok || p != r.ReadBeside(report, 2, count) {
				t.Errorf("the first line is read in\n%s", p)
			}
			if p, ok := r.ReadLine(len(text)+1, report, 2, count); ok {
				t.Errorf("a line behind the end is read in\n%s", p)
			}
			if len(parts) == 0 || tt.parts == 8 || tt.bytesPerToken == 1 {
				return
			}
			for i, l := range text {
				if due := strings.Contains(l, "(") && (tt.marks == nil || tt.marks[i] != repair.NotRun); due && !slices.ContainsFunc(parts, func(p string) bool { return repair.Shows(p, i+1) }) {
					t.Errorf("line %d is in no part", i+1)
				} else if due && i%40 == 1 {
					if p, ok := r.ReadLine(i+1, report, 2, count); !ok || !repair.Shows(p, i+1) {
						t.Errorf("line %d is not read", i+1)
					}
				}
			}
		})
	}
}
