//go:build unix

package gitlog_test

import "syscall"

func makePipe(path string) bool { return syscall.Mkfifo(path, 0o600) == nil }
