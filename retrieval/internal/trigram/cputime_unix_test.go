//go:build unix

package trigram

import (
	"syscall"
	"time"
)

// ownTime returns the processor time of this process, which other work on the machine disturbs less
// than elapsed time.
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
