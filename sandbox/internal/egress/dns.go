package egress

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/luthier-dev/luthier/internal/wait"
)

// maxQuery bounds a DNS query: a name of 255 bytes and some options.
const maxQuery = 1024

// dnsTTL is the time for which a client may cache an answer, in seconds. The answer never changes.
const dnsTTL = 60

// Answer answers one DNS query. A name on the list resolves to the gate's address and has no other
// records, so that a client gets neither a way around the gate nor a key for an encrypted client
// hello. Every other name does not exist. No resolver is asked, so that no name can carry data out.
// Input that is not a query gets no answer (nil).
func (p *Proxy) Answer(query []byte) []byte {
	var parser dnsmessage.Parser
	head, err := parser.Start(query)
	if err != nil || head.Response || len(query) > maxQuery {
		return nil
	}
	reply := dnsmessage.Message{Header: dnsmessage.Header{
		ID: head.ID, Response: true, OpCode: head.OpCode, RecursionDesired: head.RecursionDesired, RecursionAvailable: true,
	}}
	q, err := parser.Question()
	if err == nil {
		if _, err = parser.Question(); errors.Is(err, dnsmessage.ErrSectionDone) {
			err = nil
		} else if err == nil {
			err = errors.New("more than one question")
		}
	}
	switch {
	case err != nil:
		reply.RCode = dnsmessage.RCodeFormatError
	case head.OpCode != 0 || q.Class != dnsmessage.ClassINET:
		reply.Questions, reply.RCode = []dnsmessage.Question{q}, dnsmessage.RCodeNotImplemented
	default:
		reply.Questions = []dnsmessage.Question{q}
		p.lookUp(q, &reply)
	}
	out, err := reply.Pack()
	if err != nil {
		return nil
	}
	return out
}

func (p *Proxy) lookUp(q dnsmessage.Question, reply *dnsmessage.Message) {
	asked := q.Name.String()
	name, err := Canonical(asked)
	if err == nil && !p.cfg.Allow.Names(name) {
		p.refuse(Refusal{Host: name, Via: "dns", Reason: NotListed, Grant: grant(name, 0)})
		reply.RCode = dnsmessage.RCodeNameError
		return
	}
	if err != nil {
		p.unnamed("dns", asked, 0, err)
		reply.RCode = dnsmessage.RCodeNameError
		return
	}
	if q.Type == dnsmessage.TypeA && p.cfg.Gate.Is4() {
		reply.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: dnsTTL},
			Body:   &dnsmessage.AResource{A: p.cfg.Gate.As4()},
		}}
	}
}

// ServePackets answers the queries received on c until it fails or the proxy is closed. It closes
// c.
func (p *Proxy) ServePackets(c net.PacketConn) error {
	if !p.enter(c) {
		return net.ErrClosed
	}
	defer p.leave(c)
	buf := make([]byte, maxQuery+1)
	for failures := 0; ; {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			// Errors of single peers are reported here too; many in a row mean that the socket has
			// failed.
			if failures++; p.ctx.Err() != nil || errors.Is(err, net.ErrClosed) || failures > 100 {
				return err
			}
			_ = wait.For(p.ctx, 10*time.Millisecond)
			continue
		}
		failures = 0
		if answer := p.Answer(buf[:n]); answer != nil {
			_, _ = c.WriteTo(answer, from)
		}
	}
}

// ServeStreams is ServePackets for DNS over TCP.
func (p *Proxy) ServeStreams(l net.Listener) error {
	return p.accept(l, func(c net.Conn) {
		for {
			_ = c.SetDeadline(time.Now().Add(p.cfg.HeadTimeout))
			var size [2]byte
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return
			}
			n := int(binary.BigEndian.Uint16(size[:]))
			if n > maxQuery {
				return
			}
			query := make([]byte, n)
			if _, err := io.ReadFull(c, query); err != nil {
				return
			}
			answer := p.Answer(query)
			if answer == nil {
				return
			}
			if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
				return
			}
		}
	})
}
