//go:build unix

package worktree

import "golang.org/x/sys/unix"

const nonblock = unix.O_NONBLOCK
