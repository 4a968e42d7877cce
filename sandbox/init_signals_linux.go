package sandbox

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fatalSignals are those that Go's runtime takes as the end of the program, also when somebody sent
// them.
var fatalSignals = []syscall.Signal{
	unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGXCPU, unix.SIGXFSZ,
	unix.SIGVTALRM, unix.SIGPROF, unix.SIGIO, unix.SIGPWR, unix.SIGSYS,
}

// standFirm takes the runtime's handlers off the signals that would end the supervisor. Without one
// the kernel keeps them from a namespace's first process, whoever inside sends them and in
// whichever way (pid_namespaces(7)); a fault of its own ends it all the same. Elsewhere the default
// would be death, so there the handlers stay.
func standFirm() {
	if os.Getpid() != 1 {
		return
	}
	var none struct { // the kernel's struct sigaction: SIG_DFL, no flags, nothing blocked
		handler, flags, restorer uintptr
		mask                     uint64
	}
	for _, s := range fatalSignals {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&none)), 0, unsafe.Sizeof(none.mask), 0, 0)
	}
}
