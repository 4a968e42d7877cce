// Package sockmem adds up the memory of the sockets of a network namespace. What waits in sockets
// is memory of the kernel, which is in no process's resident set, and sockets in flight are in no
// process's descriptor table. The kernel lists them all with their memory (see sock_diag(7)).
package sockmem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Meter adds up the memory of the sockets of the network namespace in which it was made.
type Meter struct {
	fd  int
	max int64 // the largest buffer that a socket can have
	seq uint32
}

// New returns a meter of the calling thread's network namespace.
func New() (*Meter, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	patience := unix.Timeval{Sec: 2}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("setsockopt", err)
	}
	m := &Meter{fd: fd, max: 2 * 212992} // the kernel doubles its default of 212992
	if b, err := os.ReadFile("/proc/sys/net/core/wmem_max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
			m.max = max(m.max, 2*n)
		}
	}
	return m, nil
}

// Close closes the meter.
func (m *Meter) Close() { unix.Close(m.fd) }

// Used returns the number of sockets, by the first line of a file like /proc/net/sockstat.
func Used(sockstat string) int64 {
	line, _, _ := strings.Cut(sockstat, "\n")
	n, err := strconv.ParseInt(strings.TrimPrefix(line, "sockets: used "), 10, 64)
	if err != nil {
		return 1 // look
	}
	return n
}

// Memory returns the memory of all sockets, in bytes. If the kernel cannot list a kind, each of the
// n sockets beyond a few counts as if its buffer were full.
func (m *Meter) Memory(n int64) (sum int64, err error) {
	for _, q := range diagQueries {
		err := m.dump(q, func(body []byte) { sum += q.weigh(m, body) })
		if errors.Is(err, unix.ENOENT) && q.family == unix.AF_UNIX {
			return max(0, n-unlistedSockets) * m.max, nil
		}
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
			return 0, err
		}
	}
	return sum, nil
}

// unlistedSockets is the number of sockets that do not count if the kernel cannot list them.
const unlistedSockets = 32

// diagQuery asks for one kind of socket.
type diagQuery struct {
	family uint8
	body   []byte // the request after the header
	weigh  func(m *Meter, body []byte) int64
}

var diagQueries = []diagQuery{
	{unix.AF_UNIX, unixDiagRequest(), weighUnix},
	{unix.AF_INET, inetDiagRequest(unix.AF_INET, unix.IPPROTO_TCP), weighInet},
	{unix.AF_INET6, inetDiagRequest(unix.AF_INET6, unix.IPPROTO_TCP), weighInet},
	{unix.AF_INET, inetDiagRequest(unix.AF_INET, unix.IPPROTO_UDP), weighInet},
	{unix.AF_INET6, inetDiagRequest(unix.AF_INET6, unix.IPPROTO_UDP), weighInet},
	{unix.AF_INET, inetDiagRequest(unix.AF_INET, unix.IPPROTO_UDPLITE), weighInet},
	{unix.AF_INET6, inetDiagRequest(unix.AF_INET6, unix.IPPROTO_UDPLITE), weighInet},
	{unix.AF_NETLINK, netlinkDiagRequest(), weighNetlink},
}

// Attributes of the answers and what a request asks to show (linux/unix_diag.h, inet_diag.h,
// netlink_diag.h, sock_diag.h).
const (
	unixPeer, unixPending, unixQueue, unixMemory = 2, 3, 4, 5
	inetMemory                                   = 7
	netlinkMemory                                = 0

	memReceived, memSent, memQueued, memOptions, memBacklog = 0, 2, 5, 6, 7
)

func unixDiagRequest() []byte {
	b := make([]byte, 24) // family, protocol, padding, states, inode, show, cookie
	b[0] = unix.AF_UNIX
	binary.NativeEndian.PutUint32(b[4:], ^uint32(0))
	binary.NativeEndian.PutUint32(b[12:], 1<<unixPeer|1<<unixPending|1<<unixQueue|1<<unixMemory)
	return b
}

func inetDiagRequest(family, protocol uint8) []byte {
	b := make([]byte, 56) // family, protocol, extensions, padding, states, address
	b[0], b[1], b[2] = family, protocol, 1<<(inetMemory-1)
	binary.NativeEndian.PutUint32(b[4:], ^uint32(0))
	return b
}

