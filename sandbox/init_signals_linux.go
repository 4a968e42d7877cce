package sandbox

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fatalSignals lists the signals for which Go's runtime ends the program, even when another process
// sent them.
var fatalSignals = []syscall.Signal{
	unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGXCPU, unix.SIGXFSZ,
	unix.SIGVTALRM, unix.SIGPROF, unix.SIGIO, unix.SIGPWR, unix.SIGSYS,
}

// standFirm removes the runtime's handlers for the signals that would end the supervisor. Without a
// handler the kernel keeps these signals from PID 1 of a namespace, whoever inside sends them and
// in whatever way (pid_namespaces(7)); a fault of its own still ends it. In other processes the
// default would be death, so the handlers stay.
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
