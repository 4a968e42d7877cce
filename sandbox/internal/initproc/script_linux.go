package initproc

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

// Script is a list of system calls that the init process makes before it serves. It is written in
// the parent, where code may allocate, look things up and fail.
type Script struct {
	calls   []call
	files   []int  // descriptors of the parent, to be sent along
	data    []byte // what pointers point to, in units of 8 bytes
	strings map[string]Arg
	probes  []int // calls whose success the answer reports
	links   []link
	passed  []int // calls that may return the descriptor to send with the answer
	err     error
}

// Wait makes the process read one byte from its control socket before it continues; until then the
// parent can make preparations that need the process.
func (s *Script) Wait() {
	s.add(call{what: "wait for the parent", nr: syscall.SYS_READ, least: 1}, []Arg{N(firstFile), s.Bytes(make([]byte, 8)), N(1)})
}

// File returns an argument for a descriptor of the caller. The process gets its own copy.
func (s *Script) File(fd int) Arg {
	s.files = append(s.files, fd)
	return Arg{argFile, uintptr(len(s.files) - 1)}
}

// link is a pointer within the data.
type link struct{ at, to uintptr }

// call is a system call to be made.
type call struct {
	what  string // for an error
	nr    uintptr
	args  [6]Arg
	allow syscall.Errno // an error that is tolerated
	may   bool          // every error is tolerated
	least int           // results below it are errors
	skip  int           // number of calls to skip after a success
}

// Arg is an argument of a call: a number, a place in the script's data, a file, or the result of an
// earlier call.
type Arg struct {
	kind  argKind
	value uintptr
}

type argKind uint8

const (
	argNumber argKind = iota
	argData
	argResult
	argFile
)

// N returns a number as an argument.
func N[T ~int | ~uint | ~int64 | ~uint64 | ~int32 | ~uint32 | ~uintptr](n T) Arg {
	return Arg{argNumber, uintptr(n)}
}

// String adds text to the data, terminated by a zero byte.
func (s *Script) String(text string) Arg {
	if a, ok := s.strings[text]; ok {
		return a
	}
	if strings.IndexByte(text, 0) >= 0 && s.err == nil {
		s.err = fmt.Errorf("initproc: %q has a zero byte: %w", text, syscall.EINVAL)
	}
	a := s.Bytes(append([]byte(text), 0))
	if s.strings == nil {
		s.strings = map[string]Arg{}
	}
	s.strings[text] = a
	return a
}

// Bytes adds b to the data, aligned to 8 bytes.
func (s *Script) Bytes(b []byte) Arg {
	at := len(s.data)
	s.data = append(s.data, b...)
	for len(s.data)%8 != 0 {
		s.data = append(s.data, 0)
	}
	return Arg{argData, uintptr(at)}
}

// Value adds a kernel structure without pointers to the data.
func Value[T any](s *Script, v *T) Arg {
	return s.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)))
}

// Link makes the word at an offset of some data a pointer to other data.
func (s *Script) Link(data Arg, offset uintptr, to Arg) {
	s.links = append(s.links, link{data.value + offset, to.value})
}

// Must adds a call that must succeed, and returns its result as an argument for later calls.
func (s *Script) Must(what string, nr uintptr, args ...Arg) Arg {
	return s.add(call{what: what, nr: nr}, args)
}

// May adds a call that may fail.
func (s *Script) May(nr uintptr, args ...Arg) Arg {
	return s.add(call{nr: nr, may: true}, args)
}

// MustBut is Must for a call that may also fail with e.
func (s *Script) MustBut(e syscall.Errno, what string, nr uintptr, args ...Arg) Arg {
	return s.add(call{what: what, nr: nr, allow: e}, args)
}

// Else makes the following n calls alternatives of the call added last: if that succeeds, they are
// skipped.
func (s *Script) Else(n int) { s.calls[len(s.calls)-1].skip = n }

// Probe makes the answer report whether the call added last succeeded; it returns the corresponding
// bit of Answer.Probes.
func (s *Script) Probe() uint64 {
	s.probes = append(s.probes, len(s.calls)-1)
	return 1 << (len(s.probes) - 1)
}

// Pass sends a descriptor with the answer: the result of the first of these calls that was made and
// succeeded.
func (s *Script) Pass(results ...Arg) {
	for _, r := range results {
		s.passed = append(s.passed, int(r.value))
	}
}

func (s *Script) add(c call, args []Arg) Arg {
	copy(c.args[:], args)
	if s.calls == nil { // a root takes some hundred calls
		s.calls, s.data = make([]call, 0, 320), append(make([]byte, 0, 16<<10), s.data...)
	}
	s.calls = append(s.calls, c)
	return Arg{argResult, uintptr(len(s.calls) - 1)}
}

// Explain returns the error for the refusal a.
func (s *Script) Explain(a *Answer) error {
	if a.PID < 0 || a.PID >= int64(len(s.calls)) {
		return ErrAnswer
	}
	what := s.calls[a.PID].what
	if a.Errno == 0 {
		return errors.New(what + ": the parent ended")
	}
	return fmt.Errorf("%s: %w", what, a.Errno)
}

// Run makes the calls in this process, on the calling thread.
func (s *Script) Run() error {
	region := make([]uint64, (len(s.data)+len(s.calls)*int(unsafe.Sizeof(op{})))/8+16)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&region[0])), 8*len(region))
	if err := s.layout(bytes, func(i int) int { return s.files[i] }); err != nil {
		return err
	}
	var a Answer
	ok := run(uintptr(unsafe.Pointer(&region[0])), &a)
	runtime.KeepAlive(region)
	if !ok {
		return s.Explain(&a)
	}
	return nil
}
