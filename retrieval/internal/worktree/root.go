package worktree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// A Root reads the files of one tree and nothing outside it: it refuses symbolic links in a path,
// even ones created a moment ago. A Root is safe for concurrent use.
type Root struct {
	path string   // of the tree; "" if it has none, see [Lent]
	dir  *os.File // of the tree, for systems that can open files relative to a descriptor
	any  *os.Root
}

// OpenRoot opens the tree at dir.
func OpenRoot(dir string) (*Root, error) {
	any, err := regular.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("worktree: open tree %s: %w", dir, err)
	}
	f, err := any.Open(".")
	if err != nil {
		_ = any.Close()
		return nil, fmt.Errorf("worktree: open tree %s: %w", dir, err)
	}
	return &Root{path: dir, dir: f, any: any}, nil
}

// Close closes the descriptors. It must not run at the same time as another method.
func (r *Root) Close() error {
	if r.path == "" {
		return r.dir.Close() // the rest belongs to the lender
	}
	return errors.Join(r.dir.Close(), r.any.Close())
}

// ErrTooLarge means that a file is larger than the requested maximum.
var ErrTooLarge = errors.New("worktree: file is too large to be read")

// ErrNotRegular means that a path is not (or no longer) a regular file.
var ErrNotRegular = errors.New("worktree: not a regular file")

// ReadFile returns the content of a regular file and its state at that moment; the caller must set
// Class and Skip. The state is recorded before the content is read, and Racy is set if the state
// might not reveal a change during the read. So if Racy is not set and a later scan finds the same
// state, the content is the same.
func (r *Root) ReadFile(path string, max int64) ([]byte, File, error) {
	seen := time.Now().UnixNano()
	f, err := r.open(filepath.FromSlash(path))
	if err != nil {
		return nil, File{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, File{}, err
	}
	st := stateOf(path, fi, seen)
	if !fi.Mode().IsRegular() {
		return nil, st, ErrNotRegular
	}
	if fi.Size() > max {
		return nil, st, ErrTooLarge
	}
	content, err := readUpTo(f, fi.Size(), max)
	return content, st, err
}

// readUpTo reads all of a file that had size bytes a moment ago and may have grown.
func readUpTo(f io.Reader, size, max int64) ([]byte, error) {
	buf := make([]byte, size+1) // one more byte, to detect the end without another allocation
	n, err := io.ReadFull(f, buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return buf[:n:n], nil
	}
	if err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(io.LimitReader(f, max-int64(n)+1))
	if err != nil {
		return nil, err
	}
	if int64(n+len(rest)) > max {
		return nil, ErrTooLarge
	}
	return append(buf, rest...), nil
}

// stateOf describes a file by its FileInfo, which was obtained at the time seen or later.
func stateOf(path string, fi fs.FileInfo, seen int64) File {
	f := File{Path: path, Size: fi.Size(), ModTime: fi.ModTime().UnixNano(), Mode: fi.Mode()}
	f.Inode, f.Changed = Identity(fi)
	f.markRacy(seen)
	return f
}

// openSlowly opens a path element by element. Links that stay below the root would be followed, so
// openSlowly first checks each element for a link. A link that is created after the check still
// cannot lead outside the root.
func (r *Root) openSlowly(name string) (*os.File, error) {
	for i := 0; i <= len(name); i++ {
		if i < len(name) && !os.IsPathSeparator(name[i]) || i == 0 {
			continue
		}
		fi, err := r.any.Lstat(name[:i])
		if err != nil {
			return nil, err
		}
		if fi.Mode()&fs.ModeSymlink != 0 {
			return nil, &os.PathError{Op: "open", Path: name, Err: errors.New("a symbolic link is on the way")}
		}
	}
	return r.any.OpenFile(name, os.O_RDONLY|nonblock, 0)
}
