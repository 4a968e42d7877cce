package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// Restore returns the workspace to its state at the checkpoint id. So that nothing is lost, it
// first takes a snapshot of the current state. It returns the id of that checkpoint, even if the
// restore then fails half-way. Ignored files are not removed; if a restore would have to remove one
// to make room, it changes nothing.
func (s *Store) Restore(ctx context.Context, id string) (undo string, err error) {
	err = s.locked(ctx, func() error {
		if err := s.readLog(); err != nil {
			return err
		}
		to, err := s.find(id)
		if err != nil {
			return err
		}
		target, err := s.getManifest(to.tree)
		if err != nil {
			return err
		}
		now, err := s.scan(ctx, paths(target))
		if err != nil {
			return err
		}
		before, err := s.keep(now, "before the restore of "+to.title())
		if err != nil {
			return err
		}
		undo = before.id.String()
		if err := s.apply(ctx, now, target); err != nil {
			return err
		}
		_, err = s.append(event{kind: kindRestore, tree: to.tree, key: to.key, label: "restored " + to.title(), files: to.files, notes: to.notes})
		return err
	})
	return undo, err
}

// Undo restores the workspace to the last recorded state that differs from it, and returns the id
// of that checkpoint. It first records the changes since then, so that [Store.Redo] can restore
// them. It returns [ErrNothingToUndo] if there is no such state.
func (s *Store) Undo(ctx context.Context) (id string, err error) {
	return s.step(ctx, func(v view) (event, bool, error) {
		switch {
		case v.here == nil:
			return event{}, false, ErrNothingToUndo
		case !v.same:
			_, err := s.keep(v.now, "before an undo")
			return v.states[v.at], true, err
		case v.earlier < 0:
			return event{}, false, ErrNothingToUndo
		}
		return v.states[v.earlier], false, nil
	})
}

// Redo reverses the last [Store.Undo] and returns the id of the checkpoint that it restored. It
// returns [ErrNothingToRedo] if there is none, or if the workspace has changed since, because
// redoing would then lose the change.
func (s *Store) Redo(ctx context.Context) (id string, err error) {
	return s.step(ctx, func(v view) (event, bool, error) {
		switch {
		case v.later < 0:
			return event{}, false, ErrNothingToRedo
		case !v.same:
			return event{}, false, fmt.Errorf("%w: the workspace changed since; take a Snapshot to keep that, then Restore", ErrNothingToRedo)
		}
		return v.states[v.later], false, nil
	})
}

// A view holds what is needed to choose a step along the timeline.
type view struct {
	states         []event
	at             int // current position in the timeline, or -1
	earlier, later int // the nearest states that differ from the one at the position, or -1
	here, now      *manifest
	same           bool // the workspace matches the state at the position
}

// look reads the workspace together with every path in the states that a step may go to, so that
// everything that would be overwritten is known.
func (s *Store) look(ctx context.Context) (v view, err error) {
	v.states, v.at = s.timeline()
	v.earlier, v.later = -1, -1
	if v.at < 0 {
		return v, nil
	}
	key := v.states[v.at].key
	for v.earlier = v.at - 1; v.earlier >= 0 && v.states[v.earlier].key == key; v.earlier-- {
	}
	for v.later = v.at + 1; v.later < len(v.states) && v.states[v.later].key == key; v.later++ {
	}
	if v.later == len(v.states) {
		v.later = -1
	}
	var known []string
	for _, i := range []int{v.at, v.earlier, v.later} {
		if i < 0 {
			continue
		}
		m, err := s.getManifest(v.states[i].tree)
		if err != nil {
			return v, err
		}
		known = append(known, paths(m)...)
		if i == v.at {
			v.here = m
		}
	}
	if v.now, err = s.scan(ctx, known); err != nil {
		return v, err
	}
	clear(v.now.absent) // the workspace is recorded as a separate state, not for returning to after a restore
	v.same = v.now.same(v.here)
	return v, nil
}

// step moves along the timeline to the state that choose returns; the result kept of choose reports
// whether it recorded the workspace before.
func (s *Store) step(ctx context.Context, choose func(view) (to event, kept bool, err error)) (id string, err error) {
	err = s.locked(ctx, func() error {
		if err := s.readLog(); err != nil {
			return err
		}
		v, err := s.look(ctx)
		if err != nil {
			return err
		}
		to, kept, err := choose(v)
		if err != nil {
			return err
		}
		target, err := s.getManifest(to.tree)
		if err != nil {
			return err
		}
		if !kept {
			if err := wouldLose(v, target); err != nil {
				return err
			}
		}
		if err := s.apply(ctx, v.now, target); err != nil {
			return err
		}
		id = to.id.String()
		_, err = s.append(event{kind: kindMove, tree: to.tree, key: to.key, position: to.id, label: "moved to " + to.title(), files: to.files})
		return err
	})
	return id, err
}

