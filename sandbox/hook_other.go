//go:build !linux

package sandbox

func stage() string   { return "" }
func runStage(string) {}
