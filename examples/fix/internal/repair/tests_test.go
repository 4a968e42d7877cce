package repair_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

func TestLeaves(t *testing.T) {
	for _, tt := range []struct{ failing, leaves, alone []string }{
		{nil, nil, nil},
		{[]string{"TestA"}, []string{"TestA"}, nil},
		{[]string{"TestA/x", "TestA"}, []string{"TestA/x"}, []string{"TestA/x"}},
		{[]string{"TestA/x/y", "TestA/x", "TestA/z", "TestA", "TestAB"}, []string{"TestA/x/y", "TestA/z", "TestAB"}, []string{"TestA/x/y", "TestA/z", "TestAB"}},
		{strings.Fields("A B C D E F G H I J K L"), strings.Fields("A B C D E F G H I J K L"), strings.Fields("A B D E G H J K")},
	} {
		leaves := repair.Leaves(tt.failing)
		if alone := repair.Alone(leaves); !slices.Equal(leaves, tt.leaves) || !slices.Equal(alone, tt.alone) {
			t.Errorf("of %v: %v, alone %v, want %v, %v", tt.failing, leaves, alone, tt.leaves, tt.alone)
		}
	}
}

func ExampleSelectTests() {
	fmt.Println(repair.SelectTests([]string{"TestA", "TestB/a+b/c"}))
	fmt.Println(repair.SelectTests(nil)) // an empty pattern would select all
	// Output:
	// ^TestA$|^TestB$/^a\+b$/^c$
	// ^$
}

// TestMarksOfTestsOneByOne checks the marks with separate coverage of the failing tests: lines that
// all of them run are marked, but if no line of a function is run by all, lines that any of them
// runs are marked.
//
// Evidence: repair · Coverage and stacks rank the functions
func TestMarksOfTestsOneByOne(t *testing.T) {
	f := repair.Function{Name: "F", File: "p/f.go", Start: 1, End: 6}
	ran := func(lines ...int) repair.Profile {
		var blocks []repair.Block
		for _, l := range lines {
			blocks = append(blocks, repair.Block{StartLine: l, StartCol: 1, EndLine: l, EndCol: 9, Count: 1})
		}
		return repair.Profile{"m/p/f.go": blocks}
	}
	for _, tt := range []struct {
		name             string
		failing, passing []repair.Profile
		want             []repair.Mark
	}{
		{"together", []repair.Profile{ran(1, 2, 3)}, []repair.Profile{ran(1)}, []repair.Mark{repair.Run, repair.Suspect, repair.Suspect, 0, 0, 0}},
		{"one by one", []repair.Profile{ran(1, 2, 3), ran(1, 3, 4)}, []repair.Profile{ran(1)}, []repair.Mark{repair.Run, 0, repair.Suspect, 0, 0, 0}},
		{"none runs what all run", []repair.Profile{ran(1, 2), ran(4)}, []repair.Profile{ran(1)}, []repair.Mark{repair.Run, repair.Suspect, 0, repair.Suspect, 0, 0}},
		{"some do not run it", []repair.Profile{ran(1, 2), ran()}, nil, []repair.Mark{repair.Suspect, repair.Suspect, 0, 0, 0, 0}},
		{"nothing is known", nil, nil, make([]repair.Mark, 6)},
	} {
		got := repair.Marks(f, repair.Evidence{Failing: tt.failing, Passing: tt.passing})
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
