package pid1

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Process is a first process, as its parent holds it.
type Process struct {
	PID   int
	PIDFD int // the caller's to close
}

// Parent is what a program needs to know of itself to fork first processes.
type Parent struct {
	program span    // code and data
	top     uintptr // the end of the address space in use
}

// Env is what a parent linked with the GNU C library should have in its environment
// from its start, so that its children can drop its memory.
const Env = "GLIBC_TUNABLES=glibc.pthread.rseq=0"

// Fork makes a process in the new namespaces that flags ask for. It carries out the
// script, answers with Ready or Refused, and serves. Descriptors of ours that the
// script names it has under the same numbers; it has all the others too, and the
// script should close them. The caller waits for the process in the end.
func (p *Parent) Fork(s *Script, flags uintptr) (Process, error) {
	region, m, err := s.layout()
	if err != nil {
		return Process{}, err
	}
	defer unix.Munmap(region)
	shared, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return Process{}, fmt.Errorf("pid1: map memory: %w", err)
	}
	defer unix.Munmap(shared)
	m.control, m.shared, m.top = uintptr(s.control), uintptr(unsafe.Pointer(&shared[0])), p.top
	m.keep[m.nkeep] = span{m.shared, m.shared + uintptr(len(shared))}
	m.nkeep++
	m.keep[m.nkeep] = p.program
	m.nkeep++
	// No descriptor that is not meant to be inherited may be born while we fork.
	syscall.ForkLock.Lock()
	pid, fd, errno := fork(m, flags)
	syscall.ForkLock.Unlock()
	if errno != 0 {
		return Process{}, errno
	}
	return Process{PID: pid, PIDFD: fd}, nil
}

// fork makes the process. Between the fork and its end nothing may allocate or grow
// the stack; firstProcess sees to that for the child.
//
//go:norace
//go:nocheckptr
//go:noinline
func fork(m *machine, flags uintptr) (int, int, syscall.Errno) {
	var pidfd int32 = -1
	here := uintptr(unsafe.Pointer(&pidfd)) &^ (4096 - 1)
	m.stack = span{here - stackBelow, here + 4096}
	beforeFork()
	pid, _, e := syscall.RawSyscall6(unix.SYS_CLONE, flags|unix.CLONE_PIDFD|uintptr(unix.SIGCHLD), 0, uintptr(unsafe.Pointer(&pidfd)), 0, 0, 0)
	if e == 0 && pid == 0 {
		afterForkInChild()
		firstProcess(m)
	}
	afterFork()
	return int(pid), int(pidfd), e
}

// stackBelow is how much stack the first process keeps; a chain of nosplit
// functions needs less than a thousand bytes.
const stackBelow = 8 << 10

// NewParent looks at the program's memory map.
func NewParent() (*Parent, error) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("pid1: %w", err)
	}
	return parseMaps(string(text), reflect.ValueOf(NewParent).Pointer())
}

// parseMaps finds the program that the code at here belongs to.
func parseMaps(text string, here uintptr) (*Parent, error) {
	type mapping struct {
		span
		file string
	}
	var all []mapping
	p, program := &Parent{}, ""
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // low-high perms offset device inode [name]
		if len(f) < 5 || len(f[1]) < 4 {
			return nil, fmt.Errorf("pid1: memory map has the line %q", line)
		}
		if len(f) > 5 && f[5] == "[vsyscall]" {
			continue // not for anyone to unmap
		}
		low, high, _ := strings.Cut(f[0], "-")
		l, err1 := strconv.ParseUint(low, 16, 64)
		h, err2 := strconv.ParseUint(high, 16, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("pid1: memory map: %w", err)
		}
		m := mapping{span{uintptr(l), uintptr(h)}, f[3] + " " + f[4]}
		p.top = max(p.top, m.high)
		if m.low <= here && here < m.high {
			program = m.file
		}
		all = append(all, m)
	}
	var own span
	for _, m := range all {
		// What is mapped of the file, and the zeroed part of its data right behind
		// it: instrumented code counts there, and code that is not bound to an
		// address finds its way by it.
		if m.file == program || (m.low == own.high && m.file == "00:00 0") {
			if own.low == 0 {
				own.low = m.low
			}
			own.high = m.high
		}
	}
	if program == "" || own.low == 0 {
		return nil, errors.New("pid1: own program is not in the memory map")
	}
	p.program = own
	return p, nil
}
