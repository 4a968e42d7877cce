//go:build !unix

package tree

import (
	"io/fs"
	"os"
)

// chownIn does nothing on systems where files have no such owner.
func chownIn(*os.Root, string, fs.FileInfo) error { return nil }

// Links returns the number of names a file has.
func Links(fs.FileInfo) int { return 1 }

// NotEmpty reports whether the error is that of removing a non-empty directory.
func NotEmpty(error) bool { return false }

// NoFollow makes an open neither follow a link nor wait for the other end of a pipe.
const NoFollow = 0
