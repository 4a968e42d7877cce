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

// workspace is the file part of a sandbox: the source of its tree, and what the sandbox keeps on
// the host.
type workspace struct {
	dir      string    // path as commands see it
	origin   string    // the snapshot's path on the host; empty when in place
	lineage  string    // of a fork: what its tree's ID has besides that of the origin
	lower    string    // the snapshot's state on the host; empty when in place
	frozen   []*frozen // layers over lower that forks share, oldest first
	began    []*frozen // of a fork: what frozen was when it was made
	base     *base     // holds lower, unless that is a directory of the host
	opened   time.Time
	source   string // the directory commands change, empty while only an overlay is planned
	scratch  string // private directory, removed on Close
	readOnly bool
	wall     *wall // what commands cannot change in place; nil if there is nothing, or no mounts
	overlay  bool  // changes go to scratch/layer/upper, over lower
	owner    *tree.Owner
	owned    bool     // own has processed scratch
	layer    string   // fingerprint of the overlay's upper directory before it was used
	layered  bool     // an earlier workspace in scratch left the directories of an overlay, unused
	lock     *os.File // marks scratch as in use, so that a sweep leaves it alone
	disk     *disk    // limited disk that holds scratch; nil if scratch is on the host's
	diskLess error    // why there is no disk although one was requested
}

// The parts of a scratch directory.
const (
	scratchTmp   = "tmp"   // private /tmp
	scratchHome  = "home"  // private home
	scratchLayer = "layer" // overlay's upper and work directories
	scratchCache = "cache" // upper and work directories of tool chain caches
	scratchWork  = "work"  // copy of the snapshot
	scratchMasks = "masks" // directories mounted over those that commands cannot pass
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
	// The usual permissions of /tmp; nobody else can pass the directory above it.
	if err := os.Chmod(ws.sub(scratchTmp), 0o777|os.ModeSticky); err != nil {
		return errors.Join(err, ws.remove())
	}
	return nil
}

// makeLayer makes the directories of the overlay that receives changes.
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
	return ws.likeTop()
}

// likeTop sets the mode of the overlay's top to that of the directory below. The owner keeps all
// rights there.
func (ws *workspace) likeTop() error {
	if ws.lower == "" {
		return nil // it is not known yet
	}
	fi, err := os.Stat(ws.state(AtFork)[0].Path)
	if err != nil {
		return err
	}
	const kept = os.ModePerm | os.ModeSetgid | os.ModeSticky
	return os.Chmod(ws.upper(), fi.Mode()&kept|0o700)
}

func (ws *workspace) openSnapshot(ctx context.Context, cfg *Config) error {
	if !ws.layered {
		if err := ws.makeLayer(); err != nil {
			return err
		}
	}
	dir, err := resolveDir("Config.Snapshot", cfg.Snapshot.dir)
	if err != nil {
		return err
	}
	if cfg.Snapshot, err = cfg.Snapshot.fix(); err != nil {
		return err
	}
	snap := cfg.Snapshot
	ws.dir, ws.origin, ws.lower, ws.opened = dir, dir, dir, time.Now()
	if snap.rev == "" {
		return ws.likeTop()
	}
	snap.dir = dir
	ws.base, err = openBase(ctx, snap, cfg)
	if err != nil {
		return err
	}
	ws.lower = ws.base.path
	return ws.likeTop()
}

// asNew reports whether nothing was ever changed in the overlay's upper directory.
func (ws *workspace) asNew() bool { return ws.layer != "" && fingerprintOf(ws.upper()) == ws.layer }

// key identifies the directory below an overlay and that directory's own state. It returns "" if
// mounts of it cannot be distinguished.
func (ws *workspace) key() string {
	fi, err := os.Lstat(ws.lower)
	if err != nil || len(ws.frozen) > 0 {
		return ""
	}
	return fmt.Sprintf("%q over %q %s", ws.dir, ws.lower, fileState(fi))
}

// rewind releases the snapshot, so that another can use the same scratch directory; asNew is the
// result of asNew after the last command.
func (ws *workspace) rewind(asNew bool) error {
	err := ws.letGo()
	ws.dir, ws.origin, ws.lower, ws.overlay, ws.layered = "", "", "", false, true
	if !asNew {
		err = errors.Join(err, ws.clear())
	}
	return err
}

func (ws *workspace) inPlace() bool { return ws.lower == "" }

// copyOut makes a private copy of the snapshot if no overlay is available.
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

// materialize prepares the workspace for commands that share the host's view of the file system:
// they see the copy at its real path.
func (ws *workspace) materialize(cfg *Config) error {
	if err := ws.unlimit(cfg); err != nil {
		return err
	}
	ws.owner, ws.overlay, ws.wall = nil, false, nil
	if err := ws.copyOut(); err != nil {
		return err
	}
	ws.dir = ws.source
	return nil
}

func (ws *workspace) sub(part string) string { return filepath.Join(ws.scratch, part) }

// own makes the user that commands run as the owner of the scratch directories.
func (ws *workspace) own(o *tree.Owner) error {
	copied := ws.owner == nil && ws.source == ws.sub(scratchWork) // copied before an owner was known
	ws.owner = o
	if o == nil || ws.owned {
		return nil // at a second start everything has its owner, except new directories, which are made with it
	}
	ws.owned = true
	parts := []string{scratchTmp, scratchHome}
	if !ws.inPlace() {
		parts = append(parts, scratchLayer, scratchLayer+"/upper", scratchLayer+"/work")
	}
	// The directories above stay ours: nobody else may enter them.
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

// remove deletes the scratch directory and releases what the workspace shared.
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
	err = errors.Join(releaseAll(ws.frozen), releaseAll(ws.began))
	ws.frozen, ws.began = nil, nil
	if ws.base != nil {
		err = errors.Join(err, ws.base.release())
		ws.base = nil
	}
	return err
}

// copyBase copies the workspace's starting state to dst.
func (ws *workspace) copyBase(dst string) error {
	return tree.CopyLayers(ws.state(AtFork), dst, ws.owner)
}
