//go:build !linux

package tree

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func isWhiteout(*os.Root, string, fs.FileInfo) bool { return false }
func isOpaque(*os.Root, string) bool                { return false }
func markWhiteout(*os.Root, string) error           { return errors.ErrUnsupported }
func markOpaque(*os.Root) error                     { return errors.ErrUnsupported }
func linkIn(_, _ *os.Root, _ string) error          { return errors.ErrUnsupported }
func isNotDir(err error) bool                       { return errors.Is(err, syscall.ENOTDIR) }
