package tensor

import "testing"

// TestLearningLesser runs the tests with the other, less capable kernel sets of this processor.
func TestLearningLesser(t *testing.T) {
	best := attnISA
	t.Cleanup(func() { attnISA = best })
	for s := isaGo; s < best; s++ {
		attnISA = s
		t.Run(s.String(), func(t *testing.T) {
			TestLearning(t)
			TestExpSumExtremes(t)
			TestLearningNonNumbers(t)
		})
	}
}
