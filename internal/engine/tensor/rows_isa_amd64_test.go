package tensor

import "testing"

// TestDotRowsLesser runs the test of rows with the other, less capable kernel sets of this
// processor.
func TestDotRowsLesser(t *testing.T) {
	best := rowsISA
	t.Cleanup(func() { rowsISA = best })
	for s := isaGo; s < best; s++ {
		rowsISA = s
		t.Run(s.String(), TestDotRows)
	}
}
