//go:build !linux

package sandbox

func runHelper(string, []string) int { return 2 }
