//go:build unix

package agent_test

import (
	"os/signal"
	"strconv"
	"syscall"
)

const canLimitFileSize = true

// limitFileSize makes writes beyond a size fail, as on a full disk.
func limitFileSize(bytes string) {
	n, err := strconv.ParseUint(bytes, 10, 64)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	lim := syscall.Rlimit{Cur: n, Max: n}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &lim); err != nil {
		panic(err)
	}
}
