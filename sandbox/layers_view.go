package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
)

// view is a tree as an overlay of directories would show it, read from the host
// without a mount. The directories may be written by commands meanwhile; every
// access goes through os.Root, so that a link swapped in leads nowhere outside.
type view struct {
	layers []viewLayer // newest first
}

// viewLayer is one directory of a view.
type viewLayer struct {
	root *os.Root
	full bool // hides everything below; a plain tree without an overlay's marks
}

// entry is one path of a view.
type entry struct {
	rel   string // from the top, with forward slashes; "." is the top
	info  fs.FileInfo
	in    *os.Root    // holds the path, newest of them
	parts []viewLayer // of a directory: those that make it up, newest first
}

// openView opens directories, newest first; the last one is full in any case.
func openView(dirs []layerDir) (*view, error) {
	v := &view{}
	for i, d := range dirs {
		root, err := os.OpenRoot(d.path)
		if err != nil {
			v.close()
			return nil, err
		}
		v.layers = append(v.layers, viewLayer{root, d.full || i == len(dirs)-1})
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
	for _, l := range v.layers {
		l.root.Close()
	}
}

// top is the view's own directory.
func (v *view) top() (*entry, error) {
	fi, err := v.layers[0].root.Lstat(".")
	if err != nil {
		return nil, err
	}
	return &entry{rel: ".", info: fi, in: v.layers[0].root, parts: v.layers}, nil
}

// child returns what dir holds under name, nil if nothing.
func (v *view) child(dir *entry, name string) (*entry, error) {
	if dir == nil {
		return nil, nil
	}
	rel := path.Join(dir.rel, name)
	var out *entry
	for _, l := range dir.parts {
		fi, err := l.root.Lstat(rel)
		if missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !l.full && isWhiteout(l.root, rel, fi) {
			break
		}
		if out == nil {
			out = &entry{rel: rel, info: fi, in: l.root}
		}
		if !fi.IsDir() || !out.info.IsDir() {
			break
		}
		out.parts = append(out.parts, l)
		if l.full || isOpaque(l.root, rel) {
			break
		}
	}
	return out, nil
}

// names lists what dir holds, in lexical order, whiteouts of upper parts included.
func (dir *entry) names() ([]string, error) {
	if dir == nil {
		return nil, nil
	}
	var out []string
	for _, l := range dir.parts {
		names, err := readNames(l.root, dir.rel)
		if err != nil {
			return nil, err
		}
		out = append(out, names...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// lookup returns the entry of a path below the top, nil if there is none. It
// does not follow symbolic links.
func (v *view) lookup(rel string) (*entry, error) {
	e, err := v.top()
	for rest := rel; err == nil && e != nil && rest != "" && rest != "."; {
		name := rest
		if i := indexSlash(rest); i >= 0 {
			name, rest = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		e, err = v.child(e, name)
	}
	return e, err
}

func indexSlash(s string) int {
	for i := range len(s) {
		if s[i] == '/' {
			return i
		}
	}
	return -1
}

func (e *entry) isDir() bool { return e != nil && e.info.IsDir() }

// open opens a file that was regular when last looked at. Should a command have
// put something else in its place, that is neither waited for nor read.
func (e *entry) open() (*os.File, error) {
	f, err := e.in.OpenFile(e.rel, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: e.rel, Err: errChanging}
	}
	return f, nil
}

func (e *entry) link() (string, error) { return e.in.Readlink(e.rel) }

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

// errChanging means that a command was at work on what was being read.
var errChanging = errors.New("it changed while it was read; let commands end first")

// missing reports an error that means that a path is not there (any more).
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotDir(err) }
