package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The host and a sandbox's supervisor speak over a Unix stream socket. A frame
// is four bytes of length, big endian, and that many bytes of JSON; open files
// travel with the first byte of a frame.

// maxFrame bounds a frame: the kernel takes no more than 6 MiB of arguments and
// environment.
const maxFrame = 8 << 20

// maxFrameFiles is the most files a frame carries.
const maxFrameFiles = 3

// request is what the host asks of the supervisor.
type request struct {
	ID     uint64         `json:"id"`            // the command's, chosen by the host
	Seq    uint64         `json:"seq,omitempty"` // of a signal or kill, to be answered
	Op     string         `json:"op"`
	Args   []string       `json:"args,omitempty"`
	Dir    string         `json:"dir,omitempty"`
	Env    []string       `json:"env,omitempty"`
	Signal syscall.Signal `json:"signal,omitempty"`
}

// The operations.
const (
	opStart  = "start"  // files: stdin, stdout, stderr
	opSignal = "signal" // to the process group
	opKill   = "kill"   // the whole tree
	opAdopt  = "adopt"  // file: an output pipe to be emptied until its writers are gone
)

// reply is what the supervisor tells the host.
type reply struct {
	ID     uint64     `json:"id,omitempty"`
	Seq    uint64     `json:"seq,omitempty"`
	Event  string     `json:"event"`
	PID    int        `json:"pid,omitempty"`
	Error  *wireError `json:"error,omitempty"`
	Status *status    `json:"status,omitempty"`
	Facts  *facts     `json:"facts,omitempty"`
}

// The events.
const (
	evHello   = "hello"   // the sandbox is ready, or could not be made
	evStarted = "started" // or could not be
	evDone    = "done"    // answer to a signal or kill
	evExited  = "exited"
)

// wireError is an error that keeps what errors.Is needs across the socket.
type wireError struct {
	Text  string        `json:"text"`
	Errno syscall.Errno `json:"errno,omitempty"`
	Lost  bool          `json:"lost,omitempty"` // exec.ErrNotFound
	Ended bool          `json:"ended,omitempty"`
}

func toWire(err error) *wireError {
	if err == nil {
		return nil
	}
	w := &wireError{Text: err.Error(), Lost: errors.Is(err, exec.ErrNotFound), Ended: errors.Is(err, os.ErrProcessDone)}
	errors.As(err, &w.Errno)
	return w
}

func (w *wireError) Error() string { return w.Text }

func (w *wireError) Is(target error) bool {
	switch target {
	case exec.ErrNotFound:
		return w.Lost
	case os.ErrProcessDone:
		return w.Ended
	}
	return w.Errno != 0 && errors.Is(w.Errno, target)
}

// err keeps a nil *wireError from becoming a non-nil error.
func (w *wireError) err() error {
	if w == nil {
		return nil
	}
	return w
}

// conn frames messages on a socket. send may be called concurrently, receive not.
type conn struct {
	sock *net.UnixConn
	mu   sync.Mutex
}

func newConn(f *os.File) (*conn, error) {
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("control descriptor is not a Unix socket")
	}
	return &conn{sock: u}, nil
}

// socketPair returns two ends of a stream, both closed on exec.
func socketPair() (host, guest *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}

func (c *conn) close() error { return c.sock.Close() }

func (c *conn) send(v any, files ...*os.File) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > maxFrame {
		return fmt.Errorf("%d bytes of arguments and environment: %w", len(body), syscall.E2BIG)
	}
	frame := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))), body...)
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = unix.UnixRights(fds...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _, err := c.sock.WriteMsgUnix(frame, oob, nil)
	runtime.KeepAlive(files)
	for err == nil && n < len(frame) {
		var m int
		m, err = c.sock.Write(frame[n:])
		n += m
	}
	return err
}

func (c *conn) receive(v any) ([]*os.File, error) {
	var head [4]byte
	oob := make([]byte, unix.CmsgSpace(4*maxFrameFiles))
	n, oobn, _, _, err := c.sock.ReadMsgUnix(head[:], oob)
	if err != nil {
		return nil, err
	}
	files, err := rights(oob[:oobn])
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	err = c.body(head, n, v)
	if err != nil {
		closeFiles(files)
		return nil, err
	}
	return files, nil
}

func (c *conn) body(head [4]byte, got int, v any) error {
	if _, err := io.ReadFull(c.sock, head[got:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return fmt.Errorf("control frame of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c.sock, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

// rights reads the files out of ancillary data.
func rights(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue // credentials and the like, which carry no descriptor
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
