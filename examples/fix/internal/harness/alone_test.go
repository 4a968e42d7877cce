package harness_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
)

const scaleGo = `package scale

// Scale multiplies, up to a hundred.
func Scale(n, by int) int {
	if by < 0 {
		by = -by
	}
	n += by
	if n > 100 {
		n = 100
	}
	return n
}

func Half(list []int) []int {
	return list[:len(list)/2]
}
`

const scaleTest = `package scale

import "testing"

func TestScale(t *testing.T) {
	for _, tt := range []struct {
		name        string
		n, by, want int
	}{{"backwards", 2, -3, 6}, {"for wards", 2, 3, 6}, {"once", 7, 1, 7}} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Scale(tt.n, tt.by); got != tt.want {
				PANIC
				t.Errorf("Scale(%d, %d) = %d, want %d", tt.n, tt.by, got, tt.want)
			}
		})
	}
}

func TestTwice(t *testing.T) {
	if got := Scale(40, 2); got != 80 {
		t.Errorf("Scale(40, 2) = %d, want 80", got)
	}
}

func TestHalf(t *testing.T) {
	if got := Half([]int{1, 2}); len(got) != 1 {
		t.Errorf("Half = %v", got)
	}
}
`

// TestFailingTestsRunAlone checks that the lines that are common to a module's failing tests and
// subtests are marked. If one of these tests panics, the tests after it must still count.
//
// Evidence: repair · Coverage and stacks rank the functions
func TestFailingTestsRunAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, panics, marks string }{
		{"fail", "", "!!..!!..!."},
		{"one panics", `if tt.by < 0 { panic("no") }`, "!!..!!..!."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, map[string]string{"go.mod": "module example.com/scale\n\ngo 1.21\n", "scale.go": scaleGo, "scale_test.go": strings.Replace(scaleTest, "PANIC", tt.panics, 1)})
			m, err := harness.OpenModule(t.Context(), dir, harness.ModuleConfig{Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			f, err := m.Find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var marks strings.Builder
			for _, k := range f.Ranked[0].Marks {
				marks.WriteString(cmp.Or(k.String(), "."))
			}
			if len(f.Ranked) != 1 || f.Ranked[0].Name != "Scale" || marks.String() != tt.marks {
				t.Errorf("%d functions, %s: %s, want %s", len(f.Ranked), f.Ranked[0].Name, marks.String(), tt.marks)
			}
		})
	}
}
