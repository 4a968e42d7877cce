package tree

import (
	"os"
	"path/filepath"
)

// Owner is the user who must own private files, if not this process's user.
type Owner struct{ UID, GID int }

// Take makes the owner own a tree.
func (o *Owner) Take(dir string) error {
	return filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, o.UID, o.GID)
	})
}
