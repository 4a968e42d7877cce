package regular

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ReadDirIn lists a directory below a root, sorted by name. On an error it returns the entries read
// so far. Info of an entry looks its file up through the root, and is not called before: for a
// directory of a root, [os.File.ReadDir] looks at each file.
func ReadDirIn(root *os.Root, name string) ([]fs.DirEntry, error) {
	d, err := OpenDirIn(root, name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	named, err := readNames(d)
	slices.SortFunc(named, func(a, b entryIn) int { return strings.Compare(a.name, b.name) })
	list := make([]fs.DirEntry, len(named))
	for i := range named {
		named[i].root, named[i].dir = root, name
		list[i] = &named[i]
	}
	return list, err
}

// entryIn is an entry of a directory below a root.
type entryIn struct {
	root      *os.Root
	dir, name string
	kind      fs.FileMode
}

func (e *entryIn) Name() string      { return e.name }
func (e *entryIn) IsDir() bool       { return e.kind.IsDir() }
func (e *entryIn) Type() fs.FileMode { return e.kind }
func (e *entryIn) String() string    { return fs.FormatDirEntry(e) }

func (e *entryIn) Info() (fs.FileInfo, error) { return e.root.Lstat(filepath.Join(e.dir, e.name)) }

// statNames lists a directory where the system's list has no kinds.
func statNames(d *os.File) ([]entryIn, error) {
	list, err := d.ReadDir(-1)
	named := make([]entryIn, 0, len(list))
	for _, e := range list {
		named = append(named, entryIn{name: e.Name(), kind: e.Type()})
	}
	return named, err
}
