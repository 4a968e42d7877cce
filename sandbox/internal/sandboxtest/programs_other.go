//go:build !linux

package sandboxtest

// Programs returns none: the attacks are on what Linux offers.
func Programs() map[string]func(args []string) error { return map[string]func([]string) error{} }
