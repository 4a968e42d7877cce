package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies directories, regular files and symbolic links from src to
// dst, with modes and times. Sockets, pipes and devices are left out: they are
// no state that can be copied. Files go to o if it is not nil.
func copyTree(src, dst string, o *owner) error {
	type dirTime struct {
		path string
		info fs.FileInfo
	}
	var dirs []dirTime
	err := filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, p)
		if err != nil {
			return err
		}
		target := filepath.Join(dst, rel)
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since it was listed
		}
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			dirs = append(dirs, dirTime{target, info})
			err = os.Mkdir(target, 0o700)
		case info.Mode().IsRegular():
			err = copyFile(p, target, info)
		case info.Mode()&fs.ModeSymlink != 0:
			err = copyLink(p, target)
		default:
			return nil
		}
		if err == nil && o != nil {
			err = os.Lchown(target, o.uid, o.gid)
		}
		return err
	})
	// Modes and times of directories come last: filling them needs and changes both.
	for i := len(dirs) - 1; i >= 0; i-- {
		d := dirs[i]
		err = errors.Join(err, os.Chmod(d.path, d.info.Mode().Perm()), os.Chtimes(d.path, d.info.ModTime(), d.info.ModTime()))
	}
	return err
}

func copyLink(src, dst string) error {
	target, err := os.Readlink(src)
	if err != nil {
		return err
	}
	return os.Symlink(target, dst)
}

func copyFile(src, dst string, info fs.FileInfo) error {
	r, err := os.Open(src)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if cloneFile(w, r) != nil {
		_, err = io.Copy(w, r)
	}
	// Never setuid or setgid: a private copy is nobody's to run as another.
	err = errors.Join(err, w.Chmod(info.Mode().Perm()), w.Close())
	return errors.Join(err, os.Chtimes(dst, info.ModTime(), info.ModTime()))
}

// copyBase copies the state that the workspace starts from to dst.
func (ws *workspace) copyBase(dst string) error {
	dirs := ws.state(AtFork)
	if dirs[0].full {
		return copyTree(dirs[0].path, dst, ws.owner)
	}
	v, err := openView(dirs)
	if err != nil {
		return err
	}
	defer v.close()
	top, err := v.top()
	if err != nil {
		return err
	}
	return copyView(v, top, dst, ws.owner)
}

// copyView is copyTree for a view.
func copyView(v *view, dir *entry, dst string, o *owner) error {
	if err := os.Mkdir(dst, 0o700); err != nil {
		return err
	}
	names, err := dir.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		e, err := v.child(dir, name)
		if err != nil {
			return err
		}
		if e == nil || !copied(e.info) {
			continue
		}
		to := filepath.Join(dst, name)
		if e.isDir() {
			err = copyView(v, e, to, o)
		} else {
			err = copyEntry(e, to, o)
		}
		if err != nil {
			return err
		}
	}
	if o != nil {
		err = os.Lchown(dst, o.uid, o.gid)
	}
	t := dir.info.ModTime()
	return errors.Join(err, os.Chmod(dst, dir.info.Mode().Perm()), os.Chtimes(dst, t, t))
}

func copyEntry(e *entry, to string, o *owner) error {
	from := filepath.Join(e.in.Name(), filepath.FromSlash(e.rel))
	var err error
	if e.info.Mode().IsRegular() {
		err = copyFile(from, to, e.info)
	} else {
		err = copyLink(from, to)
	}
	if err == nil && o != nil {
		err = os.Lchown(to, o.uid, o.gid)
	}
	return err
}
