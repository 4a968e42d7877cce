//go:build !unix

package history_test

func makePipe(string) bool { return false }
