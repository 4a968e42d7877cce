//go:build unix

package codestore

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time used by this process so far, which does not depend on other
// work on the machine.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
