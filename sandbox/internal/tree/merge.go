package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// Merge merges several overlay layers, newest first, into one.
func Merge(dirs []Dir, dst string) error {
	m := &merger{}
	defer m.from.close()
	defer m.made.close()
	var tops []*place
	for _, d := range dirs {
		top, err := m.from.top(d.Path)
		if err != nil {
			return err
		}
		defer top.root.Close()
		tops = append(tops, top)
	}
	if err := os.Mkdir(dst, 0o700); err != nil {
		return err
	}
	to, err := m.made.top(dst)
	if err != nil {
		return err
	}
	defer to.root.Close()
	if err := m.fill(tops, to); err != nil {
		return err
	}
	return likeOriginal(to.root, ".", tops[0].info)
}

type merger struct{ from, made places }

// fill merges one directory from the layers that contain it, newest first.
func (m *merger) fill(in []*place, to *place) error {
	seen := map[string]bool{}
	for i, p := range in {
		root, err := p.open()
		if err != nil {
			return err
		}
		names, err := appendNames(nil, root, &room{})
		if err != nil {
			return err
		}
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			if err := m.entry(name, in[i:], to); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry merges one name, which the first of in contains.
func (m *merger) entry(name string, in []*place, to *place) error {
	var dirs []*place
	for _, p := range in {
		root, err := p.open()
		if err != nil {
			return err
		}
		fi, err := root.Lstat(name)
		if Missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		white := isWhiteout(root, name, fi)
		if !white && fi.IsDir() {
			dirs = append(dirs, p.below(name, fi))
			if isOpaque(root, name) {
				return m.dir(name, dirs, to, true) // older layers do not matter
			}
			continue
		}
		if len(dirs) > 0 {
			// What is below the older whiteout or file stays hidden.
			return m.dir(name, dirs, to, true)
		}
		return m.file(name, p, fi, to, white)
	}
	return m.dir(name, dirs, to, false)
}

// dir merges a directory; if it is opaque, it hides what older layers contain there.
func (m *merger) dir(name string, in []*place, to *place, opaque bool) error {
	made, err := to.make(name)
	if err != nil {
		return err
	}
	if err := m.fill(in, made); err != nil {
		return err
	}
	if opaque {
		root, err := made.open()
		if err != nil {
			return err
		}
		if err := markOpaque(root); err != nil {
			return err
		}
	}
	root, err := to.open()
	if err != nil {
		return err
	}
	return likeOriginal(root, name, in[0].info)
}

// file copies anything except a directory.
func (m *merger) file(name string, p *place, fi fs.FileInfo, to *place, white bool) error {
	out, err := to.open()
	if err != nil {
		return err
	}
	if white {
		return markWhiteout(out, name)
	}
	from, err := p.open()
	if err != nil {
		return err
	}
	if linkIn(from, out, name) == nil {
		return nil
	}
	if !Copied(fi) {
		return nil // a socket or pipe on a file system without links; it holds no state
	}
	e := &Entry{Rel: name, Info: fi, at: p, name: name}
	if err := copyEntry(context.Background(), e, out, name); err != nil {
		return err
	}
	return chownIn(out, name, fi)
}

// likeOriginal sets the owner, mode and time of a directory to those of another.
func likeOriginal(in *os.Root, name string, fi fs.FileInfo) error {
	return errors.Join(chownIn(in, name, fi), in.Chmod(name, fi.Mode().Perm()), in.Chtimes(name, fi.ModTime(), fi.ModTime()))
}
