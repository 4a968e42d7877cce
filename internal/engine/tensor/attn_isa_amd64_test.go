package tensor

import "testing"

// TestAttentionLesser runs the tests of attention and vectors with the other, less capable kernel
// sets of this processor.
func TestAttentionLesser(t *testing.T) {
	best := attnISA
	t.Cleanup(func() { attnISA = best })
	for s := isaGo; s < best; s++ {
		attnISA = s
		t.Run(s.String(), func(t *testing.T) {
			TestAttention(t)
			TestAttentionMerge(t)
			TestAttentionKernels(t)
			TestVectors(t)
			TestSwiGLUExtremes(t)
			TestFinite(t)
		})
	}
}
