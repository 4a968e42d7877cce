package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The host and a supervisor, if the sandbox has one, communicate over a Unix stream socket. A frame
// is four bytes of length, big endian, and that many bytes; open files travel with the first byte
// of a frame. The host's messages are gob or, for requests, encoded by hand; both preserve names
// with arbitrary bytes. The supervisor's messages are JSON: the supervisor may have been taken
// over, and gob is not designed for hostile input.

// maxFrame bounds a frame: the kernel accepts at most 6 MiB of arguments and environment.
const maxFrame = 16 << 20

// maxFrameFiles is the most files a frame carries.
const maxFrameFiles = 3

// request is a request of the host to the supervisor.
type request struct {
	ID     uint64 // the command's number, chosen by the host
	Seq    uint64 // number of a request that must be answered
	Op     string
	Args   []string
	Dir    string
	Env    []string
	Signal syscall.Signal
}

// The operations.
const (
	opStart  = "start"  // files: stdin, stdout, stderr
	opSignal = "signal" // to the process group
	opKill   = "kill"   // the whole tree
	opReset  = "reset"  // kill every process except the init process; only for an init process that the broker made
	opAdopt  = "adopt"  // file: an output pipe to read until all writers have closed it
	opListen = "listen" // on a loopback address inside: Args are network and address; the answer's file is the socket
)

// reply is a message of the supervisor to the host.
type reply struct {
	ID     uint64     `json:"id,omitempty"`
	Seq    uint64     `json:"seq,omitempty"`
	Event  string     `json:"event"`
	PID    int        `json:"pid,omitempty"`
	Error  *wireError `json:"error,omitempty"`
	Status *status    `json:"status,omitempty"`
	Facts  *facts     `json:"facts,omitempty"`

	Denial  *Denial `json:"denial,omitempty"`
	Lineage []int   `json:"lineage,omitempty"` // evDenied: PIDs by which the command is found
	Since   int64   `json:"since,omitempty"`   // evExceeded: in terms of sinceBoot, before the check that found it
}

func (r *reply) encode() ([]byte, error) { return json.Marshal(r) }

// The events.
const (
	evHello    = "hello"    // the sandbox is ready, or could not be made
	evListener = "listener" // file: the supervisor's seccomp listener, before evHello
	evStarted  = "started"  // the command runs, or could not be started
	evDone     = "done"     // answer to a signal or kill
	evExited   = "exited"

	evDenied    = "denied"    // a call was refused; sent by the broker
	evUnwatched = "unwatched" // the sandbox is about to be ended because its memory can no longer be watched; sent by the broker
	evExceeded  = "exceeded"  // the processes exceed the sandbox's memory limit; sent by the broker
)

// wireError is an error that works with errors.Is across the socket.
type wireError struct {
	Text  string        `json:"text"`
	Errno syscall.Errno `json:"errno,omitempty"`
	Kinds []string      `json:"is,omitempty"` // names from wireSentinels
}

// wireSentinels lists the errors that can be distinguished, besides system errors.
func wireSentinels() map[string]error {
	return map[string]error{
		"not found": exec.ErrNotFound, "ended": os.ErrProcessDone,
		"permission": os.ErrPermission, "not exist": os.ErrNotExist, "exist": os.ErrExist,
	}
}

func toWire(err error) *wireError {
	if err == nil {
		return nil
	}
	w := &wireError{Text: err.Error()}
	errors.As(err, &w.Errno)
	for name, sentinel := range wireSentinels() {
		if errors.Is(err, sentinel) {
			w.Kinds = append(w.Kinds, name)
		}
	}
	return w
}

func (w *wireError) Error() string { return w.Text }

// Is implements errors.Is.
func (w *wireError) Is(target error) bool {
	sentinels := wireSentinels()
	return slices.ContainsFunc(w.Kinds, func(name string) bool { return sentinels[name] == target }) ||
		w.Errno != 0 && errors.Is(w.Errno, target)
}

// err converts w to an error; a nil *wireError becomes a nil error.
func (w *wireError) err() error {
	if w == nil {
		return nil
	}
	return w
}

// conn frames messages on a socket. send may be called concurrently, receive not.
type conn struct {
	sock  *net.UnixConn
	mu    sync.Mutex
	types *gobStream // if nil, every frame describes its types
}

func newConn(f *os.File) (*conn, error) {
	u, err := unixSocket(f)
	if err != nil {
		return nil, err
	}
	return &conn{sock: u}, nil
}

// unixSocket takes over f, the control socket.
func unixSocket(f *os.File) (*net.UnixConn, error) {
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
	return u, nil
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

// tell sends a message of the host: a spec or a request.
func (c *conn) tell(v any, files ...*os.File) error {
	if r, ok := v.(request); ok {
		return c.send(r.encode(), files)
	}
	if c.types != nil {
		return c.types.tell(c, v, files)
	}
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(v); err != nil {
		return err
	}
	return c.send(body.Bytes(), files)
}

// hear receives a message of the host.
func (c *conn) hear(v any) ([]*os.File, error) {
	body, files, err := c.receive()
	if err == nil {
		err = c.decode(body, v)
	}
	if err != nil {
		closeFiles(files)
		return nil, err
	}
	return files, nil
}

func (c *conn) decode(body []byte, v any) error {
	if r, ok := v.(*request); ok {
		return r.decode(body)
	}
	if c.types != nil {
		return c.types.hear(body, v)
	}
	return gob.NewDecoder(bytes.NewReader(body)).Decode(v)
}

// answer sends a message of the supervisor.
func (c *conn) answer(r reply, files ...*os.File) error {
	body, err := r.encode()
	if err != nil {
		return err
	}
	return c.send(body, files)
}

// listen receives a message of the supervisor that carries no files.
func (c *conn) listen() (r reply, err error) {
	r, files, err := c.listenFiles()
	closeFiles(files)
	return r, err
}

// listenFiles is listen for an answer that may carry sockets made inside.
func (c *conn) listenFiles() (r reply, files []*os.File, err error) {
	body, files, err := c.receive()
	if err != nil {
		return r, nil, err
	}
	if r, err = parseReply(body); err != nil {
		closeFiles(files)
		return r, nil, err
	}
	return r, files, nil
}

func parseReply(body []byte) (r reply, err error) {
	err = json.Unmarshal(body, &r)
	return r, err
}

func (c *conn) send(body []byte, files []*os.File) error {
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

func (c *conn) receive() ([]byte, []*os.File, error) {
	var head [4]byte
	oob := make([]byte, unix.CmsgSpace(4*maxFrameFiles))
	n, oobn, _, _, err := c.sock.ReadMsgUnix(head[:], oob)
	if err != nil {
		return nil, nil, err
	}
	files, err := rights(oob[:oobn])
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return nil, nil, io.EOF
	}
	body, err := c.body(head, n)
	if err != nil {
		closeFiles(files)
		return nil, nil, err
	}
	return body, files, nil
}

func (c *conn) body(head [4]byte, got int) ([]byte, error) {
	if _, err := io.ReadFull(c.sock, head[got:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return nil, fmt.Errorf("control frame of %d bytes", size)
	}
	body := make([]byte, size)
	_, err := io.ReadFull(c.sock, body)
	return body, err
}

// rights extracts the files from ancillary data.
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
			continue // for example credentials, which carry no descriptor
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
