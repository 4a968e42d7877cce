//go:build !unix

package proctree

import (
	"os"
	"syscall"
)

// Status returns the exit status of an ended process; there are no signals here.
func Status(ps *os.ProcessState) (code int, sig syscall.Signal) { return ps.ExitCode(), 0 }

// MaxRSS is not known here.
func MaxRSS(*os.ProcessState) int64 { return 0 }
