package tree

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dirent is one name in a directory as returned by the kernel.
type dirent struct {
	name     string // empty for "." and ".."
	mayBeDir bool   // it is a directory, or the file system does not report it
}

// nextDirent returns the first entry of a buffer that unix.ReadDirent filled.
func nextDirent(b []byte) (dirent, []byte) {
	const (
		length = unsafe.Offsetof(unix.Dirent{}.Reclen)
		kind   = unsafe.Offsetof(unix.Dirent{}.Type)
		name   = unsafe.Offsetof(unix.Dirent{}.Name)
	)
	n := int(binary.NativeEndian.Uint16(b[length:]))
	text, _, _ := bytes.Cut(b[name:n], []byte{0})
	e := dirent{mayBeDir: b[kind] == unix.DT_DIR || b[kind] == unix.DT_UNKNOWN}
	if s := string(text); s != "." && s != ".." {
		e.name = s
	}
	return e, b[n:]
}
