package initproc

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxCommands is how many commands run at a time; what they start does not count.
const maxCommands = 256

// machine is the memory that the fork server and the first processes work on. It lies
// outside Go's heap and has no pointers that Go's collector should know of: they are
// numbers.
type machine struct {
	control uintptr // the socket; a constant of the process, like what follows
	signals uintptr // the descriptor that says that a child has ended
	slots   span    // where scripts are, shared with the parent
	report  uintptr // of type report, shared with children until their exec

	keep  [4]span // what stays of the address space
	nkeep int
	top   uintptr // the end of the address space in use

	order order // the fork server's request
	lost  bool  // a descriptor for the process to be born could not be received

	commands [maxCommands]command
	ncommand int

	head    frame // must be followed by body: one receive fills both
	body    [inlineSize]byte
	answer  Answer
	message message
	vector  vector
	rights  rights
	give    int      // a descriptor to send with the answer, or -1
	nfiles  int      // how many came with the request
	inline  uintptr  // how much of a body did
	at      uintptr  // where the body is
	restart [64]byte // to register as an rseq area
	wait    [2]unix.PollFd
	pause   unix.Timespec
	more    bool       // children that have ended may be left
	born    [2]int32   // the pipe that closes when a child has executed
	info    [16]uint64 // siginfo
	action  [4]uint64  // the kernel's struct sigaction, of zeros
	usage   unix.Rusage
	status  int32
	mask    uint64
	limit   [2]uint64 // struct rlimit64
}

// order asks the fork server for a process.
type order struct {
	op    uint32
	_     uint32
	slot  uint64 // where the script is
	flags uint64 // of clone
}

// The fork server's operations.
const (
	opFiles = 1 + iota // descriptors for the process, more of which follow
	opFork             // the last of them; answered
	opDrop             // there will be no more of them: forget those that came; answered
)

// A process is born with the fork server's descriptors, which are these, and those that
// were sent for it, from firstFile on.
const (
	forkServerFD = 3
	firstFile    = 4
)

// bornFD is the pipe's number in a child that is about to execute.
const bornFD = 3

// A child that has not executed its program is looked at every bearPause
// nanoseconds, and killed if it was found stopped, or was just slow, so many times.
const (
	bearPause = 10e6
	bearStops = 100
	bearTries = 2000
)

// reapMost is how many children are waited for before requests are looked at.
const reapMost = 64

// The head of a slot; the calls follow, of type op.
type slotHead struct {
	ncalls int
	passed [4]int32 // the calls whose descriptor travels with Ready, each plus one
}

// command is one that runs.
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

// maxFiles is how many descriptors a request has room for.
const maxFiles = 252 // below the kernel's SCM_MAX_FD

// span is a range of addresses.
type span struct{ low, high uintptr }

// report is what a child says if it fails between fork and exec.
type report struct {
	stage Stage
	errno uint32
	path  uint32
}

// op is a call in its final form.
type op struct {
	nr     uintptr
	args   [6]uintptr
	from   [6]int32 // the call whose result an argument is, plus one; or 0
	result int      // what it returned, or the error's negative number
	allow  uintptr
	least  int
	skip   int
	probe  uint64
	may    bool
}

// layout writes the script to where it will be carried out; file gives the numbers
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
