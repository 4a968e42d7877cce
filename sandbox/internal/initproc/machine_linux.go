package initproc

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxCommands is the most commands that run at a time; processes that they start do not count.
const maxCommands = 256

// machine is the memory that the fork server and the init processes work on. It lies outside Go's
// heap and contains no pointers that Go's collector must know of: addresses are stored as numbers.
type machine struct {
	control uintptr // the socket; constant in a process, like the fields that follow
	signals uintptr // a descriptor that signals the end of a child
	slots   span    // location of scripts, shared with the parent
	report  uintptr // address of a report, shared with children until their exec

	keep  [4]span // the parts of the address space that are kept
	nkeep int
	top   uintptr // the end of the address space in use

	order order // the fork server's request
	lost  bool  // a descriptor for the next process could not be received

	commands [maxCommands]command
	ncommand int

	head    frame // must be followed by body: one receive fills both
	body    [inlineSize]byte
	answer  Answer
	message message
	vector  vector
	rights  rights
	give    int      // a descriptor to send with the answer, or -1
	nfiles  int      // number of descriptors that came with the request
	inline  uintptr  // number of body bytes that arrived inline
	at      uintptr  // address of the body
	restart [64]byte // used to register as an rseq area
	wait    [2]unix.PollFd
	pause   unix.Timespec
	more    bool       // there may be more children that have ended
	born    [2]int32   // pipe that closes when a child has executed its program
	info    [16]uint64 // siginfo
	action  [4]uint64  // the kernel's struct sigaction, all zeros
	usage   unix.Rusage
	status  int32
	mask    uint64
	limit   [2]uint64 // struct rlimit64
}

// order is a request to the fork server for a process.
type order struct {
	op    uint32
	_     uint32
	slot  uint64 // location of the script
	flags uint64 // flags of clone
}

// The fork server's operations.
const (
	opFiles = 1 + iota // descriptors for the process; more will follow
	opFork             // the last descriptors; answered
	opDrop             // no more will follow: forget those that came; answered
)

// A new process has the fork server's descriptors, listed here, and those that were sent for it,
// from firstFile on.
const (
	forkServerFD = 3
	firstFile    = 4
)

// bornFD is the pipe's descriptor number in a child that is about to execute.
const bornFD = 3

// A child that has not executed its program is checked every bearPause nanoseconds. It is killed
// after it was found stopped, or just still running, for this many checks.
const (
	bearPause = 10e6
	bearStops = 100
	bearTries = 2000
)

// reapMost is the number of children waited for before requests are checked again.
const reapMost = 64

// slotHead is at the start of a slot; the calls follow, of type op.
type slotHead struct {
	ncalls int
	passed [4]int32 // numbers, plus one, of the calls whose descriptor is sent with Ready
}

// command is a running command.
type command struct {
	id  uint64
	pid uintptr
}

// The kernel's struct msghdr, iovec and cmsghdr, with addresses as numbers.
type (
	message struct {
		name              uintptr
		nameLen           uint32
		vectors, nvectors uintptr
		control, ncontrol uintptr
		flags             int32
	}
	vector struct{ base, size uintptr }
	rights struct {
		size        uintptr
		level, kind int32
		files       [maxFiles]int32
	}
)

// maxFiles is the most descriptors in a request.
const maxFiles = 252 // below the kernel's SCM_MAX_FD

// span is a range of addresses.
type span struct{ low, high uintptr }

// report is written by a child that fails between fork and exec.
type report struct {
	stage Stage
	errno uint32
	path  uint32
}

// op is a call ready to be made.
type op struct {
	nr     uintptr
	args   [6]uintptr
	from   [6]int32 // number, plus one, of the call whose result is the argument; or 0
	result int      // its return value, or the negative error number
	allow  uintptr
	least  int
	skip   int
	probe  uint64
	may    bool
}

// layout writes the script to the memory in which it will run; file returns the descriptor numbers
// that its files will have there.
func (s *Script) layout(region []byte, file func(i int) int) error {
	if s.err != nil {
		return s.err
	}
	head := (*slotHead)(unsafe.Pointer(&region[0]))
	if len(s.probes) > 64 || len(s.passed) > len(head.passed) {
		return fmt.Errorf("initproc: %d probes, %d descriptors", len(s.probes), len(s.passed))
	}
	opsAt := unsafe.Sizeof(*head)
	dataAt := opsAt + uintptr(len(s.calls))*unsafe.Sizeof(op{})
	if dataAt+uintptr(len(s.data)) > uintptr(len(region)) {
		return fmt.Errorf("initproc: script of %d calls: %w", len(s.calls), unix.E2BIG)
	}
	base := uintptr(unsafe.Pointer(&region[0]))
	copy(region[dataAt:], s.data)
	for _, l := range s.links {
		*(*uintptr)(unsafe.Pointer(&region[dataAt+l.at])) = base + dataAt + l.to
	}
	ops := unsafe.Slice((*op)(unsafe.Pointer(&region[opsAt])), len(s.calls))
	for i := range s.calls {
		c := &s.calls[i]
		o := op{nr: c.nr, result: -1, allow: uintptr(c.allow), least: c.least, skip: c.skip, may: c.may}
		for k, a := range c.args {
			switch a.kind {
			case argNumber:
				o.args[k] = a.value
			case argData:
				o.args[k] = base + dataAt + a.value
			case argResult:
				o.from[k] = int32(a.value) + 1
			case argFile:
				o.args[k] = uintptr(file(int(a.value)))
			}
		}
		ops[i] = o
	}
	for bit, i := range s.probes {
		ops[i].probe = 1 << bit
	}
	*head = slotHead{ncalls: len(ops)}
	for i, call := range s.passed {
		head.passed[i] = int32(call) + 1
	}
	return nil
}
