//go:build !windows

package eval

import "syscall"

// errNotDir is what a path has whose parent became a file.
const errNotDir = syscall.ENOTDIR
