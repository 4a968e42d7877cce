//go:build unix

package source

import "golang.org/x/sys/unix"

const nonblock = unix.O_NONBLOCK
