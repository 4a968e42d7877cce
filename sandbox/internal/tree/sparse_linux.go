package tree

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nextData returns where data begins and ends at or after an offset below size; both are size if
// only a hole is left. On file systems that do not report holes, everything is data.
func nextData(f *os.File, at, size int64) (from, to int64) {
	if at == 0 && !sparse(f) {
		return 0, size
	}
	from, err := f.Seek(at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return size, size
	}
	if err != nil {
		return at, size
	}
	if to, err = f.Seek(from, unix.SEEK_HOLE); err != nil || to <= from {
		to = size
	}
	return min(from, size), min(to, size)
}

// sparse reports whether a file takes less disk space than its size.
func sparse(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Blocks*512 < st.Size
}
