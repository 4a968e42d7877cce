package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// A sandbox's network has only a loopback interface. To let it reach the host's egress proxy, its
// supervisor opens sockets on that loopback and passes them out. A socket belongs to the network
// namespace it was made in, whoever holds it, so the host accepts the connections itself and no
// byte goes through a process inside.

// listenInside is the supervisor's half: it opens the socket and passes it out.
func (s *supervisor) listenInside(r request) {
	f, err := openLoopback(r.Args)
	if err != nil {
		_ = s.conn.answer(reply{Seq: r.Seq, Event: evDone, Error: toWire(err)})
		return
	}
	_ = s.conn.answer(reply{Seq: r.Seq, Event: evDone}, f)
	f.Close()
}

// openLoopback listens on a loopback address; args are the network, "tcp4" or
// "udp4", and the address.
func openLoopback(args []string) (*os.File, error) {
	if len(args) != 2 {
		return nil, errors.New("listen without network and address")
	}
	var sock interface{ File() (*os.File, error) }
	switch args[0] {
	case "tcp4":
		l, err := net.Listen("tcp4", args[1])
		if err != nil {
			return nil, err
		}
		defer l.Close()
		sock = l.(*net.TCPListener)
	case "udp4":
		c, err := net.ListenPacket("udp4", args[1])
		if err != nil {
			return nil, err
		}
		defer c.Close()
		sock = c.(*net.UDPConn)
	default:
		return nil, fmt.Errorf("listen on network %q", args[0])
	}
	return sock.File()
}

// listenFor is the host's half: it has the supervisor open a socket inside.
func (g *guestSpawner) listenFor(network, address string) (*os.File, error) {
	f, err := g.askFor(request{Op: opListen, Args: []string{network, address}}, true)
	if err == nil {
		err = checkSocket(f, network)
	}
	if err != nil {
		closeFiles([]*os.File{f})
		return nil, fmt.Errorf("listen on %s inside: %w", address, err)
	}
	return f, nil
}

// checkSocket validates a socket that a supervisor passed out. A supervisor that was taken over
// could only pass on a socket that its commands can have as well, but it must not make the host
// read from something that is not a socket.
func checkSocket(f *os.File, network string) error {
	if f == nil {
		return errors.New("no socket came back")
	}
	get := func(opt int) int {
		v, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, opt)
		if err != nil {
			return -1
		}
		return v
	}
	want := []int{unix.SOCK_STREAM, 1}
	if network == "udp4" {
		want = []int{unix.SOCK_DGRAM, 0}
	}
	if got := []int{get(unix.SO_TYPE), get(unix.SO_ACCEPTCONN)}; get(unix.SO_DOMAIN) != unix.AF_INET || !slices.Equal(got, want) {
		return errors.New("what came back is no such socket")
	}
	return nil
}

// resolver makes the egress proxy answer lookups inside.
func (p *plan) resolver(cfg *Config) {
	if len(cfg.Net) == 0 {
		return
	}
	// /etc/resolv.conf is often a link to a file in /run, which is empty inside. Without the file,
	// lookups fail; programs that use the proxy need none.
	if target, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		p.add(mount{Kind: mountText, Source: resolvConf, Target: target, ReadOnly: true, File: true})
	}
}
