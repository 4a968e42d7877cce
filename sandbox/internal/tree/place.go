package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// place is a directory below a layer. It is opened when needed from its parent, one name at a time.
// However deep it is, a step costs the same, no path is too long for the kernel, and no symbolic
// link is followed.
type place struct {
	set   *places
	up    *place // nil for a layer's top, which stays open
	name  string // name in up
	info  fs.FileInfo
	depth int
	root  *os.Root // nil while closed

	older, newer *place // neighbours in its list, while open
}

// places opens directories and bounds how many are open at once.
type places struct {
	recent, way placeList
}

const (
	// maxOpen bounds the open places in a list.
	maxOpen = 64
	// waySpacing is the distance between the places on the way down that are kept open in addition
	// to the recent ones, so that going up again does not start at the top.
	waySpacing = 64
)

// top opens the directory of a layer.
func (s *places) top(dir string) (*place, error) {
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	p, err := s.at(root)
	if err != nil {
		root.Close()
	}
	return p, err
}

// at returns the place of an open directory, which the caller closes.
func (s *places) at(root *os.Root) (*place, error) {
	info, err := root.Lstat(".")
	if err != nil {
		return nil, err
	}
	return &place{set: s, name: ".", info: info, root: root}, nil
}

// below returns the directory name in p; info describes it.
func (p *place) below(name string, info fs.FileInfo) *place {
	return &place{set: p.set, up: p, name: name, info: info, depth: p.depth + 1}
}

// open opens the directory. The root is valid until another place is opened.
func (p *place) open() (*os.Root, error) {
	if p.up == nil {
		return p.root, nil
	}
	var closed []*place
	at := p
	for ; at.root == nil; at = at.up {
		closed = append(closed, at)
	}
	if at.up != nil {
		at.list().use(at)
	}
	for _, next := range slices.Backward(closed) {
		root, err := openBelow(at.root, next.name, next.info)
		if err != nil {
			return nil, err
		}
		next.root = root
		next.list().use(next)
		at = next
	}
	return p.root, nil
}

// openBelow opens the directory that info describes. If another took its place, it fails.
func openBelow(in *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	root, err := regular.OpenRootIn(in, name)
	if err != nil {
		return nil, err
	}
	now, err := root.Lstat(".")
	if err == nil && !os.SameFile(info, now) {
		err = &fs.PathError{Op: "open", Path: name, Err: errChanging}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func (p *place) list() *placeList {
	if p.depth%waySpacing == 0 {
		return &p.set.way
	}
	return &p.set.recent
}

// placeList holds open places in order of use.
type placeList struct {
	oldest, newest *place
	n              int
}

// use makes p the newest and closes the oldest if there are too many.
func (l *placeList) use(p *place) {
	if l.newest == p {
		return
	}
	if p.older != nil || p.newer != nil {
		l.remove(p)
	}
	p.older = l.newest
	if l.newest != nil {
		l.newest.newer = p
	} else {
		l.oldest = p
	}
	l.newest = p
	l.n++
	if l.n > maxOpen {
		old := l.oldest
		l.remove(old)
		old.root.Close()
		old.root = nil
	}
}

func (l *placeList) remove(p *place) {
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		l.oldest = p.newer
	}
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		l.newest = p.older
	}
	p.older, p.newer = nil, nil
	l.n--
}

// close closes all open places except the tops.
func (s *places) close() {
	for _, l := range []*placeList{&s.recent, &s.way} {
		for l.newest != nil {
			p := l.newest
			l.remove(p)
			p.root.Close()
			p.root = nil
		}
	}
}

// maxListing bounds the memory, in bytes, that a walk may use for its results: enough for about
// 900,000 paths of the usual length.
const maxListing = 512 << 20

// room is the use of maxListing so far.
type room struct{ used int64 }

// costOf is the approximate size of an entry without its path.
const costOf = 512

func (r *room) take(n int) error {
	if r.used += int64(n); r.used > maxListing {
		return fmt.Errorf("%w: its paths take more than %d MiB", ErrTooLarge, int64(maxListing)>>20)
	}
	return nil
}

func (r *room) give(n int) { r.used -= int64(n) }

// ErrTooLarge means that a change is larger than a host should have to hold in memory. To recover,
// let commands remove the files they made, or call Restore.
var ErrTooLarge = errors.New("the change is too large")
