//go:build !linux

package sandbox

import (
	"io/fs"
	"time"
)

// changedAt is when a file last changed.
func changedAt(fi fs.FileInfo) time.Time { return fi.ModTime() }