func netlinkDiagRequest() []byte {
	b := make([]byte, 20) // family, protocol, padding, inode, show, cookie
	b[0], b[1] = unix.AF_NETLINK, 255
	binary.NativeEndian.PutUint32(b[8:], 1)
	return b
}

// dump sends a query and calls f with every answer.
func (m *Meter) dump(q diagQuery, f func(body []byte)) error {
	m.seq++
	const sockDiagByFamily = 20
	b := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(q.body))
	binary.NativeEndian.PutUint32(b, uint32(cap(b)))
	binary.NativeEndian.PutUint16(b[4:], sockDiagByFamily)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	binary.NativeEndian.PutUint32(b[8:], m.seq)
	if err := unix.Send(m.fd, append(b, q.body...), 0); err != nil {
		return os.NewSyscallError("send", err)
	}
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(m.fd, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("recvfrom", err)
		}
		if over, err := m.answers(buf[:n], f); over || err != nil {
			return err
		}
	}
}

// answers calls f with the answers in a datagram, and reports whether they are the last ones.
func (m *Meter) answers(b []byte, f func(body []byte)) (over bool, err error) {
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return true, fmt.Errorf("sock_diag: answer of %d bytes: %w", size, unix.EBADMSG)
		}
		body := b[unix.SizeofNlMsghdr:size]
		kind, seq := binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint32(b[8:])
		b = b[min(len(b), (size+3)&^3):]
		switch {
		case seq != m.seq: // of an earlier query that was given up
		case kind == unix.NLMSG_DONE, kind == unix.NLMSG_ERROR:
			if len(body) >= 4 {
				if errno := -int32(binary.NativeEndian.Uint32(body)); errno > 0 {
					return true, fmt.Errorf("sock_diag: %w", unix.Errno(errno))
				}
			}
			return true, nil
		default:
			f(body)
		}
	}
	return false, nil
}

// attribute returns an attribute of an answer whose attributes begin at from.
func attribute(body []byte, from int, kind uint16) []byte {
	for b := body[min(from, len(body)):]; len(b) >= 4; {
		size := int(binary.NativeEndian.Uint16(b))
		if size < 4 || size > len(b) {
			return nil
		}
		if binary.NativeEndian.Uint16(b[2:])&0x3fff == kind {
			return b[4:size]
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return nil
}

// word returns the i-th number of an attribute, or 0.
func word(b []byte, i int) int64 {
	if len(b) < 4*i+4 {
		return 0
	}
	return int64(binary.NativeEndian.Uint32(b[4*i:]))
}

// held returns the memory that a socket itself is billed for.
func held(info []byte) int64 {
	return word(info, memReceived) + max(word(info, memSent), word(info, memQueued)) + word(info, memOptions) + word(info, memBacklog)
}

func weighInet(_ *Meter, body []byte) int64 { return held(attribute(body, 72, inetMemory)) }
func weighNetlink(_ *Meter, body []byte) int64 {
	return held(attribute(body, 28, netlinkMemory))
}

// The least memory that a message takes, the most datagrams that wait in a queue, and the most that
// they are taken for: senders with larger buffers are rare.
const (
	messageMemory = 768
	datagramQueue = 11
	datagramMost  = 8 << 20
)

// weighUnix returns the memory of a Unix socket. What waits to be read is billed to the sender,
// which is not listed any more if it has been closed; then only the length of what waits is known.
func weighUnix(m *Meter, body []byte) int64 {
	if len(body) < 16 {
		return 0
	}
	kind, state, queue := body[1], body[2], word(attribute(body, 16, unixQueue), 0)
	sum := held(attribute(body, 16, unixMemory))
	const listening = 10
	switch {
	case state == listening:
		pending := attribute(body, 16, unixPending)
		for i := range len(pending) / 4 {
			if word(pending, i) == 0 { // a connection whose other end is closed already
				sum += m.max
			}
		}
	case queue == 0 || word(attribute(body, 16, unixPeer), 0) != 0:
	case kind == unix.SOCK_DGRAM: // queue is the length of the first
		sum += min(datagramQueue*m.max, datagramMost)
	default:
		sum += min(m.max, queue*messageMemory)
	}
	return sum
}
