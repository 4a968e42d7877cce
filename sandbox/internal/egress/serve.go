package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// client is a connection whose first bytes can be inspected before they are read.
type client struct {
	net.Conn
	br *bufio.Reader
}

func (p *Proxy) newClient(c net.Conn) *client {
	return &client{c, bufio.NewReaderSize(c, p.cfg.HeadBytes)}
}

func (c *client) Read(b []byte) (int, error) { return c.br.Read(b) }

// CloseWrite passes on the end of the other side's output.
func (c *client) CloseWrite() error {
	if h, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return errors.ErrUnsupported
}

// hurry sets the client's deadline for completing its request to HeadTimeout from now.
func (p *Proxy) hurry(c *client) { _ = c.SetReadDeadline(time.Now().Add(p.cfg.HeadTimeout)) }

// The first bytes that distinguish protocols.
const (
	firstSOCKS5 = 5
	firstTLS    = recordHandshake
)

// serveProxy serves one connection of a client that uses the proxy explicitly.
func (p *Proxy) serveProxy(conn net.Conn) {
	c := p.newClient(conn)
	p.hurry(c)
	first, err := c.br.Peek(1)
	if err != nil {
		return
	}
	if first[0] == firstSOCKS5 {
		p.serveSOCKS(c)
		return
	}
	p.serveHTTP(c, 80, "")
}

// serveDirect serves one connection of a client that believes it is connected to the host itself.
// With TLS the name comes from the ClientHello, otherwise from the request.
func (p *Proxy) serveDirect(conn net.Conn, port uint16) {
	c := p.newClient(conn)
	p.hurry(c)
	first, err := c.br.Peek(1)
	if err != nil {
		return
	}
	if first[0] != firstTLS {
		p.serveHTTP(c, port, "")
		return
	}
	raw, name, err := readHello(c)
	if err != nil {
		p.badHello(c, name, port, err)
		return
	}
	if p.admit("tls", name, port) != nil {
		_, _ = c.Write(alertDenied)
		return
	}
	server, err := p.connect(p.ctx, "tls", name, port)
	if err != nil {
		_, _ = c.Write(alertDenied)
		return
	}
	defer server.Close()
	p.join(c, server, raw)
}

func (p *Proxy) badHello(c *client, name string, port uint16, err error) {
	var ne net.Error
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return // the client disconnected
	}
	reason := BadHello
	if errors.As(err, &ne) && ne.Timeout() {
		reason = TooMuch
	}
	p.refuse(Refusal{Host: name, Port: port, Via: "tls", Reason: reason, Detail: err.Error()})
	_, _ = c.Write(alertDenied)
}

// tunnel serves a client that has received the answer that its connection to name is open. It takes
// ownership of server.
func (p *Proxy) tunnel(c *client, server net.Conn, name string, port uint16) {
	defer server.Close()
	if port != 443 {
		p.looseTunnel(c, server, name, port)
		return
	}
	p.hurry(c)
	raw, asked, err := readHello(c)
	if err == nil && asked != name {
		err = fmt.Errorf("it asks for %q", asked)
	}
	if err != nil {
		p.badHello(c, name, port, err)
		return
	}
	p.join(c, server, raw)
}

// looseTunnel serves a port that the list names. Any protocol may pass, even one in which the
// server speaks first, but a ClientHello must ask for the right name.
func (p *Proxy) looseTunnel(c *client, server net.Conn, name string, port uint16) {
	_ = c.SetReadDeadline(time.Time{})
	p.join(&sniffed{client: c, check: func(first []byte) ([]byte, error) {
		if first[0] != firstTLS {
			return nil, nil
		}
		p.hurry(c)
		raw, asked, err := readHello(io.MultiReader(bytes.NewReader(first), c))
		if err == nil && asked != name {
			err = fmt.Errorf("it asks for %q", asked)
		}
		if err != nil {
			p.badHello(c, name, port, err)
		}
		return raw, err
	}}, server, nil)
}

// sniffed inspects what the client sends first, when it is sent.
type sniffed struct {
	*client
	check func(first []byte) (more []byte, err error)
	over  bool
	rest  []byte
}

func (s *sniffed) Read(b []byte) (int, error) {
	if !s.over {
		n, err := s.client.Read(b[:1])
		if n == 0 {
			return 0, err
		}
		s.over = true
		raw, err := s.check(b[:1])
		if err != nil {
			return 0, err
		}
		if raw == nil {
			return 1, nil
		}
		s.rest = raw
	}
	if len(s.rest) > 0 {
		n := copy(b, s.rest)
		s.rest = s.rest[n:]
		return n, nil
	}
	return s.client.Read(b)
}

func (p *Proxy) join(c, server net.Conn, first []byte) {
	if !p.enter(server) {
		return
	}
	defer p.leave(server)
	pipe(c, server, first, p.cfg.IdleTimeout)
}
