//go:build unix

package grep

import (
	"errors"

	"golang.org/x/sys/unix"
)

func readFile(path string, buf []byte) ([]byte, error) {
	fd, err := again(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		if len(buf) == cap(buf) {
			buf = grown(buf, fd)
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

// grown makes room for the rest of a file, and one more byte to detect its end.
func grown(buf []byte, fd int) []byte {
	size := 2 * cap(buf)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Size > int64(len(buf)) && st.Size < 1<<32 {
		size = int(st.Size)
	}
	out := make([]byte, len(buf), size+512)
	copy(out, buf)
	return out
}
