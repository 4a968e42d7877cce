package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/internal/applyplan"
)

// applier applies fetched changes to a directory of this machine, by the rules of sandbox.Exporter:
// it checks every path before it writes, and writes nothing if a path has content that is neither
// the snapshot's nor the change's.
type applier struct {
	ctx  context.Context
	o    *fetched
	root *os.Root
}

// step is one path of the changes; a side is nil if the path does not exist there.
type step struct {
	path     string
	was, now *entry
}

// apply applies the changes to dir; before is the snapshot.
func (o *fetched) apply(ctx context.Context, dir string, before map[string]entry, changes []sandbox.Change) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("ExportOptions.Dir: %w", err)
	}
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	steps, err := o.steps(before, changes)
	if err != nil {
		return err
	}
	return (&applier{ctx, o, root}).apply(steps)
}

// steps pairs the changes with the snapshot. Changes whose content the server left out, such as
// devices, are no steps.
func (o *fetched) steps(before map[string]entry, changes []sandbox.Change) ([]step, error) {
	now := make(map[string]*entry, len(o.Files))
	for i := range o.Files {
		now[o.Files[i].Path] = &o.Files[i]
	}
	var out []step
	for _, c := range changes {
		if !validPath(c.Path) {
			return nil, fmt.Errorf("server sends path %q", c.Path)
		}
		s := step{path: c.Path, now: now[c.Path]}
		if e, ok := before[c.Path]; ok {
			s.was = &e
		}
		if s.now != nil || c.Kind == sandbox.Deleted {
			out = append(out, s)
		}
	}
	return out, nil
}

// apply applies all changes or, if there are conflicts, none.
func (a *applier) apply(steps []step) error {
	p := applyplan.Plan[step]{
		Path: func(s step) string { return s.path }, Check: a.check,
		Clear: a.clear, Gone: func(s step) bool { return s.now == nil }, Put: a.put,
		Conflict: sandbox.ErrConflict, Remedy: "open a new sandbox over it, or export a patch and merge that",
	}
	return p.Apply(steps)
}

// check reports whether nothing is left to do, or returns a conflict if something else was done
// there.
func (a *applier) check(s step) (done bool, err error) {
	if err := context.Cause(a.ctx); err != nil {
		return false, err
	}
	fi, err := a.root.Lstat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || isNotDir(err):
		fi = nil
	case err != nil:
		return false, err
	}
	if fi == nil && (s.now == nil || s.was == nil) {
		return s.now == nil, nil
	}
	if same, err := a.same(s.now, s.path, fi); err != nil || same {
		return same, err
	}
	if s.was != nil && s.was.Kind == 'd' && fi != nil && fi.IsDir() {
		return false, nil
	}
	same, err := a.same(s.was, s.path, fi)
	if err == nil && !same {
		err = sandbox.ErrConflict
	}
	return false, err
}

// same reports whether what is at a path matches an entry.
func (a *applier) same(e *entry, rel string, fi fs.FileInfo) (bool, error) {
	if e == nil || fi == nil {
		return e == nil && fi == nil, nil
	}
	mode := fi.Mode()
	switch {
	case e.Kind == 'l':
		if mode&fs.ModeSymlink == 0 {
			return false, nil
		}
		target, err := a.root.Readlink(rel)
		return target == e.Link, err
	case uint32(permOf(fi)) != e.Perm && runtime.GOOS != "windows":
		return false, nil
	case e.Kind == 'd':
		return mode.IsDir(), nil
	case !mode.IsRegular() || fi.Size() != e.Size:
		return false, nil
	}
	f, err := regular.OpenIn(a.root, rel, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer f.Close()
	got, err := hashOf(f)
	return got == e.Hash, err
}

// clear removes what is deleted, or what must make way for another kind of file.
func (a *applier) clear(s step) error {
	if s.was == nil || s.now != nil && (s.now.Kind == s.was.Kind || s.now.Kind != 'd' && s.was.Kind != 'd') {
		return nil // a file or link is replaced by the rename
	}
	if ok, err := a.parent(s.path); err != nil || !ok {
		return err
	}
	err := a.root.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) || s.now == nil && s.was.Kind == 'd' && a.filled(s.path) {
		return nil // somebody put another file into the directory
	}
	return err
}

// filled reports whether a directory has any entries.
func (a *applier) filled(rel string) bool {
	f, err := regular.OpenDirIn(a.root, rel)
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) > 0
}

// parent reports whether the directory of rel exists. A symbolic link on the way is a conflict: the
// review covered this path, not the place where the link leads.
func (a *applier) parent(rel string) (bool, error) {
	at := "."
	for name := range strings.SplitSeq(path.Dir(rel), "/") {
		at = path.Join(at, name)
		fi, err := a.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !fi.IsDir() {
			return false, fmt.Errorf("%q is no directory: %w", at, sandbox.ErrConflict)
		}
	}
	return true, nil
}

// put writes one path.
func (a *applier) put(s step) error {
	if ok, err := a.parent(s.path); err != nil || !ok {
		return errors.Join(err, fs.ErrNotExist)
	}
	if s.now.Kind == 'd' {
		return a.directory(s)
	}
	before, _ := a.root.Lstat(s.path)
	if s.now.Kind == 'f' && s.was != nil && s.was.Kind == 'f' && s.was.Hash == s.now.Hash && before != nil {
		return a.root.Chmod(s.path, fs.FileMode(s.now.Perm)) // the content was checked and is already there
	}
	temp := path.Join(path.Dir(s.path), ".luthier-export-"+rand.Text())
	err := a.write(s.now, temp)
	if err == nil {
		err = own(a.root, temp, before)
	}
	if err == nil {
		err = a.root.Rename(temp, s.path)
	}
	if err != nil {
		_ = a.root.Remove(temp)
	}
	return err
}

func (a *applier) directory(s step) error {
	err := a.root.Mkdir(s.path, 0o700)
	switch {
	case err == nil:
		err = own(a.root, s.path, nil)
	case errors.Is(err, fs.ErrExist):
		err = nil
	}
	return errors.Join(err, a.root.Chmod(s.path, fs.FileMode(s.now.Perm)))
}

// write makes a file or link under a temporary name.
func (a *applier) write(e *entry, temp string) error {
	if e.Kind == 'l' {
		return a.root.Symlink(e.Link, temp)
	}
	f, err := a.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = a.o.fetch(a.ctx, e.Hash, e.Size, f)
	return errors.Join(err, f.Close(), a.root.Chmod(temp, fs.FileMode(e.Perm)))
}
