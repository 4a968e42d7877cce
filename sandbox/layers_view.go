package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// view is a tree as an overlay of directories would show it, read from the host
// without a mount. The directories may be written by commands meanwhile; every
// access goes from directory to directory without following links, so that what is
// swapped in leads nowhere else. It is for one goroutine.
type view struct {
	layers []*viewLayer // newest first
	places places
	room   room
}

// viewLayer is one directory of a view.
type viewLayer struct {
	top  *place
	full bool // hides everything below; a plain tree without an overlay's marks
}

// entry is one path of a view.
type entry struct {
	rel   string // from the top, with forward slashes; "." is the top
	info  fs.FileInfo
	up    *entry // the directory that holds it, nil for the top
	at    *place // the same in the newest layer that has the path
	name  string // in at
	parts []part // of a directory: those that make it up, newest first
}

// part is what one layer has of a directory.
type part struct {
	*place
	layer *viewLayer
}

// openView opens directories, newest first; the last one is full in any case.
func openView(dirs []layerDir) (*view, error) {
	v := &view{}
	for i, d := range dirs {
		top, err := v.places.top(d.path)
		if err != nil {
			v.close()
			return nil, err
		}
		v.layers = append(v.layers, &viewLayer{top, d.full || i == len(dirs)-1})
		if d.full {
			break
		}
	}
	return v, nil
}

// layerDir is a directory on the host and whether it is a whole tree.
type layerDir struct {
	path string
	full bool
}

func (v *view) close() {
	v.places.close()
	for _, l := range v.layers {
		l.top.root.Close()
	}
}

// top is the view's own directory.
func (v *view) top() *entry {
	at := v.layers[0].top
	e := &entry{rel: ".", info: at.info, at: at, name: "."}
	for _, l := range v.layers {
		e.parts = append(e.parts, part{l.top, l})
	}
	return e
}

// child returns what dir holds under name, nil if nothing.
func (v *view) child(dir *entry, name string) (*entry, error) {
	if dir == nil {
		return nil, nil
	}
	var out *entry
	for _, p := range dir.parts {
		root, err := p.open()
		var fi fs.FileInfo
		if err == nil {
			fi, err = root.Lstat(name)
		}
		if missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !p.layer.full && isWhiteout(root, name, fi) {
			break
		}
		if out == nil {
			out = &entry{rel: joinRel(dir.rel, name), info: fi, up: dir, at: p.place, name: name}
		}
		if !fi.IsDir() || !out.info.IsDir() {
			break
		}
		out.parts = append(out.parts, part{p.below(name, fi), p.layer})
		if p.layer.full || isOpaque(root, name) {
			break
		}
	}
	return out, nil
}

// joinRel is path.Join for clean paths.
func joinRel(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// names lists what dir holds, in lexical order, whiteouts of upper parts included.
func (v *view) names(dir *entry) ([]string, error) {
	if dir == nil {
		return nil, nil
	}
	var out []string
	defer func(used int64) { v.room.used = used }(v.room.used) // only while it is read
	for _, p := range dir.parts {
		root, err := p.open()
		if missing(err) {
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

// costOfNames is about the memory that names take.
func costOfNames(names []string) int {
	sum := 0
	for _, n := range names {
		sum += len(n) + 16
	}
	return sum
}

func (e *entry) isDir() bool { return e != nil && e.info.IsDir() }

// open opens a file that was regular when last looked at. Should a command have
// put something else in its place, that is neither waited for nor read.
func (e *entry) open() (*os.File, error) {
	root, err := e.at.open()
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(e.name, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: e.rel, Err: errChanging}
	}
	return f, nil
}

func (e *entry) link() (string, error) {
	root, err := e.at.open()
	if err != nil {
		return "", err
	}
	return root.Readlink(e.name)
}

// readNames lists a directory that is small by nature.
func readNames(root *os.Root, rel string) ([]string, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|noFollow, 0)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// appendNames appends the names in a directory as long as there is room.
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

// errChanging means that a command was at work on what was being read.
var errChanging = errors.New("it changed while it was read; let commands end first")

// missing reports an error that means that a path is not there (any more).
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotDir(err) }
