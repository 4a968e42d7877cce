//go:build !linux

package sandbox

import (
	"errors"
	"io/fs"
	"syscall"
)

func isWhiteout(string, fs.FileInfo) bool { return false }
func isOpaque(string) bool                { return false }
func isNotDir(err error) bool             { return errors.Is(err, syscall.ENOTDIR) }
