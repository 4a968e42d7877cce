package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// serveHTTP serves the requests of one connection. port is the default for a name without a port;
// if only is set, requests may be only for that host:port.
func (p *Proxy) serveHTTP(c *client, port uint16, only string) {
	for {
		p.hurry(c)
		req, header, err := readRequest(c.br)
		if err != nil {
			p.badRequest(c, err)
			return
		}
		if req.Method == http.MethodConnect {
			if only == "" {
				p.serveConnect(c, req, header)
			}
			return
		}
		_ = c.SetReadDeadline(time.Time{})
		if !p.serveRequest(c, req, header, port, only) {
			return
		}
	}
}

// badRequest answers a head that cannot be read. If a client just closed the connection, or waited
// on a kept connection for nothing more, that is not a refusal.
func (p *Proxy) badRequest(c *client, err error) {
	var ne net.Error
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return
	case errors.As(err, &ne) && ne.Timeout():
		if c.br.Buffered() > 0 {
			p.refuse(Refusal{Via: "http", Reason: TooMuch, Detail: "request head did not arrive in time"})
		}
		return
	}
	answer(c, http.StatusBadRequest, p.refuse(Refusal{Via: "http", Reason: BadRequest, Detail: err.Error()}).Error())
}

// answer ends a connection with a status and a line of text.
func answer(c *client, status int, text string) {
	text = "egress: " + text + "\n"
	_ = c.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(text), text)
	// Data that the client still sends must not turn the answer into a reset.
	_ = c.CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	// Read past the buffer, through which a failed request's body may still be read.
	_, _ = io.CopyN(io.Discard, c.Conn, 256<<10)
}

func answerError(c *client, err error) {
	var r *Refusal
	if errors.As(err, &r) {
		answer(c, http.StatusForbidden, r.Error())
		return
	}
	answer(c, http.StatusBadGateway, err.Error())
}

func (p *Proxy) serveConnect(c *client, req *http.Request, header string) {
	name, port, err := target(req, header, 0)
	if err == nil && port == 0 {
		err = fmt.Errorf("%w: CONNECT without a port", errHead)
	}
	if err != nil {
		answerError(c, p.unnamed("connect", name, port, err))
		return
	}
	if r := p.admit("connect", name, port); r != nil {
		answerError(c, r)
		return
	}
	if port == 80 {
		// A tunnel to a plain port carries requests; each is checked.
		if _, err := io.WriteString(c, established); err == nil {
			p.serveHTTP(c, 80, name+":80")
		}
		return
	}
	server, err := p.connect(p.ctx, "connect", name, port)
	if err != nil {
		answerError(c, err)
		return
	}
	if _, err := io.WriteString(c, established); err != nil {
		server.Close()
		return
	}
	p.tunnel(c, server, name, port)
}

const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// serveRequest forwards one plain request and reports whether the connection can carry another.
func (p *Proxy) serveRequest(c *client, req *http.Request, header string, port uint16, only string) bool {
	name, asked, err := target(req, header, port)
	host := net.JoinHostPort(name, strconv.Itoa(int(asked)))
	if err == nil && only != "" && host != only {
		err = fmt.Errorf("%w: Host is %q in a tunnel to %q", errHead, name, only)
	}
	if err == nil && asked == 443 {
		err = fmt.Errorf("%w: plain HTTP to port 443; use CONNECT", errHead)
	}
	if err != nil {
		answerError(c, p.unnamed("http", name, asked, err))
		return false
	}
	if r := p.admit("http", name, asked); r != nil {
		answerError(c, r)
		return false
	}
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	idle := newIdle(c, p.cfg.IdleTimeout, cancel)
	defer idle.stop()
	if req.Header.Get("Expect") != "" {
		if !strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
			answer(c, http.StatusExpectationFailed, "Expect is not supported")
			return false
		}
		if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return false
		}
	}
	body := req.Body
	out := outgoing(req.WithContext(ctx), webHost(name, asked))
	if body != nil && body != http.NoBody {
		out.Body = idle.reader(body)
	}
	resp, err := p.web.RoundTrip(out)
	if err != nil {
		answerError(c, err)
		return false
	}
	defer resp.Body.Close()
	return p.respond(c, req, resp, idle)
}

// webHost omits the default port, as clients do.
func webHost(name string, port uint16) string {
	if port == 80 {
		return name
	}
	return net.JoinHostPort(name, strconv.Itoa(int(port)))
}

// respond forwards an answer and reports whether another request may follow.
func (p *Proxy) respond(c *client, req *http.Request, resp *http.Response, idle *idle) bool {
	dropHop(resp.Header)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		answer(c, http.StatusBadGateway, "the server switches protocols, which a plain request cannot; use CONNECT")
		return false
	}
	resp.Body = idle.reader(resp.Body)
	resp.Request = req
	resp.Proto, resp.ProtoMajor, resp.ProtoMinor = "HTTP/1.1", 1, 1
	resp.TransferEncoding = nil
	if resp.ContentLength < 0 && req.ProtoAtLeast(1, 1) {
		resp.TransferEncoding = []string{"chunked"}
	}
	// A server may answer before it has read the whole body, while the client is still sending it;
	// no further request can then be read from the client.
	resp.Close = req.Close || req.Body != http.NoBody || resp.ContentLength < 0 && !req.ProtoAtLeast(1, 1)
	return resp.Write(idle.writer(c)) == nil && !resp.Close
}

// dialWeb connects for plain requests, whose name was already found on the list.
func (p *Proxy) dialWeb(ctx context.Context, _, address string) (net.Conn, error) {
	name, port, err := splitHostPort(address, 80)
	if err != nil {
		return nil, err
	}
	if r := p.admit("http", name, port); r != nil {
		return nil, r
	}
	return p.connect(ctx, "http", name, port)
}
