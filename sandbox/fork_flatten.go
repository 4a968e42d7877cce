package sandbox

import (
	"errors"
	"path/filepath"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// maxFrozen is the most layers that a workspace may have between its changes and its snapshot. The
// kernel allows 500, but every lookup of a missing name searches each.
const maxFrozen = 16

// flatten merges the frozen layers into one when there are too many. It links files instead of
// copying them, so its cost is proportional to the number of changed files.
func (ws *workspace) flatten(dir string) error {
	if len(ws.frozen) <= maxFrozen {
		return nil
	}
	old := ws.frozen
	var dirs []tree.Dir
	for i := len(old) - 1; i >= 0; i-- {
		dirs = append(dirs, old[i].Dir)
	}
	f, err := newFrozen(ws.place(dir))
	if err != nil {
		return err
	}
	f.Path = filepath.Join(f.home, "upper")
	if err := tree.Merge(dirs, f.Path); err != nil {
		// Ignore the failure: a deeper stack is only slower, and the kernel's limit is far off.
		_ = f.release()
		if len(ws.frozen) < 8*maxFrozen {
			return nil
		}
		return err
	}
	ws.frozen = []*frozen{f}
	return releaseAll(old)
}

func releaseAll(layers []*frozen) error {
	var err error
	for _, f := range layers {
		err = errors.Join(err, f.release())
	}
	return err
}
