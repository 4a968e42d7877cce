package egress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	maxRecord = 1 << 14 // of a TLS record's plaintext, RFC 8446
	// maxHello is the largest ClientHello that is accepted: several times one with post-quantum key
	// shares and a session ticket.
	maxHello = 64 << 10

	recordHandshake = 22
	clientHello     = 1

	extServerName = 0
)

// encrypted lists the extensions that hide the name: encrypted client hello, its outer extensions
// and its predecessor. Clients may send the first with random content to keep it common; by design
// such content cannot be distinguished from real content.
var encrypted = map[uint16]bool{0xfe0d: true, 0xfd00: true, 0xffce: true}

var (
	errNotTLS  = errors.New("client does not begin with a TLS ClientHello")
	errHello   = errors.New("malformed ClientHello")
	errECH     = errors.New("encrypted client hello hides the name; turn it off in the client")
	errNoSNI   = errors.New("ClientHello names no server")
	errSNI     = errors.New("ClientHello names its server twice")
	errTooLong = errors.New("ClientHello is too long")
)

// readHello reads a ClientHello record by record. It returns every byte read, to be sent on
// unchanged, and the name that it asks for.
func readHello(r io.Reader) (raw []byte, name string, err error) {
	var msg []byte
	for {
		var head [5]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return raw, "", fmt.Errorf("read ClientHello: %w", err)
		}
		raw = append(raw, head[:]...)
		n := int(binary.BigEndian.Uint16(head[3:]))
		if head[0] != recordHandshake || head[1] != 3 || n == 0 || n > maxRecord {
			return raw, "", errNotTLS
		}
		if len(raw)+n > maxHello {
			return raw, "", errTooLong
		}
		start := len(raw)
		raw = append(raw, make([]byte, n)...)
		if _, err := io.ReadFull(r, raw[start:]); err != nil {
			return raw, "", fmt.Errorf("read ClientHello: %w", err)
		}
		msg = append(msg, raw[start:]...)
		if msg[0] != clientHello {
			return raw, "", errNotTLS
		}
		if len(msg) < 4 {
			continue
		}
		size := 4 + (int(msg[1])<<16 | int(msg[2])<<8 | int(msg[3]))
		switch {
		case size > maxHello:
			return raw, "", errTooLong
		case len(msg) > size:
			// The client must not send anything more before the server has answered.
			return raw, "", errHello
		case len(msg) == size:
			name, err = helloName(msg[4:])
			return raw, name, err
		}
	}
}

// cursor reads length-prefixed fields. Once a field is missing, ok is false and all further fields
// are empty.
type cursor struct {
	b  []byte
	ok bool
}

func (c *cursor) take(n int) []byte {
	if !c.ok || n > len(c.b) {
		c.b, c.ok = nil, false
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) number(size int) int {
	n := 0
	for _, b := range c.take(size) {
		n = n<<8 | int(b)
	}
	return n
}

func (c *cursor) vector(size int) []byte { return c.take(c.number(size)) }

// helloName reads the body of a ClientHello (RFC 8446, 4.1.2) and returns the canonical server
// name.
func helloName(body []byte) (string, error) {
	c := cursor{body, true}
	c.take(2 + 32) // version, random
	session, suites, methods := c.vector(1), c.vector(2), c.vector(1)
	extensions := c.vector(2)
	if !c.ok || len(c.b) > 0 || len(session) > 32 || len(suites) < 2 || len(suites)%2 != 0 || len(methods) == 0 {
		return "", errHello
	}
	var sni []byte
	hidden := false
	seen := map[uint16]bool{}
	for e := (cursor{extensions, true}); len(e.b) > 0; {
		id := uint16(e.number(2))
		data := e.vector(2)
		if !e.ok || seen[id] {
			return "", errHello
		}
		seen[id] = true
		hidden = hidden || encrypted[id]
		if id == extServerName {
			sni = data
		}
	}
	switch {
	case hidden:
		return "", errECH
	case !seen[extServerName]:
		return "", errNoSNI
	}
	return parseSNI(sni)
}

// parseSNI reads the server_name extension (RFC 6066, 3): a list of one name.
func parseSNI(data []byte) (string, error) {
	c := cursor{data, true}
	list := cursor{c.vector(2), true}
	if !c.ok || len(c.b) > 0 || len(list.b) == 0 {
		return "", errHello
	}
	kind := list.number(1)
	name := list.vector(2)
	if !list.ok || kind != 0 {
		return "", errHello
	}
	if len(list.b) > 0 {
		return "", errSNI
	}
	return Canonical(string(name))
}

// alertDenied is the answer to a refused TLS client: a fatal access_denied alert.
var alertDenied = []byte{21, 3, 3, 0, 2, 2, 49}
