package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFrozen is how many layers a workspace may have between its change and its
// snapshot. The kernel allows 500, but every lookup of a missing name asks each.
const maxFrozen = 16

// flatten merges the frozen layers into one when there are too many. Files are
// linked, not copied: its cost is the number of changed files.
func (ws *workspace) flatten(dir string) error {
	if len(ws.frozen) <= maxFrozen {
		return nil
	}
	var dirs []layerDir
	for i := len(ws.frozen) - 1; i >= 0; i-- {
		dirs = append(dirs, ws.frozen[i].layerDir)
	}
	f, err := newFrozen(dir)
	if err != nil {
		return err
	}
	f.path = filepath.Join(f.home, "upper")
	if err := mergeLayers(dirs, f.path); err != nil {
		// A deeper stack is slower, no more: the kernel's limit is far off.
		_ = f.release()
		if len(ws.frozen) < 8*maxFrozen {
			return nil
		}
		return err
	}
	old := ws.frozen
	ws.frozen = []*frozen{f}
	for _, o := range old {
		err = errors.Join(err, o.release())
	}
	return err
}

// mergeLayers makes one overlay layer of several, newest first.
func mergeLayers(dirs []layerDir, dst string) error {
	v := &merger{dst: dst}
	for _, d := range dirs {
		root, err := os.OpenRoot(d.path)
		if err != nil {
			return err
		}
		defer root.Close()
		v.tops = append(v.tops, d.path)
		v.roots = append(v.roots, root)
	}
	all := make([]int, len(dirs))
	for i := range all {
		all[i] = i
	}
	return v.dir(".", all)
}

type merger struct {
	dst   string
	tops  []string
	roots []*os.Root
}

// dir merges one directory out of the layers in, newest first.
func (m *merger) dir(rel string, in []int) error {
	to := filepath.Join(m.dst, rel)
	info, err := m.roots[in[0]].Lstat(rel)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, l := range in {
		names, err := readNames(m.roots[l], rel)
		if err != nil {
			return err
		}
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			if err := m.entry(filepath.Join(rel, name), in[i:]); err != nil {
				return err
			}
		}
	}
	// Only the oldest can be opaque: the search stops there.
	if rel != "." && isOpaque(m.roots[in[len(in)-1]], rel) {
		if err := markOpaque(to); err != nil {
			return err
		}
	}
	return likeOriginal(to, info)
}

// entry merges one name, which the first of in has.
func (m *merger) entry(rel string, in []int) error {
	var dirs []int
	for _, l := range in {
		fi, err := m.roots[l].Lstat(rel)
		if missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		white := isWhiteout(m.roots[l], rel, fi)
		if white && len(dirs) > 0 || !white && !fi.IsDir() && len(dirs) > 0 {
			// What lies below the older mark stays hidden.
			return m.hiding(rel, dirs)
		}
		if white {
			return markWhiteout(filepath.Join(m.dst, rel))
		}
		if !fi.IsDir() {
			return m.file(rel, l, fi)
		}
		dirs = append(dirs, l)
		if isOpaque(m.roots[l], rel) {
			break
		}
	}
	return m.dir(rel, dirs)
}

// hiding merges a directory that was made anew where something had been deleted.
func (m *merger) hiding(rel string, dirs []int) error {
	to := filepath.Join(m.dst, rel)
	if err := m.dir(rel, dirs); err != nil {
		return err
	}
	return markOpaque(to)
}

func (m *merger) file(rel string, l int, fi fs.FileInfo) error {
	from, to := filepath.Join(m.tops[l], rel), filepath.Join(m.dst, rel)
	if os.Link(from, to) == nil {
		return nil
	}
	switch {
	case fi.Mode().IsRegular():
		if err := copyFile(from, to, fi); err != nil {
			return err
		}
	case fi.Mode()&fs.ModeSymlink != 0:
		if err := copyLink(from, to); err != nil {
			return err
		}
	default:
		return nil // a socket or pipe whose file system does not link: no state
	}
	return chownLike(to, fi)
}

// likeOriginal gives a directory the owner, mode and time of another.
func likeOriginal(path string, fi fs.FileInfo) error {
	return errors.Join(chownLike(path, fi), os.Chmod(path, fi.Mode().Perm()), os.Chtimes(path, fi.ModTime(), fi.ModTime()))
}
