//go:build unix

package codestore

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time of this process so far, which other work on the machine does
// not change.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
