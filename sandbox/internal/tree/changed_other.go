//go:build !linux

package tree

import (
	"io/fs"
	"time"
)

// ChangedAt returns when a file last changed.
func ChangedAt(fi fs.FileInfo) time.Time { return fi.ModTime() }
