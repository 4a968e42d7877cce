package initproc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The control socket is a SOCK_SEQPACKET: a message is one frame or one answer, in the machine's
// byte order. A body too large for the inline buffer is sent as a file in memory, which the init
// process maps.

// frame is the header of a request.
type frame struct {
	op    uint32
	size  uint32 // of the body
	id    uint64 // of the command, or of a request that concerns none
	args  uint32 // start: number of arguments; signal: the signal; listen: the socket's domain
	env   uint32 // start: number of variables; listen: the socket's type
	paths uint32 // start: number of paths; listen: the backlog, or 0 for none
	dir   uint32 // start: offset of the directory in the body
	data  uint64 // start: RLIMIT_DATA, or 0
}

// The operations.
const (
	opStart  = 1 + iota // files: stdin, stdout, stderr, and the body if it is not inline
	opSignal            // to a command's process group
	opReset             // kill all other processes, and answer when they are gone
	opListen            // answered with a socket
)

// Event is the kind of an Answer.
type Event uint32

// The events. None equals the first byte of a text message.
const (
	Ready   Event = 1 + iota // the script is done
	Refused                  // the script failed
	Started                  // a command runs
	Failed                   // a command could not be started
	Exited                   // a command has ended
	Done                     // a request other than a start was carried out or failed: see Errno
)

// Stage is the step at which starting a command failed.
type Stage uint32

// The stages.
const (
	StageFork  Stage = 1 + iota // no process could be made
	StageFiles                  // standard files, limits
	StageDir                    // the working directory
	StageExec                   // the program
)

// Answer is a message of the init process.
type Answer struct {
	Event  Event
	Errno  syscall.Errno // Refused, Failed, Done
	ID     uint64        // of the command or the request
	PID    int64         // Started; Refused: index of the failed call in the script
	Stage  Stage         // Failed
	Path   uint32        // Failed in StageExec: index of the path
	Wait   int32         // Exited: the wait status
	Probes uint64        // Ready: the probes that succeeded
	RSS    int64         // Exited: the largest resident set, in kibibytes
	User   int64         // Exited, in nanoseconds
	System int64
}

// answerSize is the length of an answer on the wire.
const answerSize = int(unsafe.Sizeof(Answer{}))

// ErrAnswer means that a message is not an answer of an init process.
var ErrAnswer = errors.New("initproc: malformed answer")

// ParseAnswer reads an answer. It may come from somebody who took over the init process, so it must
// not be trusted beyond that process's own sandbox.
func ParseAnswer(b []byte) (a Answer, err error) {
	if len(b) != answerSize {
		return a, ErrAnswer
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&a)), answerSize), b)
	if a.Event < Ready || a.Event > Done {
		return Answer{}, ErrAnswer
	}
	return a, nil
}

// Usage returns the processor time of an ended command.
func (a *Answer) Usage() (user, system time.Duration) {
	return time.Duration(a.User), time.Duration(a.System)
}

// Command is a command to be started.
type Command struct {
	ID    uint64
	Paths []string // paths of the program, tried in order until one exists
	Args  []string
	Dir   string
	Env   []string
	Files [3]*os.File
	Data  int64 // RLIMIT_DATA in bytes, if positive
}

// Message is a request ready to be sent.
type Message struct {
	Bytes []byte
	Files []*os.File
	own   *os.File // the file in Files that the message must close
}

// Close closes the message's own file, once the message is sent.
func (m *Message) Close() {
	if m.own != nil {
		m.own.Close()
	}
}

// inlineSize is the longest body that is sent within its frame.
const inlineSize = 48 << 10

// MaxBody bounds a body: the kernel accepts at most 6 MiB of arguments and environment.
const MaxBody = 16 << 20

// Encode returns the request to start c.
func (c *Command) Encode() (*Message, error) {
	if len(c.Args) == 0 || len(c.Paths) == 0 {
		return nil, fmt.Errorf("initproc: no program: %w", syscall.EINVAL)
	}
	words := len(c.Args) + 1 + len(c.Env) + 1 + len(c.Paths)
	size := 8*words + len(c.Dir) + 1
	for _, list := range [][]string{c.Args, c.Env, c.Paths} {
		for _, s := range list {
			size += len(s) + 1
		}
	}
	if size > MaxBody {
		return nil, fmt.Errorf("initproc: %d bytes of arguments and environment: %w", size, syscall.E2BIG)
	}
	head := frame{
		op: opStart, size: uint32(size), id: c.ID, args: uint32(len(c.Args)), env: uint32(len(c.Env)), paths: uint32(len(c.Paths)),
		data: uint64(max(c.Data, 0)),
	}
	b := make([]byte, headSize+size)
	body, at, word := b[headSize:], 8*words, 0
	put := func(s string) (err error) {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("initproc: %q has a zero byte: %w", s, syscall.EINVAL)
		}
		at += copy(body[at:], s) + 1
		return nil
	}
	for i, list := range [][]string{c.Args, c.Env, c.Paths} {
		for _, s := range list {
			binary.NativeEndian.PutUint64(body[8*word:], uint64(at))
			word++
			if err := put(s); err != nil {
				return nil, err
			}
		}
		if i < 2 {
			word++ // the null pointer that ends the list
		}
	}
	head.dir = uint32(at)
	if err := put(c.Dir); err != nil {
		return nil, err
	}
	head.put(b)
	m := &Message{Bytes: b, Files: slices.Clone(c.Files[:])}
	if size <= inlineSize {
		return m, nil
	}
	f, err := memoryFile(body)
	if err != nil {
		return nil, err
	}
	return &Message{Bytes: b[:headSize], Files: append(m.Files, f), own: f}, nil
}

func memoryFile(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("body", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "body")
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Signal returns the request to send a signal to a command's process group.
func Signal(seq, command uint64, sig syscall.Signal) *Message {
	// This is the only request that names a command and is answered by its own number.
	return (&frame{op: opSignal, id: seq, args: uint32(sig), data: command}).message()
}

// Reset returns the request to kill all processes except the init process.
func Reset(seq uint64) *Message { return (&frame{op: opReset, id: seq}).message() }

// Listen returns the request to open a socket inside, bound to an address; with a backlog it
// listens. The answer carries the socket.
func Listen(seq uint64, domain, typ, backlog int, addr []byte) *Message {
	f := frame{op: opListen, size: uint32(len(addr)), id: seq, args: uint32(domain), env: uint32(typ), paths: uint32(backlog)}
	m := f.message()
	m.Bytes = append(m.Bytes, addr...)
	return m
}

const headSize = int(unsafe.Sizeof(frame{}))

func (f *frame) put(b []byte) {
	copy(b, unsafe.Slice((*byte)(unsafe.Pointer(f)), headSize))
}

func (f *frame) message() *Message {
	m := &Message{Bytes: make([]byte, headSize)}
	f.put(m.Bytes)
	return m
}
