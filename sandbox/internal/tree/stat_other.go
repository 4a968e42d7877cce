//go:build !unix

package tree

import (
	"io/fs"
	"os"
)

// chownIn has no meaning where files have no owner in this form.
func chownIn(*os.Root, string, fs.FileInfo) error { return nil }

// Links returns the number of names a file has.
func Links(fs.FileInfo) int { return 1 }

// NotEmpty reports the error of removing a directory that holds something.
func NotEmpty(error) bool { return false }

// NoFollow makes an open neither follow a link nor wait for a pipe's other end.
const NoFollow = 0
