package eval

import "syscall"

// errNotDir is what a path has whose parent became a file.
const errNotDir = syscall.ERROR_PATH_NOT_FOUND
