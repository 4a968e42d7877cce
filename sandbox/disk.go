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

// disk is a file system of limited size that a workspace and its forks keep their
// private files in. It has no name on the host, is reached through a descriptor, and is
// gone with the last who uses it, whatever ended them.
type disk struct {
	dir    string // of this process's alone: a path through its descriptor
	root   *os.File
	key    string // its name to who made it
	size   int64  // bytes, as the file system tells
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

// last reports whether nobody else uses the disk, so that all in it goes with it.
func (d *disk) last() bool { return d != nil && d.refs.Load() == 1 }

// release is the end of one use.
func (d *disk) release() error {
	if d == nil || d.refs.Add(-1) > 0 {
		return nil
	}
	d.done()
	return d.root.Close()
}

// keyed turns a path through the descriptor into one that who made the disk understands.
// Other paths stay as they are.
func (d *disk) keyed(path string) string {
	if d == nil {
		return path
	}
	if rest, ok := strings.CutPrefix(path, d.dir+string(filepath.Separator)); ok {
		return d.key + "/" + rest
	}
	return path
}

// place is where private files are made: on the disk, or where dir says.
func (ws *workspace) place(dir string) string {
	if ws.disk != nil {
		return ws.disk.dir
	}
	return dir
}

// limit moves a workspace that nobody has used yet to a disk of its own, if limits want
// one. It is not an error that there is none to be had: diskLess tells why.
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

// unlimit takes an unused workspace off its disk, for tiers at which commands see the
// files where the host does.
func (ws *workspace) unlimit(cfg *Config) error {
	if ws.disk == nil {
		return nil
	}
	d := ws.disk
	ws.diskLess = errDiskTier
	return errors.Join(ws.move(nil, cfg.ScratchDir), d.release())
}

// errDiskTier is why a lower tier limits no disk.
var errDiskTier = errors.New("commands see these files where the host does, at this tier")

// move makes the private directories anew in dir. There must be nothing in the old ones.
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

// limits says by what the size and number of private files are kept.
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
			why = errDiskTier // which was the first that was tried
		}
		bytes.By = fmt.Sprintf("not enforced (%v)", why)
		inodes.By = bytes.By
	default:
		bytes.By = "not enforced: the scratch directory's file system is the bound (Limits.Disk)"
		inodes.By = bytes.By
	}
	return []Limit{bytes, inodes}
}

// unlimited says in words what of the disk is not limited, or nothing.
func (ws *workspace) unlimited(cfg *Config) []string {
	switch {
	case ws.disk == nil:
		return []string{"the disk is not limited (Limits.Disk)"}
	case cfg.Dir != "" || len(cfg.Writable) > 0:
		return []string{"directories in place are not limited in size"}
	}
	return nil
}
