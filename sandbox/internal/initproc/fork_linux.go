package initproc

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Parent makes init processes. It does not fork them itself: copying the memory of a Go program
// costs more than all the namespaces together, and so does separating its pages again. Instead the
// fork server forks them: a process forked once from the program, which has dropped all that
// memory.
type Parent struct {
	mu    sync.Mutex // one fork at a time
	fd    int        // of the socket
	pid   int
	dead  error
	slots []byte
	free  chan int // slots
}

// ErrForkServer means that no more processes can be made, since the fork server has died.
var ErrForkServer = errors.New("initproc: the fork server has died")

// The number of processes between their fork and the end of their script, and the size of a script.
const (
	nslots   = 16
	slotSize = 512 << 10
)

// answerPatience is the time that the fork server gets for a fork.
const answerPatience = time.Minute

// Env is an entry that a parent linked with the GNU C library needs in its environment from its
// start, so that its children can drop its memory.
const Env = "GLIBC_TUNABLES=glibc.pthread.rseq=0"

// NewParent makes the fork server.
func NewParent() (*Parent, error) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("initproc: %w", err)
	}
	program, top, err := parseMaps(string(text), reflect.ValueOf(NewParent).Pointer())
	if err != nil {
		return nil, err
	}
	region, err := unix.Mmap(-1, 0, align(int(unsafe.Sizeof(machine{}))), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("initproc: map memory: %w", err)
	}
	defer unix.Munmap(region)
	p := &Parent{free: make(chan int, nslots)}
	if p.slots, err = unix.Mmap(-1, 0, nslots*slotSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS); err != nil {
		return nil, fmt.Errorf("initproc: map memory: %w", err)
	}
	for i := range nslots {
		p.free <- i
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		unix.Munmap(p.slots)
		return nil, os.NewSyscallError("socketpair", err)
	}
	p.fd = fds[0]
	wait := unix.NsecToTimeval(int64(answerPatience))
	if err := unix.SetsockoptTimeval(p.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		unix.Close(fds[1])
		p.Close()
		return nil, os.NewSyscallError("setsockopt", err)
	}
	m := (*machine)(unsafe.Pointer(&region[0]))
	m.control, m.top, m.slots = uintptr(fds[1]), top, spanOf(p.slots)
	m.keep = [4]span{spanOf(region), m.slots, program}
	m.nkeep = 3
	// While we fork, no other goroutine may create a descriptor that is not yet marked
	// close-on-exec.
	syscall.ForkLock.Lock()
	pid, errno := fork(m)
	syscall.ForkLock.Unlock()
	unix.Close(fds[1])
	if err = errno; errno == 0 {
		p.pid = pid
		_, err = p.answer()
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("initproc: fork the fork server: %w", err)
	}
	return p, nil
}

func spanOf(b []byte) span {
	low := uintptr(unsafe.Pointer(&b[0]))
	return span{low, low + uintptr(len(b))}
}

func align(n int) int {
	page := os.Getpagesize()
	return (n + page - 1) / page * page
}

// Close ends the fork server. Processes that it made live on.
func (p *Parent) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd < 0 {
		return
	}
	unix.Close(p.fd)
	if p.pid > 0 {
		_ = unix.Kill(p.pid, unix.SIGKILL) // it may hang
		for {
			if _, err := unix.Wait4(p.pid, nil, 0, nil); err != unix.EINTR {
				break
			}
		}
	}
	p.fd, p.dead = -1, ErrForkServer
	p.unmap() // not while processes run their scripts there
}

// answer reads an answer of the fork server.
func (p *Parent) answer() (Answer, error) {
	b := make([]byte, answerSize)
	for {
		n, err := unix.Read(p.fd, b)
		if err == unix.EINTR {
			continue
		}
		if err == unix.EAGAIN {
			return Answer{}, fmt.Errorf("%w (no answer in time)", ErrForkServer)
		}
		if err != nil || n == 0 {
			return Answer{}, errors.Join(ErrForkServer, err)
		}
		a, err := ParseAnswer(b[:n])
		if err != nil {
			return Answer{}, errors.Join(ErrForkServer, err) // something else answered
		}
		return a, nil
	}
}

// Process is an init process as its parent sees it; the parent must wait for it in the end.
type Process struct {
	PID  int
	p    *Parent
	slot int
}

// Scripted reports to the parent that the script's answer has arrived or that the process has
// ended: the script's memory can then be reused. It is called once.
func (p *Process) Scripted() { p.p.put(p.slot) }

// put returns a slot. The last one releases the memory if it is no longer needed.
func (p *Parent) put(slot int) {
	p.free <- slot
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unmap()
}

func (p *Parent) unmap() {
	if p.fd < 0 && p.slots != nil && len(p.free) == nslots {
		unix.Munmap(p.slots)
		p.slots = nil
	}
}

// Fork makes a process in the new namespaces given by flags. control is its end of a SOCK_SEQPACKET
// pair; when the other end is closed, the process ends. The process runs the script, answers with
// Ready or Refused, and then serves. Of the caller's descriptors it has copies of control and of
// the script's files.
func (p *Parent) Fork(s *Script, control int, flags uintptr) (*Process, error) {
	slot := <-p.free
	pid, err := p.fork(s, slot, control, flags)
	if err != nil {
		p.put(slot)
		return nil, err
	}
	return &Process{PID: pid, p: p, slot: slot}, nil
}

