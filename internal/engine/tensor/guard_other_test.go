//go:build !linux

package tensor

import "testing"

// guarded is n bytes.
func guarded(_ *testing.T, n int) []byte { return make([]byte, n) }
