//go:build unix

package coding

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/luthier-dev/luthier/internal/filelock"
)

// rootLockWait limits the wait of a write for the lock of the workspace. Writes hold it for
// milliseconds, but any program that can open the directory can hold it for ever.
const rootLockWait = 10 * time.Second

var errRootLocked = errors.New("another program holds the lock of the workspace's directory (flock); end it, or wait until it is done")

// lockRoot takes the directory's advisory lock, which all programs that use this package share. If
// the system has no such locks, or the file system, it does nothing. It stops waiting when ctx
// ends, or after rootLockWait.
func lockRoot(ctx context.Context, root *os.Root) (unlock func(), err error) {
	d, err := root.Open(".")
	if err != nil {
		return func() {}, nil
	}
	unlock = func() { d.Close() } // closing releases the lock
	ctx, cancel := context.WithTimeoutCause(ctx, rootLockWait, errRootLocked)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if ok, err := filelock.Try(d); ok || err != nil {
			return unlock, nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			unlock()
			return nil, context.Cause(ctx)
		}
	}
}
