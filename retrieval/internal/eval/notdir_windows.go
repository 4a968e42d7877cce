package eval

import "syscall"

// errNotDir is the error for a path whose parent has become a file.
const errNotDir = syscall.ERROR_PATH_NOT_FOUND
