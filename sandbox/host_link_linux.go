package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/proctree"
	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
)

// link is the host's connection to the process that starts commands inside. ask may be called
// concurrently, listenFiles may not.
type link interface {
	ask(r request, files ...*os.File) error
	listenFiles() (reply, []*os.File, error)
	hangUp() // no more requests will follow
	close() error
}

func (c *conn) ask(r request, files ...*os.File) error { return c.tell(r, files...) }
func (c *conn) hangUp()                                { _ = c.sock.CloseWrite() }

// firstLink talks to an init process that the broker made, and to the broker for what the init
// process does not do itself.
type firstLink struct {
	sock   *net.UnixConn
	b      *broker
	key    uint64
	mark   string // the value of spec.marker
	limits Limits

	mu       sync.Mutex
	pending  map[uint64]*initproc.Command // commands whose start has not been answered yet
	buf, oob []byte
}

func newFirstLink(f *os.File, b *broker, key uint64, mark string, l Limits) (*firstLink, error) {
	u, err := unixSocket(f)
	if err != nil {
		return nil, err
	}
	return &firstLink{sock: u, b: b, key: key, mark: mark, limits: l, pending: map[uint64]*initproc.Command{},
		buf: make([]byte, 64<<10), oob: make([]byte, unix.CmsgSpace(4))}, nil
}

func (l *firstLink) hangUp()      { _ = l.sock.CloseWrite() }
func (l *firstLink) close() error { return l.sock.Close() }

func (l *firstLink) ask(r request, files ...*os.File) error {
	switch r.Op {
	case opStart:
		return l.start(r, files)
	case opSignal:
		return l.send(initproc.Signal(r.Seq, r.ID, r.Signal))
	case opReset:
		return l.send(initproc.Reset(r.Seq))
	case opListen:
		m, err := listenMessage(r)
		if err != nil {
			return err
		}
		return l.send(m)
	case opAdopt:
		_, _, err := l.b.ask(context.Background(), brokerRequest{Op: opDrain}, files...)
		return err
	}
	return fmt.Errorf("request %q: %w", r.Op, errors.ErrUnsupported)
}

// start requests a command. The program is looked up inside, since its paths are valid only there.
func (l *firstLink) start(r request, files []*os.File) error {
	if len(files) != 3 || len(r.Args) == 0 {
		return errors.New("start without standard files or arguments")
	}
	c := &initproc.Command{ID: r.ID, Args: r.Args, Dir: r.Dir, Env: mergeEnv(r.Env, []string{commandMarker(l.mark, r.ID)}), Data: l.limits.Memory}
	if c.Paths = programPaths(r.Args[0], r.Dir, c.Env); len(c.Paths) == 0 {
		return exec.ErrNotFound
	}
	copy(c.Files[:], files)
	m, err := c.Encode()
	if err != nil {
		return err
	}
	c.Env, c.Files = nil, [3]*os.File{}
	l.mu.Lock()
	l.pending[r.ID] = c
	l.mu.Unlock()
	if err := l.send(m); err != nil {
		l.mu.Lock()
		delete(l.pending, r.ID)
		l.mu.Unlock()
		return err
	}
	return nil
}

func (l *firstLink) send(m *initproc.Message) error {
	defer m.Close()
	var oob []byte
	if len(m.Files) > 0 {
		fds := make([]int, len(m.Files))
		for i, f := range m.Files {
			fds[i] = int(f.Fd())
		}
		oob = unix.UnixRights(fds...)
	}
	_, _, err := l.sock.WriteMsgUnix(m.Bytes, oob, nil)
	return err
}

// kill has the broker end a command and its descendants. pid is 0 if the command itself has ended;
// alone means that no other command ran at the same time.
func (l *firstLink) kill(id uint64, pid int, alone bool) error {
	o := &killOrder{Key: l.key, PID: pid, Marker: commandMarker(l.mark, id)}
	if alone {
		o.Family = l.mark
	}
	_, _, err := l.b.ask(context.Background(), brokerRequest{Op: opKillTree, Kill: o})
	return err
}

