package tree

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// isWhiteout reports whether a file is an overlay's mark for a deleted path: a character device
// 0/0, or an empty file with the attribute that replaces it.
func isWhiteout(root *os.Root, rel string, fi fs.FileInfo) bool {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && fi.Mode()&fs.ModeCharDevice != 0 {
		return st.Rdev == 0
	}
	if !fi.Mode().IsRegular() || fi.Size() != 0 {
		return false
	}
	_, set := overlayMark(root, rel, "user.overlay.whiteout")
	return set
}

// isOpaque reports whether a directory hides the one below it.
func isOpaque(root *os.Root, rel string) bool {
	b, _ := overlayMark(root, rel, "user.overlay.opaque")
	return b == 'y'
}

// overlayMark reads a one-byte attribute through a descriptor, so that a path that is exchanged
// meanwhile leads nowhere else.
func overlayMark(root *os.Root, rel, name string) (byte, bool) {
	f, err := root.OpenFile(rel, os.O_RDONLY|NoFollow, 0)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	var b [1]byte
	n, err := unix.Fgetxattr(int(f.Fd()), name, b[:])
	if err != nil {
		return 0, false
	}
	return b[0], n <= 1
}

// markWhiteout and markOpaque write what isWhiteout and isOpaque read.
func markWhiteout(in *os.Root, name string) error {
	return through(in, func(fd int) error { return unix.Mknodat(fd, name, unix.S_IFCHR, 0) })
}

func markOpaque(dir *os.Root) error {
	return through(dir, func(fd int) error { return unix.Fsetxattr(fd, "user.overlay.opaque", []byte("y"), 0) })
}

// linkIn links a file under the same name in another directory.
func linkIn(from, to *os.Root, name string) error {
	return through(from, func(src int) error {
		return through(to, func(dst int) error { return unix.Linkat(src, name, dst, name, 0) })
	})
}

// through calls do for operations that os.Root has no method for.
func through(dir *os.Root, do func(fd int) error) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return do(int(f.Fd()))
}

func isNotDir(err error) bool { return errors.Is(err, unix.ENOTDIR) }
