package tree

import (
	"os"
	"path/filepath"
)

// Owner is the user that private files must belong to when it is not ours.
type Owner struct{ UID, GID int }

// Take gives a tree to the owner.
func (o *Owner) Take(dir string) error {
	return filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, o.UID, o.GID)
	})
}
