package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A pipe begins with a line of the far side, pipeHello, the version of the protocol and a newline.
// What programs print before, such as an ssh server's message of the day, is skipped. The client
// sends nothing before it: a shell that was started by mistake would execute it. Then both sides
// speak HTTP/2 without TLS over it, with one connection for all requests.
const (
	pipeHello   = "\x00luthier toolhost "
	pipeVersion = "1"
	// maxBanner bounds what may come before, and maxTold what of it an error shows.
	maxBanner = 1 << 20
	maxTold   = 4 << 10
)

// errNoHello means that the far side ended or said too much before the line came.
var errNoHello = errors.New("the far side does not answer as a toolhost")

// hello looks for the line in what the far side sends.
type hello struct {
	said []byte // what came before, its end
	seen int
	line []byte
}

// read reads up to the end of the line. It reads byte by byte, so that nothing of the protocol is
// consumed; said is small, and this happens once.
func (h *hello) read(r io.Reader) error {
	var b [1]byte
	for {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return errNoHello
			}
			return fmt.Errorf("%w: %w", errNoHello, err)
		}
		switch {
		case h.line != nil && b[0] == '\n':
			return h.check()
		case h.line != nil && len(h.line) < 20:
			h.line = append(h.line, b[0])
			continue
		case h.line != nil:
			return fmt.Errorf("%w: its first line is malformed", errNoHello)
		}
		if h.seen++; h.seen > maxBanner {
			return fmt.Errorf("%w: it printed more than %d bytes", errNoHello, maxBanner)
		}
		h.said = append(h.said, b[0])
		if b[0] == ' ' && bytes.HasSuffix(h.said, []byte(pipeHello)) {
			h.said = h.said[:len(h.said)-len(pipeHello)]
			h.line = []byte{}
		}
		if len(h.said) > 2*maxTold {
			h.said = append(h.said[:0], h.said[len(h.said)-maxTold:]...)
		}
	}
}

func (h *hello) check() error {
	version, tty := strings.CutSuffix(string(h.line), "\r")
	switch {
	case tty:
		return errors.New("the command has a terminal, which changes the bytes of the protocol; leave out -t")
	case version != pipeVersion:
		return fmt.Errorf("the toolhost speaks version %q of the protocol and this client version %s; install the same version on both sides", version, pipeVersion)
	}
	return nil
}

// told returns the end of a text that a command printed, for an error.
func told(what string, b []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(b[max(0, len(b)-maxTold):]), "?"))
	if text == "" {
		return ""
	}
	return "; " + what + ": " + text
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[max(0, len(p)-maxTold):]...)
	if len(t.b) > 2*maxTold {
		t.b = append(t.b[:0], t.b[len(t.b)-maxTold:]...)
	}
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.b)
}

// pipeConn makes a connection of a pipe. A pipe has no deadlines; those of HTTP/2 are kept by its
// pings and by closing it.
type pipeConn struct {
	io.ReadWriteCloser
	once  sync.Once
	ended chan struct{} // closed by Close
	err   error
}

func newPipeConn(p io.ReadWriteCloser) *pipeConn {
	return &pipeConn{ReadWriteCloser: p, ended: make(chan struct{})}
}

// Close closes the pipe once.
func (c *pipeConn) Close() error {
	c.once.Do(func() {
		c.err = c.ReadWriteCloser.Close()
		close(c.ended)
	})
	return c.err
}

// pipeAddr is the address of both ends.
type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

func (c *pipeConn) LocalAddr() net.Addr              { return pipeAddr{} }
func (c *pipeConn) RemoteAddr() net.Addr             { return pipeAddr{} }
func (c *pipeConn) SetDeadline(time.Time) error      { return nil }
func (c *pipeConn) SetReadDeadline(time.Time) error  { return nil }
func (c *pipeConn) SetWriteDeadline(time.Time) error { return nil }

// onlyHTTP2 is HTTP/2 without TLS.
func onlyHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}
