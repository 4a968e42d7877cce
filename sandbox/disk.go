package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// disk is a file system of limited size that holds the private files of a workspace and its forks.
// It has no name on the host and is reached through a descriptor. It disappears with its last user,
// however that one ends.
type disk struct {
	dir    string // a path through its descriptor, valid only in this process
	root   *os.File
	key    string // its name in the broker that made it
	size   int64  // bytes, as reported by the file system
	inodes int64
	refs   atomic.Int32
	done   func()
}

func (d *disk) share() *disk {
	if d != nil {
		d.refs.Add(1)
	}
	return d
}

// last reports whether this is the disk's only user, so that its whole content goes away with it.
func (d *disk) last() bool { return d != nil && d.refs.Load() == 1 }

// release ends one use.
func (d *disk) release() error {
	if d == nil || d.refs.Add(-1) > 0 {
		return nil
	}
	d.done()
	return d.root.Close()
}

// keyed translates a path through the descriptor into one that the disk's maker understands. Other
// paths are returned unchanged.
func (d *disk) keyed(path string) string {
	if d == nil {
		return path
	}
	if rest, ok := strings.CutPrefix(path, d.dir+string(filepath.Separator)); ok {
		return d.key + "/" + rest
	}
	return path
}

// place returns the directory for private files: the disk if there is one, otherwise dir.
func (ws *workspace) place(dir string) string {
	if ws.disk != nil {
		return ws.disk.dir
	}
	return dir
}

// limit moves an unused workspace to a disk of its own, if the limits ask for one. If no disk is
// available, that is not an error: diskLess records why.
func (ws *workspace) limit(ctx context.Context, cfg *Config) error {
	if cfg.Limits.Disk <= 0 || ws.disk != nil || ws.diskLess != nil {
		return nil
	}
	d, err := makeDisk(ctx, cfg.Limits)
	if err != nil {
		ws.diskLess = err
		return ctx.Err()
	}
	return ws.move(d, d.dir)
}

// unlimit moves an unused workspace off its disk, for tiers at which commands see the files where
// the host does.
func (ws *workspace) unlimit(cfg *Config) error {
	if ws.disk == nil {
		return nil
	}
	d := ws.disk
	ws.diskLess = errDiskTier
	return errors.Join(ws.move(nil, cfg.ScratchDir), d.release())
}

// errDiskTier is the reason why a lower tier limits no disk.
var errDiskTier = errors.New("commands see these files where the host does, at this tier")

// move makes the private directories again in dir. The old ones must be empty.
func (ws *workspace) move(to *disk, dir string) error {
	old := &workspace{scratch: ws.scratch, lock: ws.lock}
	layered := ws.layered || !ws.inPlace()
	if ws.source == ws.sub(scratchWork) {
		ws.source = "" // to be copied again
	}
	ws.disk, ws.owned, ws.owner = to, false, nil
	err := ws.makeScratch(dir)
	if err == nil && layered {
		err = ws.makeLayer()
	}
	return errors.Join(err, old.remove())
}

// limits reports how the size and number of private files are limited.
func (ws *workspace) limits(l Limits) []Limit {
	bytes, inodes := Limit{Name: "disk"}, Limit{Name: "files on disk"}
	switch {
	case ws.disk != nil:
		bytes = Limit{Name: bytes.Name, Value: float64(ws.disk.size), Enforced: true, By: "size of a file system in memory, shared with forks"}
		inodes = Limit{Name: inodes.Name, Value: float64(ws.disk.inodes), Enforced: ws.disk.inodes > 0, By: "inodes of the same"}
	case l.Disk > 0:
		bytes.Value, inodes.Value = float64(l.Disk), float64(max(l.Inodes, 0))
		why := ws.diskLess
		if why == nil {
			why = errDiskTier // the first tier that was tried failed for this reason
		}
		bytes.By = fmt.Sprintf("not enforced (%v)", why)
		inodes.By = bytes.By
	default:
		bytes.By = "not enforced: the scratch directory's file system is the bound (Limits.Disk)"
		inodes.By = bytes.By
	}
	return []Limit{bytes, inodes}
}

// unlimited describes which part of the disk limits is not enforced, if any.
func (ws *workspace) unlimited(cfg *Config) []string {
	switch {
	case ws.disk == nil:
		return []string{"the disk is not limited (Limits.Disk)"}
	case cfg.Dir != "" || len(cfg.Writable) > 0:
		return []string{"directories in place are not limited in size"}
	}
	return nil
}
