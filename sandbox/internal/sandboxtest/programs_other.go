//go:build !linux

package sandboxtest

// Programs returns none: the attacks target features of Linux.
func Programs() map[string]func(args []string) error { return map[string]func([]string) error{} }
