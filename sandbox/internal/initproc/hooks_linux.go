package initproc

import _ "unsafe" // for go:linkname

// The runtime's own preparations for a fork: the first function blocks signals and makes any growth
// of the stack fatal; the others undo that in the parent and in the child.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()
