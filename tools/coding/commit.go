package coding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// A change is the new content of one file, or its removal.
type change struct {
	at     target // info is the state on which the change is based; nil for a file that must not exist yet
	was    []byte // the content on which the change is based; nil to compare only info
	data   []byte
	mode   fs.FileMode // of a new file; 0 means 0666 less the umask
	remove bool
}

// commit makes all changes or none. The new contents are first written to temporary files next to
// the targets, then every file is replaced by a rename; if one fails, those before it are restored.
// The caller holds the locks of all paths.
//
// Between the last check of a file and its replacement, other workspaces on the same directory are
// locked out, in this process and in others. A program that does not use that lock has a few
// microseconds to write unnoticed.
//
// A crash leaves every single file either old or new. A crash between the renames of several files
// leaves some of them old and some new, and it leaves temporary files, which later writes remove.
//
// A file that a rename would harm is written in place; the result says so. See inplace.go.
func (w opened) commit(ctx context.Context, changes []change) (note string, err error) {
	if err := w.checkDecided(ctx, changes); err != nil {
		return "", err
	}
	tx := transaction{w: w}
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return "", errors.Join(context.Cause(ctx), tx.rollback())
		}
		if err := tx.stage(c); err != nil {
			return "", errors.Join(fmt.Errorf("%s: %w", show.Path(c.at.rel), err), tx.rollback())
		}
	}
	unlock, err := w.lockTop(ctx)
	if errors.Is(err, errTreeLocked) { // the state of each file is compared all the same
		unlock, err = func() {}, nil
	}
	if err != nil {
		return "", errors.Join(err, tx.rollback())
	}
	defer unlock()
	for i := range tx.staged {
		if err := tx.apply(&tx.staged[i], len(changes) > 1); err != nil {
			return "", errors.Join(fmt.Errorf("%s: %w", show.Path(tx.staged[i].at.rel), err), tx.rollback())
		}
	}
	tx.finish()
	w.tellIndex(changes)
	return strings.Join(tx.notes, "; "), nil
}

// treeLockWait limits the wait for the lock of a sandbox's tree, which its commands may hold for
// ever.
const treeLockWait = 100 * time.Millisecond

// lockTop takes the lock that workspaces on the same directory share.
func (w opened) lockTop(ctx context.Context) (unlock func(), err error) {
	if !w.onHost {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, treeLockWait, errTreeLocked)
		defer cancel()
	}
	return lockRoot(ctx, w.root)
}

var errTreeLocked = errors.New("a command holds the lock of the workspace's directory (flock)")

type transaction struct {
	w      opened
	staged []stagedChange
	dirs   []string // created for new files, outermost first
	notes  []string // for the model
}

type stagedChange struct {
	change
	temp    string // holds the new content until it is in place
	backup  string // holds the old content while others may still fail
	stay    string // why the file is written in place, "" if it is replaced
	old     []byte // the content before it was written in place
	applied bool
}

func (w *Workspace) step(name, rel string) error {
	if w.fault == nil {
		return nil
	}
	return w.fault(name, rel)
}

// stage checks a change and writes its content to a temporary file.
func (tx *transaction) stage(c change) error {
	w := tx.w
	if err := checkWritable(c.at); err != nil {
		return err
	}
	if c.at.info != nil {
		if err := w.checkRegular(c.at); err != nil {
			return err
		}
		if c.at.info.Mode().Perm()&0o222 == 0 {
			return fmt.Errorf("the file is read-only (mode %v); if it really must change, make it writable first", c.at.info.Mode().Perm())
		}
	}
	s := stagedChange{change: c}
	if !c.remove && c.at.info != nil && linkCount(c.at.info) > 1 && w.canStay(c.at) {
		s.stay = "it has other names (hard links)"
		tx.staged = append(tx.staged, s)
		return nil
	}
	if !c.remove {
		if err := tx.makeDirs(path.Dir(c.at.rel)); err != nil {
			return err
		}
		w.sweep(path.Dir(c.at.rel))
		s.temp = tempName(c.at.rel)
	}
	tx.staged = append(tx.staged, s) // before the file is created, so that a rollback finds it
	if c.remove {
		return nil
	}
	err := w.writeTemp(s.temp, c)
	_, different := errors.AsType[*notKept](err)
	switch {
	case c.at.info == nil || err == nil || !different && !mustStay(err):
		return err
	case w.canStay(c.at):
		tx.staged[len(tx.staged)-1].stay = stayReason(err)
		return nil
	case different:
		return nil // the file belongs to somebody else, but its directory is ours
	}
	return err
}

// canStay reports whether a file can be written in place.
func (w opened) canStay(t target) bool {
	f := w.inPlace(t)
	if f == nil {
		return false
	}
	return f.Close() == nil
}

