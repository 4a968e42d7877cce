// Package filelock takes locks on open files. A lock ends when the file is closed or the process
// ends, however it ends. The package is for files that are open anyway; for others there is
// github.com/gofrs/flock, which opens its own file.
package filelock

import "os"

// Try takes an exclusive lock on a file. It reports false if another holder, in this process or
// another one, has the lock. The error is errors.ErrUnsupported if the system has no such locks.
func Try(f *os.File) (bool, error) { return try(f) }
