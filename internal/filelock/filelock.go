// Package filelock takes locks on open files that end with the file or with the process, however it
// ends. It is for files that are open anyway; github.com/gofrs/flock, which opens a file of its
// own, is for the others.
package filelock

import "os"

// Try takes an exclusive lock on a file. It reports false when another holder, in this process or
// another one, has it. The error is errors.ErrUnsupported where the system has no such locks.
func Try(f *os.File) (bool, error) { return try(f) }
