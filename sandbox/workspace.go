package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/scratch"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// workspace is the files side of a sandbox: where its tree comes from and what
// the sandbox keeps on the host.
type workspace struct {
	dir      string    // as commands see it
	origin   string    // the snapshot as the host knows it; empty when in place
	lower    string    // the snapshot's state on the host; empty when in place
	frozen   []*frozen // layers over lower that forks share, oldest first
	base     *base     // keeps lower, when it is no directory of the host's
	opened   time.Time
	source   string // the directory commands change, empty while only an overlay is planned
	scratch  string // private directory, removed on Close
	readOnly bool
	overlay  bool // changes are in scratch/layer/upper over lower
	owner    *tree.Owner
	owned    bool     // own has been through scratch
	layer    string   // fingerprint of the overlay's upper directory before it was used
	layered  bool     // an earlier workspace in scratch left an overlay's directories, unused
	lock     *os.File // tells a janitor that scratch is in use
	disk     *disk    // of limited size, that scratch is on; nil where it is the host's
	diskLess error    // why there is none, though it was asked for
}

// The parts of a scratch directory.
const (
	scratchTmp   = "tmp"   // private /tmp
	scratchHome  = "home"  // private home
	scratchLayer = "layer" // overlay's upper and work directories
	scratchCache = "cache" // upper and work directories of tool chain caches
	scratchWork  = "work"  // copy of the snapshot
)

// openWorkspace resolves the starting state and makes the scratch directory.
func openWorkspace(ctx context.Context, cfg *Config) (*workspace, error) {
	ws := &workspace{dir: cfg.Dir, source: cfg.Dir, readOnly: cfg.ReadOnlyDir, opened: time.Now()}
	if err := ws.makeScratch(cfg.ScratchDir); err != nil {
		return nil, err
	}
	if !cfg.Snapshot.isZero() {
		if err := ws.openSnapshot(ctx, cfg); err != nil {
			return nil, errors.Join(err, ws.remove())
		}
	}
	return ws, nil
}

// makeScratch makes the private directory with all its parts.
func (ws *workspace) makeScratch(dir string) error {
	var err error
	if ws.scratch, ws.lock, err = scratch.New(dir, ""); err != nil {
		return err
	}
	for _, d := range []string{scratchTmp, scratchHome, scratchCache} {
		if err := os.Mkdir(ws.sub(d), 0o700); err != nil {
			return errors.Join(err, ws.remove())
		}
	}
	// As /tmp is everywhere; nobody else reaches it through the directory above.
	if err := os.Chmod(ws.sub(scratchTmp), 0o777|os.ModeSticky); err != nil {
		return errors.Join(err, ws.remove())
	}
	return nil
}

// makeLayer makes the directories of the overlay that changes go to.
func (ws *workspace) makeLayer() error {
	layer := ws.sub(scratchLayer)
	for _, d := range []string{layer, layer + "/upper", layer + "/work"} {
		err := os.Mkdir(d, 0o700)
		if err == nil && ws.owner != nil {
			err = os.Lchown(d, ws.owner.UID, ws.owner.GID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (ws *workspace) openSnapshot(ctx context.Context, cfg *Config) error {
	if !ws.layered {
		if err := ws.makeLayer(); err != nil {
			return err
		}
	}
	snap := cfg.Snapshot
	dir, err := resolveDir("Config.Snapshot", snap.dir)
	if err != nil {
		return err
	}
	ws.dir, ws.origin, ws.lower, ws.opened = dir, dir, dir, time.Now()
	if snap.rev == "" {
		return nil
	}
	snap.dir = dir
	ws.base, err = openBase(ctx, snap, cfg)
	if err != nil {
		return err
	}
	ws.lower = ws.base.path
	return nil
}

// asNew reports whether nothing was ever changed in the overlay's upper directory.
func (ws *workspace) asNew() bool { return ws.layer != "" && fingerprintOf(ws.upper()) == ws.layer }

// key names the directory below an overlay and the state that it is in itself, or is
// "" if a mount of it cannot be told from another.
func (ws *workspace) key() string {
	fi, err := os.Lstat(ws.lower)
	if err != nil || len(ws.frozen) > 0 {
		return ""
	}
	return fmt.Sprintf("%q over %q %s", ws.dir, ws.lower, fileState(fi))
}

// rewind lets go of the snapshot, so that there can be another over the same scratch
// directory; asNew is what asNew said after the last command.
func (ws *workspace) rewind(asNew bool) error {
	err := ws.letGo()
	if !asNew {
		err = errors.Join(err, ws.clear())
	}
	ws.dir, ws.origin, ws.lower, ws.overlay, ws.layered = "", "", "", false, true
	return err
}

func (ws *workspace) inPlace() bool { return ws.lower == "" }

// copyOut makes a private copy of the snapshot where no overlay can be had.
func (ws *workspace) copyOut() error {
	if ws.inPlace() || ws.source != "" {
		return nil
	}
	work := filepath.Join(ws.scratch, scratchWork)
	if err := ws.copyBase(work); err != nil {
		return fmt.Errorf("copy snapshot: %w", err)
	}
	ws.source = work
	return nil
}

// materialize prepares the workspace for commands that share the host's view
// of the file system: they see the copy where it lies.
func (ws *workspace) materialize(cfg *Config) error {
	if err := ws.unlimit(cfg); err != nil {
		return err
	}
	ws.owner, ws.overlay = nil, false
	if err := ws.copyOut(); err != nil {
		return err
	}
	ws.dir = ws.source
	return nil
}

func (ws *workspace) sub(part string) string { return filepath.Join(ws.scratch, part) }

// own gives the scratch directories to the user commands run as.
func (ws *workspace) own(o *tree.Owner) error {
	copied := ws.owner == nil && ws.source == ws.sub(scratchWork) // by someone who knew no owner
	ws.owner = o
	if o == nil || ws.owned {
		return nil // at a second start all but new directories, made as theirs, is so already
	}
	ws.owned = true
	parts := []string{scratchTmp, scratchHome}
	if !ws.inPlace() {
		parts = append(parts, scratchLayer, scratchLayer+"/upper", scratchLayer+"/work")
	}
	// What lies above stays ours: nobody else has business on this path.
	for _, d := range parts {
		if err := os.Lchown(ws.sub(d), o.UID, o.GID); err != nil {
			return err
		}
	}
	if copied {
		if err := o.Take(ws.source); err != nil {
			return err
		}
	}
	return o.Take(ws.sub(scratchCache))
}

// remove deletes the scratch directory and lets go of what it shared.
func (ws *workspace) remove() error {
	if ws == nil {
		return nil
	}
	var err error
	if ws.scratch != "" && !ws.disk.last() {
		err = tree.Remove(ws.scratch)
	}
	err = errors.Join(err, ws.letGo())
	if ws.lock != nil {
		err = errors.Join(err, ws.lock.Close())
		ws.lock = nil
	}
	err = errors.Join(err, ws.disk.release())
	ws.disk = nil
	return err
}

// letGo releases what the workspace shared with others.
func (ws *workspace) letGo() (err error) {
	for _, f := range ws.frozen {
		err = errors.Join(err, f.release())
	}
	ws.frozen = nil
	if ws.base != nil {
		err = errors.Join(err, ws.base.release())
		ws.base = nil
	}
	return err
}

// copyBase copies the state that the workspace starts from to dst.
func (ws *workspace) copyBase(dst string) error {
	return tree.CopyLayers(ws.state(AtFork), dst, ws.owner)
}
