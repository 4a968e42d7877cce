// Package tree reads trees of files although commands may write to them meanwhile. A View shows a
// tree as an overlay of directories would, Compare finds the differences between two views, Apply
// writes the differences to a directory, and Copy, Merge and Remove do what their names say for
// trees of any depth. No access follows a link or waits for something that is not a file.
package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// View shows a tree as an overlay of directories would, read from the host without a mount.
// Commands may write to the directories meanwhile; every access goes from directory to directory
// without following links, so that a file swapped in leads nowhere else. Only one goroutine may use
// it.
type View struct {
	layers []*viewLayer // newest first
	places places
	room   room
}

// viewLayer is one directory of a view.
type viewLayer struct {
	top  *place
	full bool // hides everything below; a plain tree without an overlay's marks
}

// Entry is one path of a view.
type Entry struct {
	Rel   string // from the top, with forward slashes; "." is the top
	Info  fs.FileInfo
	Up    *Entry // the directory that contains it, nil for the top
	at    *place // the same directory in the newest layer that has the path
	name  string // name in at
	parts []part // for a directory: the parts that make it up, newest first
}

// part is one layer's part of a directory.
type part struct {
	*place
	layer *viewLayer
}

// OpenView opens directories, newest first; the last one always counts as full.
func OpenView(dirs []Dir) (*View, error) {
	v := &View{}
	for i, d := range dirs {
		top, err := v.places.top(d.Path)
		if err != nil {
			v.Close()
			return nil, err
		}
		v.layers = append(v.layers, &viewLayer{top, d.Full || i == len(dirs)-1})
		if d.Full {
			break
		}
	}
	return v, nil
}

// Dir is a directory on the host, with whether it is a whole tree.
type Dir struct {
	Path string
	Full bool // a plain tree, not an overlay's layer over another
}

// Close closes the directories that are open.
func (v *View) Close() {
	v.places.close()
	for _, l := range v.layers {
		l.top.root.Close()
	}
}

// Top returns the view's own directory.
func (v *View) Top() *Entry {
	at := v.layers[0].top
	e := &Entry{Rel: ".", Info: at.info, at: at, name: "."}
	for _, l := range v.layers {
		e.parts = append(e.parts, part{l.top, l})
	}
	return e
}

// Child returns what dir contains under name, or nil if there is nothing.
func (v *View) Child(dir *Entry, name string) (*Entry, error) {
	if dir == nil {
		return nil, nil
	}
	var out *Entry
	for _, p := range dir.parts {
		root, err := p.open()
		var fi fs.FileInfo
		if err == nil {
			fi, err = root.Lstat(name)
		}
		if Missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !p.layer.full && isWhiteout(root, name, fi) {
			break
		}
		if out == nil {
			out = &Entry{Rel: joinRel(dir.Rel, name), Info: fi, Up: dir, at: p.place, name: name}
		}
		if !fi.IsDir() || !out.Info.IsDir() {
			break
		}
		out.parts = append(out.parts, part{p.below(name, fi), p.layer})
		if p.layer.full || isOpaque(root, name) {
			break
		}
	}
	return out, nil
}

// Names lists what dir contains, in lexical order, including whiteouts of upper parts.
func (v *View) Names(dir *Entry) ([]string, error) {
	if dir == nil {
		return nil, nil
	}
	var out []string
	defer func(used int64) { v.room.used = used }(v.room.used) // counts only while it is read
	for _, p := range dir.parts {
		root, err := p.open()
		if Missing(err) {
			continue
		}
		if err == nil {
			out, err = appendNames(out, root, &v.room)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// costOfNames returns the approximate memory that names use.
func costOfNames(names []string) int {
	sum := 0
	for _, n := range names {
		sum += len(n) + 16
	}
	return sum
}

// IsDir reports whether there is such an entry and it is a directory.
func (e *Entry) IsDir() bool { return e != nil && e.Info.IsDir() }

// open opens a file that was regular when last examined. If a command has put something else in its
// place, that is neither waited for nor read.
func (e *Entry) open() (*os.File, error) {
	root, err := e.at.open()
	if err != nil {
		return nil, err
	}
	f, err := regular.OpenIn(root, e.name, os.O_RDONLY|NoFollow)
	if errors.Is(err, regular.ErrNotRegular) {
		return nil, &fs.PathError{Op: "open", Path: e.Rel, Err: errChanging}
	}
	return f, err
}

// Link returns the target of a symbolic link.
func (e *Entry) Link() (string, error) {
	root, err := e.at.open()
	if err != nil {
		return "", err
	}
	return root.Readlink(e.name)
}

// ReadIn reads the regular file that info describes from a directory, if it has at most limit
// bytes.
func ReadIn(root *os.Root, name string, info fs.FileInfo, limit int64) ([]byte, error) {
	return ReadEntry(&Entry{Rel: name, Info: info, at: &place{root: root}, name: name}, limit)
}

// ReadNames lists a directory that is small by nature.
func ReadNames(root *os.Root, rel string) ([]string, error) {
	f, err := regular.OpenDirIn(root, rel)
	if Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// appendNames appends the names in a directory, while there is room.
func appendNames(out []string, dir *os.Root, r *room) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return out, err
	}
	defer f.Close()
	for {
		some, err := f.Readdirnames(4096)
		out = append(out, some...)
		if err := r.take(costOfNames(some)); err != nil {
			return out, err
		}
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

// errChanging means that a command was changing what was being read.
var errChanging = errors.New("it changed while it was read; let commands end first")

// Missing reports whether the error means that a path does not exist (any more).
func Missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotDir(err) }

// ReadEntry reads a regular file of at most limit bytes.
func ReadEntry(e *Entry, limit int64) ([]byte, error) {
	f, err := e.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	return b, err
}
