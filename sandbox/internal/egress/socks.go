package egress

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// SOCKS version 5, RFC 1928: CONNECT to a name, without authentication.
const (
	socksConnect = 1

	socksIPv4 = 1
	socksName = 3
	socksIPv6 = 4

	socksOK          = 0
	socksFailed      = 1
	socksForbidden   = 2
	socksUnreachable = 4
	socksCommand     = 7
	socksNoMethod    = 0xff
)

// socksRequest is a client's request.
type socksRequest struct {
	command byte
	host    string
	address bool // host is an IP address
	port    uint16
}

// readSOCKSRequest reads the request that follows the greeting.
func readSOCKSRequest(r io.Reader) (q socksRequest, err error) {
	var b [256]byte
	if _, err := io.ReadFull(r, b[:4]); err != nil {
		return q, err
	}
	if b[0] != 5 || b[2] != 0 {
		return q, errors.New("malformed SOCKS request")
	}
	q.command = b[1]
	size := 0
	switch b[3] {
	case socksIPv4:
		size, q.address = 4, true
	case socksIPv6:
		size, q.address = 16, true
	case socksName:
		if _, err := io.ReadFull(r, b[:1]); err != nil {
			return q, err
		}
		size = int(b[0])
	default:
		return q, fmt.Errorf("SOCKS address type %d", b[3])
	}
	if _, err := io.ReadFull(r, b[:size]); err != nil {
		return q, err
	}
	q.host = string(b[:size])
	if q.address {
		a, _ := netip.AddrFromSlice(b[:size])
		q.host = a.String()
	}
	if _, err := io.ReadFull(r, b[:2]); err != nil {
		return q, err
	}
	q.port = uint16(b[0])<<8 | uint16(b[1])
	return q, nil
}

// greetSOCKS negotiates that no authentication is used.
func greetSOCKS(c io.ReadWriter) error {
	var b [255]byte
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return err
	}
	n := int(b[1])
	if _, err := io.ReadFull(c, b[:n]); err != nil {
		return err
	}
	for _, m := range b[:n] {
		if m == 0 {
			_, err := c.Write([]byte{5, 0})
			return err
		}
	}
	_, _ = c.Write([]byte{5, socksNoMethod})
	return errors.New("SOCKS client wants to authenticate")
}

func socksReply(c io.Writer, code byte) bool {
	_, err := c.Write([]byte{5, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err == nil
}

func (p *Proxy) serveSOCKS(c *client) {
	if greetSOCKS(c) != nil {
		return
	}
	q, err := readSOCKSRequest(c)
	if err != nil {
		socksReply(c, socksFailed)
		return
	}
	name, err := Canonical(q.host)
	switch {
	case q.command != socksConnect:
		p.refuse(Refusal{Host: q.host, Port: q.port, Via: "socks5", Reason: BadRequest, Detail: "only CONNECT is served"})
		socksReply(c, socksCommand)
		return
	case q.address:
		err = fmt.Errorf("host %q %w; let the proxy resolve names (socks5h)", q.host, errAddress)
		fallthrough
	case err != nil:
		p.unnamed("socks5", q.host, q.port, err)
		socksReply(c, socksForbidden)
		return
	}
	if p.admit("socks5", name, q.port) != nil {
		socksReply(c, socksForbidden)
		return
	}
	if q.port == 80 {
		if socksReply(c, socksOK) {
			p.serveHTTP(c, 80, name+":80")
		}
		return
	}
	server, err := p.connect(p.ctx, "socks5", name, q.port)
	if err != nil {
		socksReply(c, socksUnreachable)
		return
	}
	_ = c.SetWriteDeadline(time.Now().Add(p.cfg.HeadTimeout))
	if !socksReply(c, socksOK) {
		server.Close()
		return
	}
	_ = c.SetWriteDeadline(time.Time{})
	p.tunnel(c, server, name, q.port)
}
