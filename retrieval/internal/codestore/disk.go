package codestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/filelock"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A disk is the directory of a store. Methods that change it require the lock.
type disk struct {
	dir  string
	opts Options
}

func (d *disk) at(name string) string { return filepath.Join(d.dir, name) }

// stamp distinguishes one manifest from the next without reading it.
type stamp struct {
	size, modified int64
	inode          uint64
}

func stampOf(fi fs.FileInfo) stamp {
	inode, _ := worktree.Identity(fi)
	return stamp{size: fi.Size(), modified: fi.ModTime().UnixNano(), inode: inode}
}

// lockWait holds the first and the longest sleep between two attempts of a writer to get a lock
// that another process holds.
const (
	lockWaitFirst = time.Millisecond
	lockWaitMost  = 50 * time.Millisecond
)

// lock waits until no other process is writing.
func (d *disk) lock(ctx context.Context) (unlock func(), err error) {
	for wait := lockWaitFirst; ; wait = min(2*wait, lockWaitMost) {
		f, err := d.openLock()
		if err != nil {
			return nil, err
		}
		ok, err := filelock.Try(f)
		if ok && d.isLock(f) {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// openLock opens the lock file. If the directory was removed, it is created again.
func (d *disk) openLock() (*os.File, error) {
	f, err := regular.OpenFile(d.at(lockName), os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(d.dir, 0o755); err != nil {
			return nil, err
		}
		f, err = regular.OpenFile(d.at(lockName), os.O_RDWR|os.O_CREATE, 0o644)
	}
	return f, err
}

// isLock reports whether f is still the current lock file, not the file of a directory removed
// meanwhile.
func (d *disk) isLock(f *os.File) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(d.at(lockName))
	return err == nil && os.SameFile(held, named)
}

// write creates a file of the pieces, completely or not at all. If durable is set, it waits until
// the file is on the disk.
func (d *disk) write(name string, durable bool, modified time.Time, pieces ...[]byte) (err error) {
	d.opts.step("create " + name)
	f, err := os.CreateTemp(d.dir, tempPrefix+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	for _, p := range pieces {
		d.opts.step("write " + name)
		if _, err = f.Write(p); err != nil {
			return err
		}
	}
	if canMap { // elsewhere a read-only file cannot be replaced either
		if err = f.Chmod(0o444); err != nil {
			return err
		}
	}
	d.opts.step("sync " + name)
	if durable && !d.opts.NoFsync {
		if err = f.Sync(); err != nil {
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	if !modified.IsZero() {
		if err = os.Chtimes(f.Name(), modified, modified); err != nil {
			return err
		}
	}
	d.opts.step("rename " + name)
	if err = replace(f.Name(), d.at(name)); err != nil {
		return err
	}
	d.opts.step("renamed " + name)
	return nil
}

// replace renames a file over another. If the system cannot replace an open file, it waits a little
// for the reader.
func replace(from, to string) (err error) {
	for wait := time.Millisecond; wait < 200*time.Millisecond; wait *= 2 {
		if err = os.Rename(from, to); err == nil || !errors.Is(err, fs.ErrPermission) || canMap {
			return err
		}
		time.Sleep(wait)
	}
	return err
}

// flush makes renames durable if the system can.
func (d *disk) flush() {
	if d.opts.NoFsync {
		return
	}
	_ = atomicfile.SyncDir(d.dir) // some systems refuse it and sync by themselves
}

// readManifest returns the manifest and its stamp. Both are zero if there is none.
func (d *disk) readManifest(f Format) (*manifest, stamp, error) {
	file, err := regular.Open(d.at(manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, stamp{}, nil
	}
	if err != nil {
		return nil, stamp{}, fmt.Errorf("the manifest cannot be opened: %v", err)
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, stamp{}, fmt.Errorf("the manifest cannot be read: %v", err)
	}
	st := stampOf(fi)
	raw, err := io.ReadAll(io.LimitReader(file, maxManifest))
	if err != nil {
		return nil, st, fmt.Errorf("the manifest cannot be read: %v", err)
	}
	m, err := decodeManifest(raw, f)
	return m, st, err
}

// writeManifest replaces the manifest and returns its stamp. Its time is always later than that of
// the previous one, whatever the clock says, because readers distinguish manifests by it.
func (d *disk) writeManifest(m *manifest, before stamp, durable bool) (stamp, error) {
	raw, err := m.encode()
	if err != nil {
		return stamp{}, err
	}
	modified := time.Now()
	if next := time.Unix(0, before.modified).Add(time.Microsecond); modified.Before(next) {
		modified = next
	}
	if err := d.write(manifestName, durable, modified, raw); err != nil {
		return stamp{}, err
	}
	fi, err := os.Stat(d.at(manifestName))
	if err != nil {
		return stamp{}, err
	}
	return stampOf(fi), nil
}

// files lists the names in the directory that have a suffix.
func (d *disk) files(suffix string) []string {
	entries, _ := os.ReadDir(d.dir) // files that cannot be listed cannot be adopted either
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) && !strings.HasPrefix(e.Name(), tempPrefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// removeReplaced removes the files that before names and after does not.
func (d *disk) removeReplaced(before, after *manifest) {
	keep := after.files()
	for name := range before.files() {
		if !keep[name] {
			d.opts.step("remove " + name)
			removeReadOnly(d.at(name))
		}
	}
}

// sweep removes files that m does not name: old segments, and leftovers of interrupted writers. A
// file that cannot be removed because a reader has it open stays until the next sweep.
func (d *disk) sweep(m *manifest) {
	keep := m.files()
	entries, _ := os.ReadDir(d.dir)
	for _, e := range entries {
		name := e.Name()
		ours := strings.HasPrefix(name, tempPrefix) || strings.HasSuffix(name, segmentSuffix) || strings.HasSuffix(name, stateSuffix)
		if ours && !keep[name] && e.Type().IsRegular() {
			d.opts.step("remove " + name)
			removeReadOnly(d.at(name))
		}
	}
}

// removeReadOnly removes a read-only file, which Windows allows only after adding write permission.
func removeReadOnly(path string) {
	if os.Remove(path) != nil && !canMap {
		_ = os.Chmod(path, 0o644)
		_ = os.Remove(path)
	}
}
