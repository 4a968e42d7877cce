package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// workspace is the files side of a sandbox: where its tree comes from and what
// the sandbox keeps on the host.
type workspace struct {
	dir      string // as commands see it
	lower    string // the snapshot's state on the host; empty when in place
	source   string // the directory commands change, empty while only an overlay is planned
	scratch  string // private directory, removed on Close
	readOnly bool
	overlay  bool // changes are in scratch/layer/upper over lower
	owner    *owner
}

// owner is the user that private files must belong to when it is not ours.
type owner struct{ uid, gid int }

// The parts of a scratch directory.
const (
	scratchTmp   = "tmp"   // private /tmp
	scratchHome  = "home"  // private home
	scratchLayer = "layer" // overlay's upper and work directories
	scratchCache = "cache" // upper and work directories of tool chain caches
	scratchWork  = "work"  // copy of the snapshot
	scratchBase  = "base"  // checked-out commit
)

// openWorkspace resolves the starting state and makes the scratch directory.
func openWorkspace(ctx context.Context, cfg *Config) (*workspace, error) {
	ws := &workspace{dir: cfg.Dir, source: cfg.Dir, readOnly: cfg.ReadOnlyDir}
	scratch, err := os.MkdirTemp(cfg.ScratchDir, "luthier-sandbox-*")
	if err != nil {
		return nil, err
	}
	ws.scratch = scratch
	for _, d := range []string{scratchTmp, scratchHome, scratchLayer + "/upper", scratchLayer + "/work", scratchCache} {
		if err := os.MkdirAll(filepath.Join(scratch, d), 0o700); err != nil {
			return nil, errors.Join(err, ws.remove())
		}
	}
	// As /tmp is everywhere; nobody else reaches it through the directory above.
	if err := os.Chmod(ws.sub(scratchTmp), 0o777|os.ModeSticky); err != nil {
		return nil, errors.Join(err, ws.remove())
	}
	if !cfg.Snapshot.isZero() {
		if err := ws.openSnapshot(ctx, cfg.Snapshot); err != nil {
			return nil, errors.Join(err, ws.remove())
		}
	}
	return ws, nil
}

func (ws *workspace) openSnapshot(ctx context.Context, snap Snapshot) error {
	dir, err := resolveDir("Config.Snapshot", snap.dir)
	if err != nil {
		return err
	}
	ws.dir, ws.lower = dir, dir
	if snap.rev == "" {
		return nil
	}
	ws.lower = filepath.Join(ws.scratch, scratchBase)
	if err := os.Mkdir(ws.lower, 0o755); err != nil {
		return err
	}
	return Snapshot{dir: dir, rev: snap.rev}.checkout(ctx, ws.lower)
}

func (ws *workspace) inPlace() bool { return ws.lower == "" }

// copyOut makes a private copy of the snapshot where no overlay can be had.
func (ws *workspace) copyOut() error {
	if ws.inPlace() || ws.source != "" {
		return nil
	}
	work := filepath.Join(ws.scratch, scratchWork)
	if err := copyTree(ws.lower, work, ws.owner); err != nil {
		return fmt.Errorf("copy snapshot: %w", err)
	}
	ws.source = work
	return nil
}

// materialize prepares the workspace for commands that share the host's view
// of the file system: they see the copy where it lies.
func (ws *workspace) materialize() error {
	ws.owner, ws.overlay = nil, false
	if err := ws.copyOut(); err != nil {
		return err
	}
	ws.dir = ws.source
	return nil
}

func (ws *workspace) sub(part string) string { return filepath.Join(ws.scratch, part) }

// own gives the scratch directories to the user commands run as.
func (ws *workspace) own(o *owner) error {
	ws.owner = o
	if o == nil {
		return nil
	}
	return filepath.WalkDir(ws.scratch, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == ws.scratch {
			return nil // stays ours: nobody else has business on this path
		}
		if d.IsDir() && p == ws.sub(scratchBase) {
			return filepath.SkipDir // reached through an id-mapped mount
		}
		return os.Lchown(p, o.uid, o.gid)
	})
}

// remove deletes the scratch directory, whatever modes commands left in it.
func (ws *workspace) remove() error {
	if ws == nil || ws.scratch == "" {
		return nil
	}
	err := os.RemoveAll(ws.scratch)
	if err == nil {
		return nil
	}
	// An overlay's work directory has mode 0, and so may have what commands made.
	_ = filepath.WalkDir(ws.scratch, func(p string, d os.DirEntry, err error) error {
		if d == nil || !d.IsDir() {
			return nil
		}
		if fi, statErr := os.Lstat(p); statErr == nil && fi.IsDir() && fi.Mode().Perm()&0o700 != 0o700 {
			_ = os.Chmod(p, 0o700)
			if err != nil { // WalkDir could not read it: do so now
				return forceRemove(p)
			}
		}
		return nil
	})
	return os.RemoveAll(ws.scratch)
}

// forceRemove opens every directory below dir for its owner, then removes it.
func forceRemove(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			p := filepath.Join(dir, e.Name())
			_ = os.Chmod(p, 0o700)
			_ = forceRemove(p)
		}
	}
	return os.RemoveAll(dir)
}
