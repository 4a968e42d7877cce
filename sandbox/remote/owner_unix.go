//go:build unix

package remote

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// own makes the owner of what is replaced, or of the directory, the owner of what root wrote.
func own(root *os.Root, rel string, before fs.FileInfo) error {
	if os.Getuid() != 0 {
		return nil
	}
	if before == nil {
		var err error
		if before, err = root.Lstat(path.Dir(rel)); err != nil {
			return err
		}
	}
	st, ok := before.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return root.Lchown(rel, int(st.Uid), int(st.Gid))
}

// isNotDir reports whether a path leads through something that is not a directory.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
