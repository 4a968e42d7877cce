//go:build !linux

package tree

import (
	"os"
	"path/filepath"
)

// Remove removes dir, whatever modes commands left in it.
func Remove(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	// An overlay's work directory has mode 0, and directories that commands made may have it too.
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if d == nil || !d.IsDir() {
			return nil
		}
		if fi, statErr := os.Lstat(p); statErr == nil && fi.IsDir() && fi.Mode().Perm()&0o700 != 0o700 {
			_ = os.Chmod(p, 0o700)
			if err != nil { // WalkDir could not read it: do so now
				return forceRemove(p)
			}
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// forceRemove makes every directory below dir accessible to its owner, then removes it.
func forceRemove(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			p := filepath.Join(dir, e.Name())
			_ = os.Chmod(p, 0o700)
			_ = forceRemove(p)
		}
	}
	return os.RemoveAll(dir)
}
