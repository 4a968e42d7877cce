package tensor

import "testing"

// TestLearningLesser runs the tests in plain Go.
func TestLearningLesser(t *testing.T) {
	best := attnISA
	t.Cleanup(func() { attnISA = best })
	attnISA = isaGo
	TestLearning(t)
	TestLearningNonNumbers(t)
}
