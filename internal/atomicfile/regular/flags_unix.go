//go:build unix

package regular

import (
	"errors"
	"syscall"
)

// A terminal that is opened by mistake does not become this process's controlling one.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

const onlyDir = syscall.O_DIRECTORY

// noReader reports whether an open failed because of the kind of file: sockets cannot be opened, a
// FIFO that nobody reads cannot be written.
func noReader(err error) bool {
	return errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EOPNOTSUPP)
}
