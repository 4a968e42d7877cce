package tree

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox/internal/applyplan"
)

// ErrConflict means that the directory to be changed has changed in the meantime.
var ErrConflict = errors.New("the directory has changed since the snapshot")

// Apply writes the changes to dir. If since is set, dir is the directory that the workspace was
// compared with; what has changed in it since then is a conflict.
func (c *Comparison) Apply(ctx context.Context, dir string, since time.Time) error {
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return c.apply(&applier{ctx: ctx, since: since, remedy: "take a new snapshot, or export a patch and merge that"}, root)
}

// ApplyTo writes the changes to another workspace of the same origin, which is open as root. Every
// step that changes something there runs in as, which may give it the rights of another user. What
// is neither as it was nor as it shall be is a conflict. Paths for which together returns true
// belong together: if one of them is a conflict, all of them are left out.
func (c *Comparison) ApplyTo(ctx context.Context, root *os.Root, as func(change func() error) error, together func(path string) bool) error {
	return c.apply(&applier{ctx: ctx, as: as, together: together, remedy: "decide which of the two is right, and do the rest again on a new fork"}, root)
}

func (c *Comparison) apply(a *applier, root *os.Root) error {
	var p places
	top, err := p.at(root)
	if err != nil {
		return err
	}
	defer p.close()
	a.dirs = map[string]*place{".": top}
	pairs, err := a.settled(c.Pairs)
	if err != nil {
		return err
	}
	return a.apply(pairs)
}

// settled returns the pairs without those that belong together, if one of them is a conflict.
func (a *applier) settled(pairs []Pair) ([]Pair, error) {
	if a.together == nil {
		return pairs, nil
	}
	for _, p := range pairs {
		if !a.together(p.Path()) {
			continue
		}
		_, err := a.check(p)
		if errors.Is(err, ErrConflict) {
			return slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return a.together(p.Path()) }), nil
		}
		if err != nil {
			return nil, err
		}
	}
	return pairs, nil
}

// applier applies changes to a directory.
type applier struct {
	ctx   context.Context
	dirs  map[string]*place // visited so far, by path; all are real directories
	since time.Time         // if set, the directory is the snapshot itself
	// as runs what changes something as another user, who then owns it; nil means that the owner
	// is copied instead.
	as       func(change func() error) error
	together func(path string) bool // the paths that are only applied together; may be nil
	remedy   string                 // what to do about a conflict
}

// change runs one step that changes the directory.
func (a *applier) change(f func() error) error {
	if a.as == nil {
		return f()
	}
	return a.as(f)
}

// apply applies all changes or, if there are conflicts, none.
func (a *applier) apply(pairs []Pair) error {
	p := applyplan.Plan[Pair]{
		Path: Pair.Path,
		Check: func(p Pair) (bool, error) {
			if p.Now != nil && !Copied(p.Now.Info) {
				return true, nil
			}
			return a.check(p)
		},
		Clear: a.clear, Gone: func(p Pair) bool { return p.Now == nil }, Put: a.put,
		Conflict: ErrConflict, Remedy: a.remedy,
	}
	return p.Apply(pairs)
}

// check reports whether nothing is left to do for p, or returns ErrConflict if something else was
// done there.
func (a *applier) check(p Pair) (bool, error) {
	if err := context.Cause(a.ctx); err != nil {
		return false, err
	}
	rel := p.Path()
	there, err := a.there(rel)
	if err != nil {
		return false, err
	}
	d := differ{ctx: a.ctx, copied: true}
	if same, err := d.same(p.Now, there); err != nil || same || p.Now == nil && there == nil {
		return err == nil, err
	}
	if p.Was == nil && there == nil || p.Was.IsDir() && there.IsDir() {
		return false, nil
	}
	if a.as != nil && p.Was == nil && p.Now.IsDir() && there.IsDir() {
		return true, nil // both made the directory, if with different modes
	}
	if !a.since.IsZero() && there != nil && p.Was != nil {
		if ChangedAt(there.Info).Before(a.since) {
			return false, nil
		}
		return false, ErrConflict
	}
	same, err := d.same(p.Was, there)
	if err == nil && !same {
		err = ErrConflict
	}
	return false, err
}

