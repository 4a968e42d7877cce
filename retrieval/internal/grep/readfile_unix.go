//go:build unix

package grep

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

func readFile(path string, buf []byte) ([]byte, error) {
	fd, err := again(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, regular.ErrNotRegular
	}
	if size := st.Size + 1; size > int64(cap(buf)) && size < 1<<32 {
		buf = make([]byte, 0, size+511) // the rest of the file, and one more byte to detect its end
	}
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, cap(buf)+512)
		}
		n, err := again(func() (int, error) { return unix.Read(fd, buf[len(buf):cap(buf)]) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return buf, nil
		}
		buf = buf[:len(buf)+n]
	}
}

// again repeats a call that a signal interrupted.
func again(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
