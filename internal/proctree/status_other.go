//go:build !unix

package proctree

import (
	"os"
	"syscall"
)

// Status returns the exit status of an ended process. The signal is always 0: this system has none.
func Status(ps *os.ProcessState) (code int, sig syscall.Signal) { return ps.ExitCode(), 0 }

// MaxRSS returns 0: the size is not available on this system.
func MaxRSS(*os.ProcessState) int64 { return 0 }
