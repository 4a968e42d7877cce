package pid1

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxCommands is how many commands run at a time; what they start does not count.
const maxCommands = 256

// machine is the memory of a first process. It lies outside Go's heap and has no
// pointers that Go's collector should know of: they are numbers.
type machine struct {
	control uintptr // the socket; a constant of the process, like what follows
	signals uintptr // the descriptor that says that a child has ended
	calls   uintptr // of type []op, nops long
	nops    int
	passed  [4]int32 // the calls whose descriptor travels with Ready, each plus one

	keep  [4]span // what stays of the address space
	nkeep int
	top   uintptr // the end of the address space in use
	stack span

	shared uintptr // *report, shared with children until their exec

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
	usage   unix.Rusage
	status  int32
	mask    uint64
	limit   [2]uint64 // struct rlimit64
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
const maxFiles = 4

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

// layout copies the script to where the first process will find it.
func (s *Script) layout() ([]byte, *machine, error) {
	if s.err != nil {
		return nil, nil, s.err
	}
	if len(s.probes) > 64 || len(s.passed) > len(machine{}.passed) {
		return nil, nil, fmt.Errorf("pid1: %d probes, %d descriptors", len(s.probes), len(s.passed))
	}
	opsAt := align(unsafe.Sizeof(machine{}))
	dataAt := align(opsAt + uintptr(len(s.calls))*unsafe.Sizeof(op{}))
	region, err := unix.Mmap(-1, 0, int(dataAt)+len(s.data)+1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, nil, fmt.Errorf("pid1: map memory: %w", err)
	}
	base := uintptr(unsafe.Pointer(&region[0]))
	copy(region[dataAt:], s.data)
	for _, l := range s.links {
		*(*uintptr)(unsafe.Pointer(&region[dataAt+l.at])) = base + dataAt + l.to
	}
	ops := unsafe.Slice((*op)(unsafe.Pointer(&region[opsAt])), len(s.calls))
	for i, c := range s.calls {
		o := op{nr: c.nr, result: -1, allow: uintptr(c.allow), least: c.least, skip: c.skip, may: c.may}
		for k, a := range c.args {
			switch a.kind {
			case argNumber:
				o.args[k] = a.value
			case argData:
				o.args[k] = base + dataAt + a.value
			case argResult:
				o.from[k] = int32(a.value) + 1
			}
		}
		ops[i] = o
	}
	for bit, i := range s.probes {
		ops[i].probe = 1 << bit
	}
	m := (*machine)(unsafe.Pointer(&region[0]))
	m.calls, m.nops = base+opsAt, len(ops)
	for i, call := range s.passed {
		m.passed[i] = int32(call) + 1
	}
	m.keep[0] = span{base, base + align(uintptr(len(region)))}
	m.nkeep = 1
	return region, m, nil
}

// pageSize is a multiple of every page size there is, so that what is kept is never
// cut short.
const pageSize = 64 << 10

func align(n uintptr) uintptr { return (n + pageSize - 1) &^ (pageSize - 1) }