// listenMessage requests a socket on a loopback address; the request's arguments are the network,
// "tcp4" or "udp4", and the address.
func listenMessage(r request) (*initproc.Message, error) {
	if len(r.Args) != 2 {
		return nil, errors.New("listen without network and address")
	}
	addr, err := netip.ParseAddrPort(r.Args[1])
	if err != nil || !addr.Addr().Is4() {
		return nil, fmt.Errorf("listen on address %q: %w", r.Args[1], syscall.EINVAL)
	}
	sa := make([]byte, unix.SizeofSockaddrInet4)
	binary.NativeEndian.PutUint16(sa, unix.AF_INET)
	binary.BigEndian.PutUint16(sa[2:], addr.Port())
	copy(sa[4:], addr.Addr().AsSlice())
	switch r.Args[0] {
	case "tcp4":
		return initproc.Listen(r.Seq, unix.AF_INET, unix.SOCK_STREAM, unix.SOMAXCONN, sa), nil
	case "udp4":
		return initproc.Listen(r.Seq, unix.AF_INET, unix.SOCK_DGRAM, 0, sa), nil
	}
	return nil, fmt.Errorf("listen on network %q", r.Args[0])
}

func (l *firstLink) listenFiles() (r reply, files []*os.File, err error) {
	n, oobn, _, _, err := l.sock.ReadMsgUnix(l.buf, l.oob)
	if err != nil {
		return r, nil, err
	}
	if files, err = rights(l.oob[:oobn]); err != nil {
		return r, nil, err
	}
	switch {
	case n == 0:
		err = io.EOF
	case l.buf[0] == '{': // from the broker
		r, err = parseReply(l.buf[:n])
	default:
		var a initproc.Answer
		if a, err = initproc.ParseAnswer(l.buf[:n]); err == nil {
			r = l.translate(&a)
		}
	}
	if err != nil {
		closeFiles(files)
		return reply{}, nil, err
	}
	return r, files, nil
}

// translate converts an answer of the init process into a supervisor's reply.
func (l *firstLink) translate(a *initproc.Answer) reply {
	switch a.Event {
	case initproc.Started, initproc.Failed:
		l.mu.Lock()
		c := l.pending[a.ID]
		delete(l.pending, a.ID)
		l.mu.Unlock()
		r := reply{ID: a.ID, Event: evStarted, PID: int(a.PID)}
		if a.Event == initproc.Failed {
			r.PID, r.Error = 0, toWire(startError(a, c))
		}
		return r
	case initproc.Exited:
		code, sig := proctree.WaitStatus(syscall.WaitStatus(a.Wait))
		st := &status{Code: code, Signal: sig, MaxRSS: a.RSS << 10}
		st.User, st.System = a.Usage()
		return reply{ID: a.ID, Event: evExited, Status: st}
	}
	r := reply{Seq: a.ID, Event: evDone}
	switch a.Errno {
	case 0:
	case unix.ESRCH:
		r.Error = toWire(os.ErrProcessDone)
	default:
		r.Error = toWire(a.Errno)
	}
	return r
}

// startError returns the reason why a command could not be started.
func startError(a *initproc.Answer, c *initproc.Command) error {
	if c == nil {
		return a.Errno
	}
	switch a.Stage {
	case initproc.StageDir:
		return fmt.Errorf("working directory: %w", &os.PathError{Op: "chdir", Path: c.Dir, Err: a.Errno})
	case initproc.StageExec:
		if a.Errno == unix.ENOENT && !strings.Contains(c.Args[0], "/") {
			return exec.ErrNotFound
		}
		return &os.PathError{Op: "exec", Path: c.Paths[min(int(a.Path), len(c.Paths)-1)], Err: a.Errno}
	case initproc.StageFork:
		return os.NewSyscallError("fork", a.Errno)
	}
	return os.NewSyscallError("prepare process", a.Errno)
}
