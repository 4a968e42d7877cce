package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fingerprintMost bounds the directories of a fingerprint; a place with more counts as in use.
const fingerprintMost = 16

// errInUse means that a place holds something.
var errInUse = errors.New("not just empty directories")

// dirFingerprint describes a directory that contains only empty directories, to detect whether
// anybody has left something there. It covers names, modes, owners, extended attributes including
// access lists, and the flags and quota project that a file system keeps. It leaves out timestamps;
// callers that rely on them set them.
func dirFingerprint(dir string) (string, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &os.PathError{Op: "open", Path: dir, Err: err}
	}
	var b strings.Builder
	left := fingerprintMost
	if err := fingerprintAt(&b, fd, ".", &left); err != nil {
		return "", fmt.Errorf("%s: %w", dir, err)
	}
	return b.String(), nil
}

// fingerprintOf returns dirFingerprint of a directory, or "" if it fails.
func fingerprintOf(dir string) string {
	s, err := dirFingerprint(dir)
	if err != nil {
		return ""
	}
	return s
}

// fingerprintAt adds the directory fd, and closes it.
func fingerprintAt(b *strings.Builder, fd int, name string, left *int) error {
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if *left--; *left < 0 {
		return errInUse
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return errInUse
	}
	attrs := make([]byte, 1<<10)
	n, err := unix.Flistxattr(fd, attrs)
	if err != nil && err != unix.ENOTSUP {
		return errInUse
	}
	names := strings.Split(string(attrs[:max(n, 0)]), "\x00")
	slices.Sort(names)
	flags, project := fileFlags(fd)
	fmt.Fprintf(b, "%q %o %d %d %q %x %d\n", name, st.Mode, st.Uid, st.Gid, names, flags, project)
	below, err := f.Readdirnames(fingerprintMost + 1)
	if len(below) == 0 {
		return nil
	}
	if err != nil || len(below) > fingerprintMost {
		return errInUse
	}
	slices.Sort(below)
	for _, n := range below {
		sub, err := unix.Openat(fd, n, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return errInUse
		}
		if err := fingerprintAt(b, sub, name+"/"+n, left); err != nil {
			return err
		}
	}
	return nil
}

// fileFlags returns the flags and project from FS_IOC_GETFLAGS and FS_IOC_FSGETXATTR, or 0 if the
// file system does not support them.
func fileFlags(fd int) (flags uint32, project uint32) {
	if v, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS); err == nil {
		flags = v
	}
	var x struct { // struct fsxattr
		flags, extent, extents, project, cow uint32
		_                                    [8]byte
	}
	const fsGetXattr = 0x801c581f // FS_IOC_FSGETXATTR
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), fsGetXattr, uintptr(unsafe.Pointer(&x))); errno == 0 {
		project = x.project
	}
	return flags, project
}

// fileState returns a string that changes whenever a directory is replaced or its entries change.
func fileState(fi os.FileInfo) string {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Ctim, st.Mtim)
}
