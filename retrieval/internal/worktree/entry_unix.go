//go:build unix

package worktree

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// statEntry stats an entry of an open directory, even if another file has its path by now.
func statEntry(dir *os.File, path string, e fs.DirEntry, seen int64) (File, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(dir.Fd()), e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return File{}, err
		}
	}
	f := File{
		Path: path, Size: st.Size, ModTime: modTime(&st), Changed: statChangeTime(&st), Inode: uint64(st.Ino),
		Mode: modeOf(uint32(st.Mode)),
	}
	f.markRacy(seen)
	return f, nil
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	default:
		mode |= fs.ModeDevice
	}
	return mode
}

// readHead reads the beginning of a regular file of an open directory.
func readHead(dir *os.File, name, _ string, _ *Root, buf []byte) (int, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, ErrNotRegular
	}
	n := 0
	for n < len(buf) {
		k, err := unix.Read(fd, buf[n:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return n, err
		case k == 0:
			return n, nil
		default:
			n += k
		}
	}
	return n, nil
}

func modTime(st *unix.Stat_t) int64        { return int64(st.Mtim.Sec)*1e9 + int64(st.Mtim.Nsec) }
func statChangeTime(st *unix.Stat_t) int64 { return int64(st.Ctim.Sec)*1e9 + int64(st.Ctim.Nsec) }
