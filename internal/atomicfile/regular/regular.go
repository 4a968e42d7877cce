// Package regular opens files that another program may exchange at any moment, such as those of a
// workspace in which untrusted commands run.
//
// A check before the open does not help: a FIFO that takes the file's place after it makes the open
// wait for ever. The functions here open without waiting, look at what was really opened, and
// refuse all but regular files, or all but directories. None of them can wait for another program,
// so none has a context.
//
// House tests keep the rooms that read workspaces from opening files in another way.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotRegular means that a path leads to a FIFO, a device, a socket or a directory.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge means that a file has more bytes than the caller takes.
var ErrTooLarge = errors.New("the file is too large")

// Open opens a regular file for reading. Symbolic links are followed.
func Open(name string) (*os.File, error) { return OpenFile(name, os.O_RDONLY, 0) }

// OpenFile is [os.OpenFile] for regular files.
func OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, flag|nonblock, perm)
	return checked(f, name, err)
}

// OpenIn is [os.Root.OpenFile] for existing regular files.
func OpenIn(root *os.Root, name string, flag int) (*os.File, error) {
	f, _, err := OpenInfoIn(root, name, flag)
	return f, err
}

// OpenInfoIn is [OpenIn] that also returns what it knows of the file.
func OpenInfoIn(root *os.Root, name string, flag int) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, flag|nonblock, 0)
	return checkedInfo(f, name, err)
}

// checked closes a file that is not regular.
func checked(f *os.File, name string, err error) (*os.File, error) {
	f, _, err = checkedInfo(f, name, err)
	return f, err
}

func checkedInfo(f *os.File, name string, err error) (*os.File, fs.FileInfo, error) {
	if err != nil {
		if noReader(err) { // a socket, a FIFO without a reader, or a device without a driver
			return nil, nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w but a FIFO, a socket or a device", ErrNotRegular)}
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w but %s", ErrNotRegular, kind(info.Mode()))}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, nil, err
	}
	return f, info, nil
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// Read returns the content of a regular file of at most max bytes. Symbolic links are followed.
func Read(name string, max int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	return content(f, name, max)
}

// ReadIn returns the content of a regular file below a root.
func ReadIn(root *os.Root, name string, max int64) ([]byte, error) {
	f, err := OpenIn(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return content(f, name, max)
}

// content reads and closes a file. It does not trust the size, which may change.
func content(f *os.File, name string, max int64) ([]byte, error) {
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(data)) > max {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, max)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// OpenDir opens a directory for listing. Symbolic links are followed.
func OpenDir(name string) (*os.File, error) {
	return directory(os.OpenFile(name, os.O_RDONLY|nonblock|onlyDir, 0))
}

// OpenDirIn opens a directory below a root for listing.
func OpenDirIn(root *os.Root, name string) (*os.File, error) {
	return directory(root.OpenFile(name, os.O_RDONLY|nonblock|onlyDir, 0))
}

// directory closes a file that is no directory, on systems whose open does not look.
func directory(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: errors.New("not a directory")}
	}
	if err != nil {
		_ = f.Close() // it was only opened for reading
		return nil, err
	}
	return f, nil
}

// OpenRoot is [os.OpenRoot], which waits if the path leads to a FIFO.
func OpenRoot(name string) (*os.Root, error) {
	root, err := os.OpenRoot(throughDir(name))
	return root, withName(err, name)
}

// OpenRootIn is [os.Root.OpenRoot], which waits if the path leads to a FIFO.
func OpenRootIn(in *os.Root, name string) (*os.Root, error) {
	root, err := in.OpenRoot(throughDir(name))
	return root, withName(err, name)
}

// throughDir adds "." to a path. What is before a slash must be a directory, and to find that it is
// none the system does not open it.
func throughDir(name string) string {
	if name == "" {
		return name
	}
	return strings.TrimRight(name, string(filepath.Separator)) + string(filepath.Separator) + "."
}

// withName removes what throughDir added from an error.
func withName(err error, name string) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: pe.Op, Path: name, Err: pe.Err}
	}
	return err
}
