//go:build !linux

package regulartest

import "testing"

func special() []Kind { return nil }

// Flip needs an exchange of two names in one step, which only Linux has.
func Flip(t testing.TB, path string) (stop func()) {
	t.Helper()
	t.Skip("no exchange of names here")
	return func() {}
}
