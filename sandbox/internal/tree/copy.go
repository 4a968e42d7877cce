package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// Copy copies directories, regular files and symbolic links from src to dst, with modes and times.
// Sockets, pipes and devices are left out, since their state cannot be copied. If o is not nil, it
// becomes the owner of the files.
func Copy(src, dst string, o *Owner) error {
	return CopyLayers([]Dir{{src, true}}, dst, o)
}

// CopyLayers is Copy for the tree that a stack of layers shows.
func CopyLayers(dirs []Dir, dst string, o *Owner) error {
	v, err := OpenView(dirs)
	if err != nil {
		return err
	}
	defer v.Close()
	if err := os.Mkdir(dst, 0o700); err != nil {
		return err
	}
	c := &copier{v: v, owner: o}
	to, err := c.made.top(dst)
	if err != nil {
		return err
	}
	defer to.root.Close()
	defer c.made.close()
	if err := c.fill(v.Top(), to); err != nil {
		return err
	}
	return c.like(to.root, ".", v.Top().Info)
}

// copier copies what a view shows.
type copier struct {
	v     *View
	made  places
	owner *Owner
}

// fill copies the content of a directory.
func (c *copier) fill(dir *Entry, to *place) error {
	names, err := c.v.Names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		e, err := c.v.Child(dir, name)
		if err != nil {
			return err
		}
		if e == nil || !Copied(e.Info) {
			continue
		}
		if err := c.entry(e, to); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) entry(e *Entry, to *place) error {
	root, err := to.open()
	if err != nil {
		return err
	}
	if e.IsDir() {
		if to, err = to.make(e.name); err == nil {
			err = c.fill(e, to)
		}
		if err == nil {
			root, err = to.up.open()
		}
		if err != nil {
			return err
		}
		// Set modes and times of directories last, since filling a directory needs its mode and
		// changes its time.
		return c.like(root, e.name, e.Info)
	}
	err = copyEntry(context.Background(), e, root, e.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // disappeared since it was listed
	}
	if err == nil && c.owner != nil {
		err = root.Lchown(e.name, c.owner.UID, c.owner.GID)
	}
	return err
}

// like sets the owner of a directory, and the mode and time of its original.
func (c *copier) like(in *os.Root, name string, info fs.FileInfo) error {
	var err error
	if c.owner != nil {
		err = in.Lchown(name, c.owner.UID, c.owner.GID)
	}
	return errors.Join(err, in.Chmod(name, info.Mode().Perm()), in.Chtimes(name, info.ModTime(), info.ModTime()))
}

// make makes a directory in p that only its owner can access.
func (p *place) make(name string) (*place, error) {
	root, err := p.open()
	if err != nil {
		return nil, err
	}
	if err := root.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	return p.below(name, info), nil
}

// copyEntry copies a regular file, with mode and time, or a symbolic link.
func copyEntry(ctx context.Context, e *Entry, to *os.Root, name string) error {
	if e.Info.Mode()&fs.ModeSymlink != 0 {
		target, err := e.Link()
		if err != nil {
			return err
		}
		return to.Symlink(target, name)
	}
	r, err := e.open()
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if cloneFile(w, r) != nil {
		err = copyContent(ctx, w, r)
	}
	// Never keep setuid or setgid: nobody may run a private copy as another user.
	err = errors.Join(err, w.Chmod(e.Info.Mode().Perm()), w.Close())
	return errors.Join(err, to.Chtimes(name, e.Info.ModTime(), e.Info.ModTime()))
}
