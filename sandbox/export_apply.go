package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// applier brings a change to a directory.
type applier struct {
	ctx   context.Context
	root  *os.Root
	since time.Time       // if set, the directory is the snapshot itself
	real  map[string]bool // directories known to be no links
}

// apply looks first and writes then. What is deleted goes first, from the inside
// out, then the rest comes from the outside in.
func (a *applier) apply(pairs []differing) error {
	var todo []differing
	var conflicts []string
	for _, p := range pairs {
		if p.now != nil && !copied(p.now.info) {
			continue
		}
		done, err := a.check(p)
		if errors.Is(err, ErrConflict) {
			conflicts = append(conflicts, p.path())
		} else if err != nil {
			return err
		}
		if !done {
			todo = append(todo, p)
		}
	}
	if len(conflicts) > 0 {
		return fmt.Errorf("%w in %d places, the first is %q; take a new snapshot, or export a patch and merge that", ErrConflict, len(conflicts), conflicts[0])
	}
	for i, p := range slices.Backward(todo) {
		if err := a.clear(p); err != nil {
			return fmt.Errorf("after %d of %d changes: %w", len(todo)-1-i, len(todo), err)
		}
	}
	for _, p := range todo {
		if p.now == nil {
			continue
		}
		if err := a.put(p); err != nil {
			return fmt.Errorf("%q: %w; the change is applied in part, exporting again goes on", p.now.rel, err)
		}
	}
	return nil
}

// check reports whether nothing is left to do for p, or that something else was
// done there.
func (a *applier) check(p differing) (bool, error) {
	if err := context.Cause(a.ctx); err != nil {
		return false, err
	}
	rel := p.path()
	var there *entry
	fi, err := a.root.Lstat(rel)
	switch {
	case missing(err):
	case err != nil:
		return false, err
	default:
		there = &entry{rel: rel, info: fi, in: a.root}
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
	if ok, err := a.parent(p.was.rel); err != nil || !ok {
		return err
	}
	err := a.root.Remove(p.was.rel)
	if missing(err) || p.now == nil && p.was.isDir() && notEmpty(err) {
		return nil // someone put a file of his own into the directory
	}
	return err
}

// parent reports whether the directory of rel is there. A link on the way is an
// error: what was reviewed is this path, not where that leads.
func (a *applier) parent(rel string) (bool, error) {
	at := "."
	for name := range strings.SplitSeq(path.Dir(rel), "/") {
		at = path.Join(at, name)
		if a.real[at] {
			continue
		}
		fi, err := a.root.Lstat(at)
		if missing(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !fi.IsDir() {
			return false, fmt.Errorf("%q is no directory: %w", at, ErrConflict)
		}
	}
	return true, nil
}

// put writes one path.
func (a *applier) put(p differing) error {
	e := p.now
	if ok, err := a.parent(e.rel); err != nil || !ok {
		return errors.Join(err, fs.ErrNotExist)
	}
	perm := e.info.Mode().Perm()
	if e.isDir() {
		err := a.root.Mkdir(e.rel, 0o700)
		made := err == nil
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		if err == nil && made {
			err = a.own(e.rel, nil)
		}
		return errors.Join(err, a.root.Chmod(e.rel, perm))
	}
	before, _ := a.root.Lstat(e.rel)
	temp := path.Join(path.Dir(e.rel), ".luthier-export-"+rand.Text())
	err := a.write(e, temp, perm)
	if err == nil {
		err = a.own(temp, before)
	}
	if err == nil {
		err = a.root.Rename(temp, e.rel)
	}
	if err != nil {
		_ = a.root.Remove(temp)
	}
	return err
}

// write makes a file or link under a temporary name.
func (a *applier) write(e *entry, temp string, perm fs.FileMode) error {
	if e.info.Mode()&fs.ModeSymlink != 0 {
		target, err := e.link()
		if err != nil {
			return err
		}
		return a.root.Symlink(target, temp)
	}
	r, err := e.open()
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := a.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Chmod(perm), w.Close())
}

// own gives what root wrote to the owner of what it replaces, or of its directory.
func (a *applier) own(rel string, before fs.FileInfo) error {
	if before == nil {
		var err error
		if before, err = a.root.Lstat(path.Dir(rel)); err != nil {
			return err
		}
	}
	return chownIn(a.root, rel, before)
}