func (p *Parent) fork(s *Script, slot, control int, flags uintptr) (int, error) {
	p.mu.Lock()
	dead := p.dead
	p.mu.Unlock()
	if dead != nil {
		return 0, dead
	}
	at := p.slots[slot*slotSize : (slot+1)*slotSize]
	if err := s.layout(at, func(i int) int { return firstFile + 1 + i }); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead != nil {
		return 0, p.dead
	}
	files := append([]int{control}, s.files...)
	sent := false
	for ; len(files) > maxFiles; sent = true {
		if err := p.ask(order{op: opFiles}, files[:maxFiles], sent); err != nil {
			return 0, err
		}
		files = files[maxFiles:]
	}
	if err := p.ask(order{op: opFork, slot: uint64(spanOf(at).low), flags: uint64(flags)}, files, sent); err != nil {
		return 0, err
	}
	return p.outcome()
}

// outcome returns the result of a request to the fork server.
func (p *Parent) outcome() (int, error) {
	a, err := p.answer()
	if err != nil {
		p.dead = err
		return 0, err
	}
	if a.Errno != 0 {
		return 0, a.Errno
	}
	return int(a.PID), nil
}

// ask sends a request; sent means that earlier requests for the same process were sent before it.
// If descriptors cannot be sent, for example because too many are in flight, only this process
// fails, not the fork server.
func (p *Parent) ask(o order, files []int, sent bool) error {
	err := p.send(o, files)
	if err == nil {
		return nil
	}
	switch err {
	case unix.EBADF, unix.ETOOMANYREFS, unix.ENOBUFS, unix.ENOMEM:
	default:
		p.dead = errors.Join(ErrForkServer, err)
		return p.dead
	}
	if sent {
		// What was already sent would be taken for the next process's.
		if dropErr := p.send(order{op: opDrop}, nil); dropErr != nil {
			p.dead = errors.Join(ErrForkServer, dropErr)
			return p.dead
		}
		_, _ = p.outcome()
		if p.dead != nil {
			return p.dead
		}
	}
	return fmt.Errorf("initproc: hand over descriptors: %w", err)
}

func (p *Parent) send(o order, files []int) error {
	var oob []byte
	if len(files) > 0 {
		oob = unix.UnixRights(files...)
	}
	for {
		err := unix.Sendmsg(p.fd, unsafe.Slice((*byte)(unsafe.Pointer(&o)), unsafe.Sizeof(o)), oob, nil, unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return err
		}
	}
}

// fork makes the fork server. Between the fork and the end of the process nothing may allocate or
// grow the stack; the code that it runs ensures that.
//
//go:norace
//go:nocheckptr
//go:noinline
func fork(m *machine) (int, syscall.Errno) {
	here := uintptr(unsafe.Pointer(&m)) &^ (4096 - 1)
	m.keep[m.nkeep] = span{here - stackBelow, here + 4096}
	m.nkeep++
	beforeFork()
	pid, _, e := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e == 0 && pid == 0 {
		afterForkInChild()
		forkServer(m)
		firstProcess(m)
	}
	afterFork()
	return int(pid), e
}

// stackBelow is the amount of stack that the init process keeps; a chain of nosplit functions needs
// less than a thousand bytes.
const stackBelow = 8 << 10

// parseMaps finds the program that contains the code at here, with its data, and the end of the
// address space in use.
func parseMaps(text string, here uintptr) (program span, top uintptr, err error) {
	type mapping struct {
		span
		file string
	}
	var all []mapping
	file := ""
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // low-high perms offset device inode [name]
		if len(f) < 5 {
			return span{}, 0, fmt.Errorf("initproc: memory map has the line %q", line)
		}
		if len(f) > 5 && f[5] == "[vsyscall]" {
			continue // cannot be unmapped
		}
		low, high, _ := strings.Cut(f[0], "-")
		l, err1 := strconv.ParseUint(low, 16, 64)
		h, err2 := strconv.ParseUint(high, 16, 64)
		if err := errors.Join(err1, err2); err != nil {
			return span{}, 0, fmt.Errorf("initproc: memory map: %w", err)
		}
		if l >= h || h > uint64(^uintptr(0)) {
			return span{}, 0, fmt.Errorf("initproc: memory map has the line %q", line)
		}
		m := mapping{span{uintptr(l), uintptr(h)}, f[3] + " " + f[4]}
		top = max(top, m.high)
		if m.low <= here && here < m.high {
			file = m.file
		}
		all = append(all, m)
	}
	for _, m := range all {
		// Take what is mapped of the file, and the zeroed part of its data directly after it:
		// instrumented code keeps counters there, and position-independent code needs it to find
		// its data.
		if m.file == file || (m.low == program.high && m.file == "00:00 0") {
			if program.high == 0 {
				program.low = m.low
			}
			program.low, program.high = min(program.low, m.low), max(program.high, m.high)
		}
	}
	if file == "" || program.high == 0 {
		return span{}, 0, errors.New("initproc: own program is not in the memory map")
	}
	return program, top, nil
}
