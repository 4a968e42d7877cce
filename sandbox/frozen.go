package sandbox

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/luthier-dev/luthier/sandbox/internal/scratch"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// frozen is a directory that is no longer written and that several workspaces use as a layer. It is
// removed with the last of these workspaces.
type frozen struct {
	tree.Dir
	home string       // private directory that contains it
	lock *os.File     // marks it as in use, so that a sweep leaves it alone
	refs atomic.Int32 // number of workspaces
}

// newFrozen makes the private directory below dir. The caller sets the path.
func newFrozen(dir string) (*frozen, error) {
	home, lock, err := scratch.New(dir, "layer-")
	if err != nil {
		return nil, err
	}
	f := &frozen{home: home, lock: lock}
	f.refs.Store(1)
	return f, nil
}

func (f *frozen) share() *frozen {
	f.refs.Add(1)
	return f
}

func (f *frozen) release() error {
	if f.refs.Add(-1) > 0 {
		return nil
	}
	err := tree.Remove(f.home)
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// state lists the directories that made up the workspace at a point, newest first.
func (ws *workspace) state(at Point) []tree.Dir {
	var out []tree.Dir
	if at == AtFork {
		for i := len(ws.frozen) - 1; i >= 0; i-- {
			out = append(out, ws.frozen[i].Dir)
		}
	}
	return append(out, tree.Dir{Path: ws.lower, Full: true})
}

// beginning lists the directories that made up a fork when it was made, newest first, and returns
// how many of those that make it up now are newer.
func (ws *workspace) beginning() (was []tree.Dir, newer int) {
	for _, f := range slices.Backward(ws.began) {
		was = append(was, f.Dir)
	}
	was = append(was, tree.Dir{Path: ws.lower, Full: true})
	if !ws.overlay {
		return was, 1
	}
	same := 0
	for same < min(len(ws.began), len(ws.frozen)) && ws.began[same] == ws.frozen[same] {
		same++
	}
	return was, 1 + len(ws.frozen) - same
}

// now lists the directories that make up the workspace, newest first.
func (ws *workspace) now() []tree.Dir {
	if !ws.overlay {
		return []tree.Dir{{Path: ws.source, Full: true}}
	}
	return append([]tree.Dir{{Path: ws.upper()}}, ws.state(AtFork)...)
}

func (ws *workspace) upper() string { return ws.sub(scratchLayer + "/upper") }

// below lists the frozen layers of an overlay, newest first.
func (ws *workspace) below() []string {
	var out []string
	for _, d := range ws.state(AtFork) {
		if !d.Full {
			out = append(out, d.Path)
		}
	}
	return out
}

// untouched reports whether commands have changed nothing since the last fork. It can only detect
// that for an overlay.
func (ws *workspace) untouched() (bool, error) {
	if !ws.overlay {
		return false, nil
	}
	entries, err := os.ReadDir(ws.upper())
	return len(entries) == 0, err
}

// freeze turns the changes into a separate layer. No command may run on the workspace, which must
// be opened again afterwards.
func (ws *workspace) freeze(dir string) error {
	f, err := newFrozen(ws.place(dir))
	if err != nil {
		return err
	}
	if ws.overlay {
		f.Path = filepath.Join(f.home, "upper")
		if err = os.Rename(ws.upper(), f.Path); err == nil {
			err = ws.clear()
		}
	} else {
		f.Path, f.Full = filepath.Join(f.home, "tree"), true
		err = tree.Copy(ws.source, f.Path, ws.owner)
	}
	if err != nil {
		return errors.Join(err, f.release())
	}
	if !f.Full {
		ws.frozen = append(ws.frozen, f)
		return nil
	}
	older := ws.frozen // a full copy replaces them
	ws.frozen = []*frozen{f}
	return releaseAll(older)
}

// clear makes an overlay's upper and work directories empty.
func (ws *workspace) clear() error {
	if err := tree.Remove(ws.sub(scratchLayer)); err != nil {
		return err
	}
	return ws.makeLayer()
}

// reset returns to a point. No command may run on the workspace.
func (ws *workspace) reset(to Point) error {
	var err error
	if to == AtSnapshot {
		for _, f := range ws.frozen {
			err = errors.Join(err, f.release())
		}
		ws.frozen = nil
	}
	if ws.overlay {
		return errors.Join(err, ws.clear())
	}
	if err := errors.Join(err, tree.Remove(ws.source)); err != nil {
		return err
	}
	ws.source = ""
	return ws.copyOut()
}

// fork returns a second workspace over the same state. The last changes must have been frozen, or
// there must be none.
func (ws *workspace) fork(dir string) (*workspace, error) {
	out := &workspace{dir: ws.dir, origin: ws.origin, lineage: ws.lineage + "." + strings.ToLower(rand.Text()), lower: ws.lower, readOnly: ws.readOnly, overlay: ws.overlay, owner: ws.owner, opened: ws.opened, disk: ws.disk.share(), diskLess: ws.diskLess}
	if err := out.makeScratch(ws.place(dir)); err != nil {
		return nil, errors.Join(err, out.remove())
	}
	for _, f := range ws.frozen {
		out.frozen, out.began = append(out.frozen, f.share()), append(out.began, f.share())
	}
	if ws.base != nil {
		out.base = ws.base.share()
	}
	if ws.overlay {
		if err := out.makeLayer(); err != nil {
			return nil, errors.Join(err, out.remove())
		}
		return out, nil
	}
	if err := out.copyOut(); err != nil {
		return nil, errors.Join(err, out.remove())
	}
	return out, nil
}

// maxFrozen is the most layers that a workspace may have between its changes and its snapshot. The
// kernel allows 500, but every lookup of a missing name searches each.
const maxFrozen = 16

// flatten merges the frozen layers into one when there are too many. It links files instead of
// copying them, so its cost is proportional to the number of changed files.
func (ws *workspace) flatten(dir string) error {
	if len(ws.frozen) <= maxFrozen {
		return nil
	}
	old := ws.frozen
	var dirs []tree.Dir
	for i := len(old) - 1; i >= 0; i-- {
		dirs = append(dirs, old[i].Dir)
	}
	f, err := newFrozen(ws.place(dir))
	if err != nil {
		return err
	}
	f.Path = filepath.Join(f.home, "upper")
	if err := tree.Merge(dirs, f.Path); err != nil {
		// Ignore the failure: a deeper stack is only slower, and the kernel's limit is far off.
		_ = f.release()
		if len(ws.frozen) < 8*maxFrozen {
			return nil
		}
		return err
	}
	ws.frozen = []*frozen{f}
	return releaseAll(old)
}

func releaseAll(layers []*frozen) error {
	var err error
	for _, f := range layers {
		err = errors.Join(err, f.release())
	}
	return err
}