// wouldLose returns an error if a step would overwrite a file that neither state has, because the
// file is now ignored.
func wouldLose(v view, target *manifest) error {
	here, want := byPath(v.here), byPath(target)
	for _, f := range v.now.files {
		if _, known := here[f.path]; !known && v.now.forced[f.path] {
			if g, ok := want[f.path]; ok && g.hash != f.hash {
				return fmt.Errorf("checkpoint: restore %s: an ignored file of that name is in the way and would be lost; move it away, or use Restore", f.path)
			}
		}
	}
	return nil
}

func paths(m *manifest) []string {
	out := make([]string, len(m.files))
	for i, f := range m.files {
		out[i] = f.path
	}
	return out
}

// A change moves the workspace from one state (now), which was just recorded, to another (to).
type change struct {
	*Store
	ctx      context.Context
	now, to  *manifest
	from     map[string]file // files of the state now
	want     map[string]file // files of the state to
	keepDirs map[string]bool // directories of the state to
}

// apply changes the workspace from the state now to the state to.
func (s *Store) apply(ctx context.Context, now, to *manifest) error {
	c := &change{Store: s, ctx: ctx, now: now, to: to, from: byPath(now), want: byPath(to), keepDirs: to.holds()}
	var write []file
	for _, f := range to.files {
		if g, ok := c.from[f.path]; !ok || g.hash != f.hash || g.mode.Type() != f.mode.Type() {
			write = append(write, f)
		} else if f.mode.IsRegular() && g.mode.Perm() != f.mode.Perm() {
			err := s.changing(ctx, func() error { return s.root.Chmod(filepath.FromSlash(f.path), f.mode.Perm()) })
			if err != nil {
				return fmt.Errorf("checkpoint: restore %s: %w", f.path, err)
			}
		}
	}
	err := s.viewing(ctx, func() error {
		for _, f := range write {
			if err := c.hasRoom(f); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range write {
		if err := c.ctx.Err(); err != nil {
			return fmt.Errorf("checkpoint: restore: %w; the state before it is in List", err)
		}
		if err := c.write(f); err != nil {
			return err
		}
	}
	return s.changing(ctx, func() error {
		if err := c.removeOld(); err != nil {
			return err
		}
		return c.directories()
	})
}

func byPath(m *manifest) map[string]file {
	by := make(map[string]file, len(m.files))
	for _, f := range m.files {
		by[f.path] = f
	}
	return by
}

// hasRoom checks that everything in the way of f is recorded and may therefore be removed.
func (c *change) hasRoom(f file) error {
	if d := c.blocker(f.path); d != "" {
		if _, ok := c.from[d]; !ok {
			return fmt.Errorf("checkpoint: restore %s: %s is in the way, and is not recorded because an ignore rule names it or it is no file; move it away", f.path, d)
		}
		return nil // anything behind it, through a link, is not in the way of f
	}
	fi, err := c.root.Lstat(filepath.FromSlash(f.path))
	if err != nil {
		return nil
	}
	if _, ok := c.from[f.path]; !fi.IsDir() && !ok {
		return fmt.Errorf("checkpoint: restore %s: a %s of that name is in the way; move it away", f.path, kindOf(fi.Mode()))
	}
	if !fi.IsDir() {
		return nil
	}
	return fs.WalkDir(regular.FS(c.root, 0), f.path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("checkpoint: restore %s: a directory is in the way: %w", f.path, err)
		}
		if _, ok := c.from[p]; !ok && !d.IsDir() {
			return fmt.Errorf("checkpoint: restore %s: the directory of that name holds %s, which is not recorded because an ignore rule names it or it is no file; move it away", f.path, p)
		}
		return nil
	})
}

// write puts one file in place: it writes a temporary file in the same directory and renames it.
func (c *change) write(f file) error {
	fail := func(err error) error { return fmt.Errorf("checkpoint: restore %s: %w", f.path, err) }
	content, err := c.blob(f.hash)
	if err == nil {
		err = c.changing(c.ctx, func() error { return c.place(f, content) })
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// place writes a file's content next to where it belongs, and renames it.
func (c *change) place(f file, content []byte) error {
	if err := c.makeRoom(f.path); err != nil {
		return err
	}
	temp := filepath.Join(filepath.FromSlash(path.Dir(f.path)), tempPrefix+f.hash.String()[:12])
	c.root.Remove(temp)
	var err error
	if f.mode&fs.ModeSymlink != 0 {
		err = c.root.Symlink(string(content), temp)
	} else {
		err = c.writeTemp(temp, content, f.mode.Perm())
	}
	if err == nil {
		err = c.root.Rename(temp, filepath.FromSlash(f.path))
	}
	if err != nil {
		c.root.Remove(temp)
	}
	return err
}

// writeTemp writes a new file and reads it back to check it.
func (c *change) writeTemp(name string, content []byte, perm fs.FileMode) error {
	w, err := c.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if _, err = w.Write(content); err == nil {
		back := make([]byte, len(content))
		if _, err = w.ReadAt(back, 0); err == nil || errors.Is(err, io.EOF) {
			err = nil
			if !bytes.Equal(back, content) {
				err = errors.New("what was written does not read back the same; is the disk failing?")
			}
		}
	}
	return errors.Join(err, w.Chmod(perm), w.Close())
}

// unchanged returns an error if a file was written after it was recorded.
func (c *change) unchanged(p string) error {
	f, ok := c.from[p]
	fi, err := c.root.Lstat(filepath.FromSlash(p))
	switch {
	case !ok && (err != nil || fi.IsDir()), errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !ok || f.stat != stampOf(fi):
		return errors.New("it was changed during the restore; restore again")
	}
	return nil
}

// blocker returns the topmost directory of p that is now something else, such as a link, or "".
func (s *Store) blocker(p string) string {
	for i, ch := range p {
		if ch != '/' {
			continue
		}
		fi, err := s.root.Lstat(filepath.FromSlash(p[:i]))
		if err != nil {
			return ""
		}
		if !fi.IsDir() {
			return p[:i]
		}
	}
	return ""
}

// makeRoom removes whatever is in the place of p or of a directory above it; hasRoom has checked
// that all of that is recorded.
func (c *change) makeRoom(p string) error {
	if d := c.blocker(p); d != "" {
		if err := c.unchanged(d); err != nil {
			return err
		}
		if err := c.root.Remove(filepath.FromSlash(d)); err != nil {
			return err
		}
	}
	if err := c.unchanged(p); err != nil {
		return err
	}
	if err := c.root.MkdirAll(filepath.FromSlash(path.Dir(p)), 0o755); err != nil {
		return err
	}
	if fi, err := c.root.Lstat(filepath.FromSlash(p)); err == nil && fi.IsDir() {
		return c.root.RemoveAll(filepath.FromSlash(p))
	}
	return nil
}

// removeOld removes the files that are not in the target state (c.to). Ignore files are removed
// first, so that the remaining files are checked against the ignore rules of the target state.
func (c *change) removeOld() error {
	var old []string
	for _, f := range c.now.files {
		if _, ok := c.want[f.path]; !ok && !c.to.isSkipped(f.path) {
			old = append(old, f.path)
		}
	}
	isRule := func(p string) bool { return path.Base(p) == ".gitignore" }
	for _, p := range old {
		if isRule(p) {
			if err := c.remove(p); err != nil {
				return err
			}
		}
	}
	rules := c.rules()
	for _, p := range old {
		if isRule(p) || rules.Match(p, false) && !c.to.absent[p] {
			continue
		}
		if err := c.remove(p); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) remove(p string) error {
	if c.blocker(p) != "" {
		return nil // its directory has already become something else
	}
	if fi, err := c.root.Lstat(filepath.FromSlash(p)); err == nil && fi.IsDir() {
		return nil // already replaced with a directory of the target state
	}
	err := c.unchanged(p)
	if err == nil {
		err = c.root.Remove(filepath.FromSlash(p))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checkpoint: restore: remove %s: %w", p, err)
	}
	return nil
}

// directories removes empty directories that the state to does not have, creates the empty
// directories of that state, and sets permissions.
func (c *change) directories() error {
	gone := map[string]bool{}
	for d := range c.now.holds() {
		if !c.keepDirs[d] {
			gone[d] = true
		}
	}
	deepFirst := sortedKeys(gone)
	slices.SortStableFunc(deepFirst, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, d := range deepFirst {
		if fi, err := c.root.Lstat(filepath.FromSlash(d)); err == nil && fi.IsDir() && c.blocker(d) == "" {
			c.root.Remove(filepath.FromSlash(d)) // fails if it contains ignored files, so that the directory stays
		}
	}
	for _, d := range sortedKeys(c.to.dirs) {
		name := filepath.FromSlash(d)
		if c.to.empty[d] {
			if err := c.root.MkdirAll(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("checkpoint: restore directory %s: %w", d, err)
			}
		}
		if fi, err := c.root.Lstat(name); err == nil && fi.IsDir() && fi.Mode().Perm() != c.to.dirs[d].Perm() {
			if err := c.root.Chmod(name, c.to.dirs[d].Perm()); err != nil {
				return fmt.Errorf("checkpoint: restore directory %s: %w", d, err)
			}
		}
	}
	return nil
}