// makeDirs creates dir and its missing parents.
func (tx *transaction) makeDirs(dir string) error {
	var missing []string
	for d := dir; d != "."; d = path.Dir(d) {
		info, err := tx.w.root.Lstat(d)
		if err == nil {
			if !info.IsDir() {
				return fmt.Errorf("%s is not a directory", show.Path(d))
			}
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return show.Cause(err)
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		if err := tx.w.step("mkdir", d); err != nil {
			return err
		}
		err := tx.w.root.Mkdir(d, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue // another call has just created it
		}
		if err != nil {
			return dirError(d, err)
		}
		tx.dirs = append(tx.dirs, d)
	}
	return nil
}

// writeTemp writes c's content under the name temp, with the final permissions of the file, and
// syncs it to disk.
func (w opened) writeTemp(temp string, c change) error {
	mode := fs.FileMode(0o600) // nobody else can read it before it has the old file's permissions
	if c.at.info == nil {
		if mode = c.mode.Perm(); mode == 0 {
			mode = 0o666
		}
	}
	if err := w.step("create", temp); err != nil {
		return err
	}
	f, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return dirError(path.Dir(temp), err)
	}
	err = w.fill(f, temp, c.data)
	var kept error
	if err == nil && c.at.info != nil {
		kept = keepOwner(f, c.at.info)
		err = f.Chmod(c.at.info.Mode().Perm())
		if from, _, ferr := w.openFile(c.at); ferr == nil {
			kept = errors.Join(kept, keepAttributes(from, f))
			from.Close()
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = kept
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return show.Cause(err)
}

// fill writes data. With a fault hook it writes small pieces, so that a test can stop after any of
// them.
func (w opened) fill(f *os.File, temp string, data []byte) error {
	piece := len(data)
	if w.fault != nil {
		piece = max(1, len(data)/8)
	}
	for len(data) > 0 {
		if err := w.step("write", temp); err != nil {
			return err
		}
		n := min(piece, len(data))
		if _, err := f.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return w.step("sync", temp)
}

// apply puts a staged change in place, unless the file has changed since the state that the change
// is based on.
func (tx *transaction) apply(s *stagedChange, keep bool) error {
	w, rel := tx.w, s.at.rel
	existed, err := w.unchanged(s.change)
	if err != nil {
		return err
	}
	if s.stay != "" {
		return tx.overwrite(s, s.stay)
	}
	if existed && keep {
		s.backup = tempName(rel)
		if err := tx.keep(s); err != nil {
			s.backup = ""
			return err
		}
	}
	if err := w.step("rename", rel); err != nil {
		return err
	}
	switch {
	case s.remove:
		err = w.root.Remove(rel)
	case !existed:
		err = w.placeNew(s.temp, rel)
	default:
		if err = w.root.Rename(s.temp, rel); err != nil && mustStay(err) && w.canStay(s.at) {
			return tx.overwrite(s, stayReason(err))
		}
	}
	if err == nil && existed && !s.remove && linkCount(s.at.info) > 1 {
		tx.notes = append(tx.notes, show.Path(rel)+" had other names (hard links), which keep the old content")
	}
	if err != nil {
		return dirError(path.Dir(rel), err)
	}
	s.applied = true
	return nil
}

// unchanged checks that the file still has the state on which the change is based, and reports
// whether it exists. It also compares the content, because a file system clock with a resolution of
// milliseconds can hide a quick change.
func (w opened) unchanged(c change) (existed bool, err error) {
	changed := errors.New("somebody else changed the file just now; read it again and repeat the change")
	now, err := w.root.Lstat(c.at.rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if c.at.info != nil {
			return false, changed
		}
		return false, nil
	case err != nil:
		return false, show.Cause(err)
	case c.at.info == nil || !sameState(now, c.at.info):
		return true, changed
	case c.was == nil:
		return true, nil
	}
	data, _, err := w.readOnce(target{c.at.rel, now}, len(c.was))
	if err != nil || !bytes.Equal(data, c.was) {
		return true, changed
	}
	return true, nil
}

// keep makes a hard link to the old file under a second name. On a file system without hard links
// it makes a copy.
func (tx *transaction) keep(s *stagedChange) error {
	w := tx.w
	if err := w.step("backup", s.at.rel); err != nil {
		return err
	}
	if err := w.root.Link(s.at.rel, s.backup); err == nil {
		return nil
	}
	data, info, err := w.readAll(s.at, int(s.at.info.Size())+1)
	if err != nil {
		return err
	}
	if err := w.writeTemp(s.backup, change{at: target{s.at.rel, info}, data: data}); err != nil {
		_ = w.root.Remove(s.backup)
		return err
	}
	return nil
}

// placeNew moves temp to rel, where nothing may exist. Unlike a rename, a link fails if somebody
// else has created the file first.
func (w opened) placeNew(temp, rel string) error {
	err := w.root.Link(temp, rel)
	if errors.Is(err, fs.ErrExist) {
		return errors.New("somebody else made the file just now; read it first")
	}
	if err != nil {
		return w.root.Rename(temp, rel)
	}
	// rel is complete. If the temporary name cannot be removed, the next sweep removes it.
	_ = w.root.Remove(temp)
	return nil
}

// rollback undoes the applied changes, the latest first, and removes everything temporary.
func (tx *transaction) rollback() error {
	var errs []error
	for _, s := range slices.Backward(tx.staged) {
		if s.temp != "" {
			_ = tx.w.root.Remove(s.temp)
		}
		var err error
		switch {
		case s.applied && s.old != nil:
			err = tx.restore(&s)
			if s.backup != "" {
				_ = tx.w.root.Remove(s.backup)
			}
		case s.applied && s.backup != "":
			err = tx.w.root.Rename(s.backup, s.at.rel)
		case s.applied:
			err = tx.w.root.Remove(s.at.rel)
		case s.backup != "":
			_ = tx.w.root.Remove(s.backup)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s could not be put back: %w; its old content is in %s", show.Path(s.at.rel), show.Cause(err), show.Path(s.backup)))
		}
	}
	for _, d := range slices.Backward(tx.dirs) {
		_ = tx.w.root.Remove(d) // fails if somebody has put a file there, as it should
	}
	return errors.Join(errs...)
}

// finish removes the backups.
func (tx *transaction) finish() {
	for _, s := range tx.staged {
		if s.backup != "" {
			_ = tx.w.root.Remove(s.backup)
		}
	}
}

// dirError explains a failure to change a directory.
func dirError(dir string, err error) error {
	err = show.Cause(err)
	if errors.Is(err, fs.ErrPermission) || isReadOnlyFS(err) {
		return fmt.Errorf("the directory %s cannot be written: %w; nothing was changed", show.Path(dir), err)
	}
	return err
}
