package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/applyplan"
)

// applier brings a change to a directory.
type applier struct {
	ctx   context.Context
	dirs  map[string]*place // met so far, by their path; all are real directories
	since time.Time         // if set, the directory is the snapshot itself
}

// apply brings the change, all or, where there are conflicts, none of it.
func (a *applier) apply(pairs []differing) error {
	p := applyplan.Plan[differing]{
		Path: differing.path,
		Check: func(p differing) (bool, error) {
			if p.now != nil && !copied(p.now.info) {
				return true, nil
			}
			return a.check(p)
		},
		Clear: a.clear, Gone: func(p differing) bool { return p.now == nil }, Put: a.put,
		Conflict: ErrConflict, Remedy: "take a new snapshot, or export a patch and merge that",
	}
	return p.Apply(pairs)
}

// check reports whether nothing is left to do for p, or that something else was
// done there.
func (a *applier) check(p differing) (bool, error) {
	if err := context.Cause(a.ctx); err != nil {
		return false, err
	}
	rel := p.path()
	there, err := a.there(rel)
	if err != nil {
		return false, err
	}
	d := differ{ctx: a.ctx, copied: true}
	if same, err := d.same(p.now, there); err != nil || same || p.now == nil && there == nil {
		return err == nil, err
	}
	if p.was == nil && there == nil || p.was.isDir() && there.isDir() {
		return false, nil
	}
	if !a.since.IsZero() && there != nil && p.was != nil {
		if changedAt(there.info).Before(a.since) {
			return false, nil
		}
		return false, ErrConflict
	}
	same, err := d.same(p.was, there)
	if err == nil && !same {
		err = ErrConflict
	}
	return false, err
}

// clear removes what is gone, or what stands where another kind of file comes.
func (a *applier) clear(p differing) error {
	if p.was == nil || p.now != nil && p.now.info.Mode().Type() == p.was.info.Mode().Type() {
		return nil
	}
	if p.now != nil && !p.was.isDir() && !p.now.isDir() {
		return nil // renamed over
	}
	root, err := a.parent(p.was.rel)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	delete(a.dirs, p.was.rel)
	err = root.Remove(baseName(p.was.rel))
	if missing(err) || p.now == nil && p.was.isDir() && notEmpty(err) {
		return nil // someone put a file of his own into the directory
	}
	return err
}

// there is what the directory has under a path, nil if nothing.
func (a *applier) there(rel string) (*entry, error) {
	dir, err := a.dir(dirName(rel))
	if errors.Is(err, ErrConflict) || missing(err) {
		return nil, nil
	}
	var root *os.Root
	if err == nil {
		root, err = dir.open()
	}
	if err != nil {
		return nil, err
	}
	name := baseName(rel)
	fi, err := root.Lstat(name)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &entry{rel: rel, info: fi, at: dir, name: name}, nil
}

// dir is the directory of a path. A link on the way is an error: what was reviewed
// is this path, not where that leads.
func (a *applier) dir(rel string) (*place, error) {
	var below []string
	at := rel
	for a.dirs[at] == nil {
		below = append(below, baseName(at))
		at = dirName(at)
	}
	dir := a.dirs[at]
	for _, name := range slices.Backward(below) {
		root, err := dir.open()
		if err != nil {
			return nil, err
		}
		fi, err := root.Lstat(name)
		if err != nil {
			return nil, err
		}
		at = joinRel(at, name)
		if !fi.IsDir() {
			return nil, fmt.Errorf("%q is no directory: %w", at, ErrConflict)
		}
		dir = dir.below(name, fi)
		a.dirs[at] = dir
	}
	return dir, nil
}

// parent opens the directory that holds a path.
func (a *applier) parent(rel string) (*os.Root, error) {
	dir, err := a.dir(dirName(rel))
	if err != nil {
		return nil, err
	}
	return dir.open()
}

// put writes one path.
func (a *applier) put(p differing) error {
	e := p.now
	root, err := a.parent(e.rel)
	if err != nil {
		return err
	}
	name, perm := baseName(e.rel), e.info.Mode().Perm()
	if e.isDir() {
		err := root.Mkdir(name, 0o700)
		made := err == nil
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		if err == nil && made {
			err = own(root, name, nil)
		}
		return errors.Join(err, root.Chmod(name, perm))
	}
	before, _ := root.Lstat(name)
	temp := ".luthier-export-" + rand.Text()
	err = a.write(e, root, temp, perm)
	if err == nil {
		err = own(root, temp, before)
	}
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// write makes a file or link under a temporary name.
func (a *applier) write(e *entry, root *os.Root, temp string, perm fs.FileMode) error {
	if e.info.Mode()&fs.ModeSymlink != 0 {
		target, err := e.link()
		if err != nil {
			return err
		}
		return root.Symlink(target, temp)
	}
	r, err := e.open()
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = copyContent(a.ctx, w, r)
	return errors.Join(err, w.Chmod(perm), w.Close())
}

// own gives what root wrote to the owner of what it replaces, or of its directory.
func own(root *os.Root, name string, before fs.FileInfo) error {
	if before == nil {
		var err error
		if before, err = root.Lstat("."); err != nil {
			return err
		}
	}
	return chownIn(root, name, before)
}
