package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ChangeKind says what happened to a path.
type ChangeKind string

// The kinds of change.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
)

// Change is one path that differs from the snapshot.
type Change struct {
	// Path is relative to the workspace, with forward slashes.
	Path string
	Kind ChangeKind
	// Mode is the file's type and permissions now, or, when deleted, before.
	Mode fs.FileMode
}

func (ws *workspace) changes(ctx context.Context) ([]Change, error) {
	if ws.inPlace() {
		return nil, &fs.PathError{Op: "sandbox: list changes of", Path: ws.dir, Err: ErrInPlace}
	}
	d := differ{ctx: ctx, lower: ws.lower}
	var err error
	if ws.overlay {
		err = d.layer(ws.sub(scratchLayer+"/upper"), ".")
	} else {
		err = d.tree(ws.source, ".")
	}
	if err != nil {
		return nil, errors.Join(errors.New("sandbox: list changes"), err)
	}
	slices.SortFunc(d.out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return d.out, nil
}

// differ compares a changed tree with the lower one it came from.
type differ struct {
	ctx   context.Context
	lower string
	out   []Change
}

func (d *differ) add(rel string, kind ChangeKind, mode fs.FileMode) {
	d.out = append(d.out, Change{Path: filepath.ToSlash(rel), Kind: kind, Mode: mode})
}

// tree compares a full copy.
func (d *differ) tree(top, rel string) error {
	now, err := readDir(filepath.Join(top, rel))
	if err != nil {
		return err
	}
	was, err := readDir(filepath.Join(d.lower, rel))
	if err != nil {
		return err
	}
	for name, fi := range now {
		p := filepath.Join(rel, name)
		if err := d.compare(top, p, was[name], fi); err != nil {
			return err
		}
		if fi.IsDir() {
			if err := d.tree(top, p); err != nil {
				return err
			}
		}
	}
	for name, fi := range was {
		if now[name] == nil && copied(fi) {
			if err := d.gone(filepath.Join(rel, name), fi); err != nil {
				return err
			}
		}
	}
	return d.ctx.Err()
}

// layer compares an overlay's upper directory (see the kernel's overlayfs.rst).
func (d *differ) layer(top, rel string) error {
	now, err := readDir(filepath.Join(top, rel))
	if err != nil {
		return err
	}
	was, err := readDir(filepath.Join(d.lower, rel))
	if err != nil {
		return err
	}
	for name, fi := range now {
		p := filepath.Join(rel, name)
		if isWhiteout(filepath.Join(top, p), fi) {
			if was[name] != nil {
				err = d.gone(p, was[name])
			}
		} else if err = d.compare(top, p, was[name], fi); err == nil && fi.IsDir() {
			err = d.layer(top, p)
		}
		if err != nil {
			return err
		}
	}
	if isOpaque(filepath.Join(top, rel)) {
		for name, fi := range was {
			if now[name] == nil {
				if err := d.gone(filepath.Join(rel, name), fi); err != nil {
					return err
				}
			}
		}
	}
	return d.ctx.Err()
}

// gone reports a path of the snapshot, and all below it, as deleted.
func (d *differ) gone(rel string, fi fs.FileInfo) error {
	if fi.IsDir() {
		below, err := readDir(filepath.Join(d.lower, rel))
		if err != nil {
			return err
		}
		for name, sub := range below {
			if err := d.gone(filepath.Join(rel, name), sub); err != nil {
				return err
			}
		}
	}
	d.add(rel, Deleted, fi.Mode())
	return nil
}

// compare reports one path that is there now.
func (d *differ) compare(top, rel string, was, now fs.FileInfo) error {
	if was == nil {
		d.add(rel, Added, now.Mode())
		return nil
	}
	if was.Mode().Type() != now.Mode().Type() {
		if was.IsDir() {
			if err := d.gone(rel, was); err != nil {
				return err
			}
			d.out = d.out[:len(d.out)-1] // the path itself is there, only changed
		}
		d.add(rel, Modified, now.Mode())
		return nil
	}
	same := was.Mode().Perm() == now.Mode().Perm()
	var err error
	switch {
	case !same || now.IsDir():
	case now.Mode()&fs.ModeSymlink != 0:
		same, err = sameLink(filepath.Join(d.lower, rel), filepath.Join(top, rel))
	case now.Mode().IsRegular():
		same, err = sameFile(filepath.Join(d.lower, rel), filepath.Join(top, rel), was, now)
	}
	if !same {
		d.add(rel, Modified, now.Mode())
	}
	return err
}

// copied reports whether copyTree takes a file along.
func copied(fi fs.FileInfo) bool {
	return fi.IsDir() || fi.Mode().IsRegular() || fi.Mode()&fs.ModeSymlink != 0
}

// readDir lists a directory; what is no directory, or not there, lists as empty.
func readDir(dir string) (map[string]fs.FileInfo, error) {
	fi, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) || (err == nil && !fi.IsDir()) {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := make(map[string]fs.FileInfo, len(entries))
	for _, e := range entries {
		fi, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[e.Name()] = fi
	}
	return out, nil
}

func sameLink(a, b string) (bool, error) {
	x, err := os.Readlink(a)
	if err != nil {
		return false, err
	}
	y, err := os.Readlink(b)
	return x == y, err
}

func sameFile(a, b string, fa, fb fs.FileInfo) (bool, error) {
	if fa.Size() != fb.Size() {
		return false, nil
	}
	x, err := openRegular(a)
	if err != nil {
		return false, err
	}
	defer x.Close()
	y, err := openRegular(b)
	if err != nil {
		return false, err
	}
	defer y.Close()
	bx, by := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errX := io.ReadFull(x, bx)
		m, errY := io.ReadFull(y, by)
		if !bytes.Equal(bx[:n], by[:m]) {
			return false, nil
		}
		if errX != nil || errY != nil {
			return errX == errY, nil
		}
	}
}
