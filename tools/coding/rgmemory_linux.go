package coding

import "golang.org/x/sys/unix"

// limitMemory limits the memory of a child, if the system allows it.
func limitMemory(pid int) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: rgMemory, Max: rgMemory}, nil) // the time is limited too
}