// clear removes what is deleted, or what must make way for another kind of file.
func (a *applier) clear(p Pair) error {
	if p.Was == nil || p.Now != nil && p.Now.Info.Mode().Type() == p.Was.Info.Mode().Type() {
		return nil
	}
	if p.Now != nil && !p.Was.IsDir() && !p.Now.IsDir() {
		return nil // replaced by the rename
	}
	root, err := a.parent(p.Was.Rel)
	if Missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	delete(a.dirs, p.Was.Rel)
	err = a.change(func() error { return root.Remove(BaseName(p.Was.Rel)) })
	if Missing(err) || p.Now == nil && p.Was.IsDir() && NotEmpty(err) {
		return nil // somebody put another file into the directory
	}
	return err
}

// there returns the directory's entry at a path, or nil if there is none.
func (a *applier) there(rel string) (*Entry, error) {
	dir, err := a.dir(DirName(rel))
	if errors.Is(err, ErrConflict) || Missing(err) {
		return nil, nil
	}
	var root *os.Root
	if err == nil {
		root, err = dir.open()
	}
	if err != nil {
		return nil, err
	}
	name := BaseName(rel)
	fi, err := root.Lstat(name)
	if Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &Entry{Rel: rel, Info: fi, at: dir, name: name}, nil
}

// dir returns the directory of a path. A symbolic link on the way is an error: the review covered
// this path, not the place where the link leads.
func (a *applier) dir(rel string) (*place, error) {
	var below []string
	at := rel
	for a.dirs[at] == nil {
		below = append(below, BaseName(at))
		at = DirName(at)
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

// parent opens the directory that contains a path.
func (a *applier) parent(rel string) (*os.Root, error) {
	dir, err := a.dir(DirName(rel))
	if err != nil {
		return nil, err
	}
	return dir.open()
}

// put writes one path.
func (a *applier) put(p Pair) error {
	e := p.Now
	root, err := a.parent(e.Rel)
	if err != nil {
		return err
	}
	name, perm := BaseName(e.Rel), e.Info.Mode().Perm()
	if e.IsDir() {
		return a.change(func() error {
			err := root.Mkdir(name, 0o700)
			made := err == nil
			if errors.Is(err, fs.ErrExist) {
				err = nil
			}
			if err == nil && made {
				err = a.own(root, name, nil)
			}
			return errors.Join(err, root.Chmod(name, perm))
		})
	}
	before, _ := root.Lstat(name)
	temp := ".luthier-export-" + rand.Text()
	err = a.write(e, root, temp, perm)
	return a.change(func() error {
		if err == nil {
			err = a.own(root, temp, before)
		}
		if err == nil {
			err = root.Rename(temp, name)
		}
		if err != nil {
			_ = root.Remove(temp)
		}
		return err
	})
}

// write makes a file or link under a temporary name.
func (a *applier) write(e *Entry, root *os.Root, temp string, perm fs.FileMode) error {
	if e.Info.Mode()&fs.ModeSymlink != 0 {
		target, err := e.Link()
		if err != nil {
			return err
		}
		return a.change(func() error { return root.Symlink(target, temp) })
	}
	r, err := e.open()
	if err != nil {
		return err
	}
	defer r.Close()
	var w *os.File
	err = a.change(func() error {
		w, err = root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = copyContent(a.ctx, w, r)
	return errors.Join(err, w.Chmod(perm), w.Close())
}

// own makes the owner of what is replaced, or of the directory, the owner of what root wrote.
func (a *applier) own(root *os.Root, name string, before fs.FileInfo) error {
	if a.as != nil {
		return nil
	}
	if before == nil {
		var err error
		if before, err = root.Lstat("."); err != nil {
			return err
		}
	}
	return chownIn(root, name, before)
}
