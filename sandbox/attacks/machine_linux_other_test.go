//go:build linux && !amd64

package attacks_test

const archIOPL, archLDT, archCreat = noSuchCall, noSuchCall, noSuchCall

func needs386() string { return "only amd64 kernels take calls of another kind" }

func runELF32([]string) error { return nil }

func int80([]string) error { return nil }
