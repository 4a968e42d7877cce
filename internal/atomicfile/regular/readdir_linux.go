package regular

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// readNames lists a directory by getdents64(2), which names the kind of each entry.
func readNames(d *os.File) ([]entryIn, error) {
	var named []entryIn
	raw, err := d.SyscallConn()
	if err != nil {
		return nil, err
	}
	known := true
	var failed error
	err = raw.Control(func(fd uintptr) {
		buf := make([]byte, 16<<10)
		for known {
			n, err := syscall.ReadDirent(int(fd), buf)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil {
				failed = &fs.PathError{Op: "readdirent", Path: d.Name(), Err: err}
				return
			}
			if n <= 0 {
				return
			}
			named, known = appendNames(named, buf[:n])
		}
	})
	if err == nil {
		err = failed
	}
	if known || err != nil {
		return named, err
	}
	if _, err := d.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return statNames(d)
}

// The layout of struct linux_dirent64: inode and offset of 8 bytes each, the length of the entry,
// its kind, and its name with a NUL.
const (
	direntLength = 16
	direntKind   = 18
	direntName   = 19
)

// appendNames adds the entries in buf, and reports whether their kinds are known.
func appendNames(named []entryIn, buf []byte) ([]entryIn, bool) {
	for len(buf) > direntName {
		n := int(binary.NativeEndian.Uint16(buf[direntLength:]))
		if n <= direntName || n > len(buf) {
			return named, false
		}
		name, _, _ := bytes.Cut(buf[direntName:n], []byte{0})
		kind, known := kindsOf[buf[direntKind]]
		if !known {
			return named, false
		}
		if s := string(name); s != "." && s != ".." {
			named = append(named, entryIn{name: s, kind: kind})
		}
		buf = buf[n:]
	}
	return named, true
}

var kindsOf = map[byte]fs.FileMode{
	syscall.DT_REG: 0, syscall.DT_DIR: fs.ModeDir, syscall.DT_LNK: fs.ModeSymlink, syscall.DT_FIFO: fs.ModeNamedPipe,
	syscall.DT_SOCK: fs.ModeSocket, syscall.DT_BLK: fs.ModeDevice, syscall.DT_CHR: fs.ModeDevice | fs.ModeCharDevice,
}
