//go:build !unix

package gitlog_test

func makePipe(string) bool { return false }
