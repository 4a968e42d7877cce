//go:build unix

package proctree

import (
	"os"
	"runtime"
	"syscall"
)

// Status returns the exit status of an ended process, as a shell counts it, and
// the signal that ended it, if any.
func Status(ps *os.ProcessState) (code int, sig syscall.Signal) {
	ws, ok := ps.Sys().(syscall.WaitStatus)
	if !ok {
		return ps.ExitCode(), 0
	}
	return WaitStatus(ws)
}

// WaitStatus is Status for the kernel's wait status.
func WaitStatus(ws syscall.WaitStatus) (code int, sig syscall.Signal) {
	if ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal()
	}
	return ws.ExitStatus(), 0
}

// MaxRSS returns the largest resident set of an ended process in bytes.
func MaxRSS(ps *os.ProcessState) int64 {
	ru, ok := ps.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return RSSBytes(ru)
}

// RSSBytes converts the resident set of a rusage to bytes.
func RSSBytes(ru *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(ru.Maxrss) // already in bytes there
	}
	return int64(ru.Maxrss) << 10
}
