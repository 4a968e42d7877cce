package attacks_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Evidence: sandbox · 200 attacks that work outside fail inside
func TestAttackNetwork(t *testing.T) {
	t.Parallel()
	runAttacks(t, "network")
}

// dials returns an attack that connects to a listener of the host.
func dials(name, network, addr, want string) attack {
	return attack{name: name, does: "connects to " + network + " " + addr, prog: dialProgram, want: want, bit: reached,
		args: func(b *bed) []string { return []string{network, b.listen(network, addr)} }}
}

var dialProgram = attackProgram("dial-and-say", func(a []string) error {
	c, err := net.DialTimeout(a[0], a[1], 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("hello"))
	return err
})

// outerAddress returns a non-loopback address of the host.
func outerAddress() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	return ""
}

func init() {
	attacks["network"] = []attack{
		dials("tcp to the host's loopback", "tcp4", "127.0.0.1:0", "ECONNREFUSED"),
		dials("tcp over IPv6", "tcp6", "[::1]:0", "ECONNREFUSED"),
		dials("udp to the host's loopback", "udp4", "127.0.0.1:0", "ok|ECONNREFUSED"),
		dials("udp over IPv6", "udp6", "[::1]:0", "ok|ECONNREFUSED"),
		{name: "tcp to the host's address", does: "connects to the host's own address on its network", prog: dialProgram, want: "ENETUNREACH", bit: reached,
			needs: func() string {
				if outerAddress() == "" {
					return "the host has no address but its loopback"
				}
				return ""
			},
			args: func(b *bed) []string { return []string{"tcp4", b.listen("tcp4", outerAddress()+":0")} }},
		{name: "tcp to address zero", does: "connects to 0.0.0.0, which is the host itself", prog: dialProgram, want: "ECONNREFUSED", bit: reached,
			args: func(b *bed) []string {
				_, port, _ := net.SplitHostPort(b.listen("tcp4", "127.0.0.1:0"))
				return []string{"tcp4", "0.0.0.0:" + port}
			}},
		{name: "tcp fast open", does: "sends with the opening packet, without connect", prog: attackProgram("fastopen", fastOpen), want: "ECONNREFUSED|ENETUNREACH|EINPROGRESS", bit: reached,
			args: func(b *bed) []string { return []string{b.listen("tcp4", "127.0.0.1:0")} }},
		{name: "multipath tcp", does: "connects with another protocol of the same family", prog: attackProgram("mptcp", multipath), want: "ECONNREFUSED|EPROTONOSUPPORT", bit: reached,
			needs: func() string {
				fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
				if err != nil {
					return "this kernel has no multipath TCP"
				}
				unix.Close(fd)
				return ""
			},
			args: func(b *bed) []string { return []string{b.listen("tcp4", "127.0.0.1:0")} }},
		{name: "many datagrams at once", does: "sends by sendmmsg on a socket that is not connected", prog: attackProgram("sendto", sendTo), want: "ok|ECONNREFUSED|ENETUNREACH", bit: reached,
			args: func(b *bed) []string { return []string{b.listen("udp4", "127.0.0.1:0")} }},
		{name: "abstract socket", does: "connects to an abstract Unix socket", prog: dialProgram, want: "ECONNREFUSED", bit: reached,
			args: func(b *bed) []string { return []string{"unix", b.listen("unix", "@luthier-"+b.secret)} }},
		{name: "abstract datagram", does: "sends to an abstract Unix socket", prog: dialProgram, want: "ECONNREFUSED", bit: reached,
			args: func(b *bed) []string { return []string{"unixgram", b.listen("unixgram", "@luthier-"+b.secret)} }},
		{name: "daemon's socket in run", does: "connects to a root daemon's socket below /run, such as docker.sock", prog: dialProgram, root: true, want: "ENOENT", bit: reached,
			args: func(b *bed) []string { return []string{"unix", b.listen("unix", "/run/luthier-"+b.secret+".sock")} }},
		{name: "socket in tmp", does: "connects to a socket below /tmp, as display servers and agents have", prog: dialProgram, want: "ENOENT", bit: reached,
			args: func(b *bed) []string { return []string{"unix", b.listen("unix", "/tmp/luthier-"+b.secret+".sock")} }},
		{name: "agent's socket by environment", does: "connects to what SSH_AUTH_SOCK of the host names", prog: attackProgram("ssh-agent", func([]string) error {
			c, err := net.Dial("unix", os.Getenv("SSH_AUTH_SOCK"))
			if err == nil {
				c.Close()
			}
			return err
		}), bit: reached,
			args: func(b *bed) []string {
				b.state["agent"] = b.listen("unix", filepath.Join(b.out, "host-agent"))
				return nil
			},
			env: func(b *bed) []string {
				if b.sb != nil {
					return nil // the host's own variable must not come in; see also TestSecretsCannotBeRead
				}
				return []string{"SSH_AUTH_SOCK=" + b.state["agent"].(string)}
			}},
		{name: "socket by a link", does: "connects through a symbolic link in the workspace", prog: dialProgram, want: "ENOENT", bit: reached,
			args: func(b *bed) []string {
				path := b.listen("unix", filepath.Join(b.out, "host-l"))
				if err := os.Symlink(path, filepath.Join(b.dir, "l")); err != nil {
					b.t.Fatal(err)
				}
				return []string{"unix", "l"}
			}},
		{name: "socket by proc root", does: "connects through /proc/self/root", prog: dialProgram, want: "ENOENT", bit: reached,
			args: func(b *bed) []string {
				return []string{"unix", "/proc/self/root" + b.listen("unix", filepath.Join(shortDir(b.t), "r"))}
			}},
		{name: "name look-up", does: "asks a name server of the host's by UDP", prog: attackProgram("dns", lookUp), want: "", bit: reached,
			args: func(b *bed) []string { return []string{"udp", b.listen("udp4", "127.0.0.1:0")} }},
		{name: "name look-up by tcp", does: "asks a name server of the host's by TCP", prog: "dns", want: "", bit: reached,
			args: func(b *bed) []string { return []string{"tcp", b.listen("tcp4", "127.0.0.1:0")} }},
		{name: "raw socket", does: "sends an echo request of its own making", prog: attackProgram("raw-icmp", rawEcho), root: true, want: "EPERM", bit: reached,
			args: func(b *bed) []string { b.listen("ip4:icmp", "127.0.0.1"); return nil }},
		{name: "packet socket", does: "listens to every packet", prog: attackProgram("packet", opens(unix.AF_PACKET, unix.SOCK_RAW, 0)), root: true, want: "EAFNOSUPPORT", bit: claimed},
		{name: "netlink of the auditor", does: "talks to the kernel's audit", prog: attackProgram("audit", opens(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)), want: "EAFNOSUPPORT", bit: claimed, needs: has(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)},
		{name: "netlink of devices", does: "hears of the host's devices", prog: attackProgram("uevent", opens(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT)), want: "EAFNOSUPPORT", bit: claimed},
		{name: "netlink of the firewall", does: "opens nf_tables' netlink family, a way into the kernel", prog: attackProgram("nfnl", opens(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)), want: "EAFNOSUPPORT", bit: claimed, needs: has(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)},
		{name: "address by netlink", does: "gives the host's loopback another address", prog: attackProgram("newaddr", newAddress), root: true, want: "EPERM", bit: addressThere,
			args: func(b *bed) []string { return []string{bedAddress(b).String()} }},
		{name: "vsock", does: "opens a socket to the machine's hypervisor, which no network namespace confines", prog: attackProgram("vsock-open", opens(unix.AF_VSOCK, unix.SOCK_STREAM, 0)), want: "EAFNOSUPPORT", bit: claimed, needs: has(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{name: "kernel's ciphers", does: "opens AF_ALG, a way into the kernel", prog: attackProgram("alg", opens(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)), want: "EAFNOSUPPORT", bit: claimed, needs: has(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		{name: "express data path", does: "opens AF_XDP", prog: attackProgram("xdp", opens(unix.AF_XDP, unix.SOCK_RAW, 0)), root: true, want: "EAFNOSUPPORT", bit: claimed, needs: has(unix.AF_XDP, unix.SOCK_RAW, 0)},
		{name: "host's network namespace", does: "joins the host's network by setns and connects", prog: attackProgram("join-net", joinNet), root: true, want: "ENOENT|EPERM|EACCES", bit: reached,
			args: func(b *bed) []string {
				return []string{"/proc/" + strconv.Itoa(os.Getpid()) + "/ns/net", b.listen("tcp4", "127.0.0.1:0")}
			}},
		{name: "waits for the host", does: "listens where a host program will call", prog: attackProgram("wait-for-host", waitForHost), want: "", bit: func(b *bed) string {
			why, _ := b.state["answered"].(string)
			return why
		}, during: callIn},
	}
}

func has(family, kind, proto int) func() string {
	return func() string {
		fd, err := unix.Socket(family, kind, proto)
		if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EPROTONOSUPPORT) {
			return "this kernel has no such socket"
		}
		if err == nil {
			unix.Close(fd)
		}
		return ""
	}
}

func opens(family, kind, proto int) func([]string) error {
	return func([]string) error {
		fd, err := unix.Socket(family, kind, proto)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
}

func sockaddr(addr string) (*unix.SockaddrInet4, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}, nil
}

func fastOpen(a []string) error {
	to, err := sockaddr(a[0])
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte("hello"), unix.MSG_FASTOPEN, to)
}

func multipath(a []string) error {
	to, err := sockaddr(a[0])
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	if err != nil {
		return err
	}
	return unix.Connect(fd, to)
}

func sendTo(a []string) error {
	to, err := sockaddr(a[0])
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	for range 3 {
		if err := unix.Sendto(fd, []byte("hello"), 0, to); err != nil {
			return err
		}
	}
	return nil
}

func lookUp(a []string) error {
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, a[0], a[1])
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_, err := r.LookupHost(ctx, "secret.example.com")
	return err
}

func rawEcho([]string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	if err != nil {
		return err
	}
	echo := []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0}
	return unix.Sendto(fd, echo, 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
}

// bedAddress returns an address of the loopback network that disturbs nobody.
func bedAddress(b *bed) netip.Addr {
	if a, ok := b.state["address"].(netip.Addr); ok {
		return a
	}
	pid := os.Getpid()
	a := netip.AddrFrom4([4]byte{127, 83, byte(pid >> 8), byte(pid)})
	b.state["address"] = a
	return a
}

func addressThere(b *bed) string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.String() == bedAddress(b).String() {
			if err := routeAddress(unix.RTM_DELADDR, bedAddress(b)); err != nil {
				b.t.Error(err)
			}
			return "the host's loopback has the address"
		}
	}
	return ""
}

func newAddress(a []string) error { return routeAddress(unix.RTM_NEWADDR, netip.MustParseAddr(a[0])) }

// routeAddress adds an address to the loopback interface, or removes it, by netlink.
func routeAddress(what uint16, addr netip.Addr) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ip := addr.As4()
	msg := make([]byte, 0, 64)
	e := binary.NativeEndian
	msg = e.AppendUint32(msg, 16+8+8)
	msg = e.AppendUint16(msg, what)
	msg = e.AppendUint16(msg, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	msg = e.AppendUint32(msg, 1)
	msg = e.AppendUint32(msg, 0)
	msg = append(msg, unix.AF_INET, 32, 0, 0)
	msg = e.AppendUint32(msg, 1) // index of the loopback interface
	msg = e.AppendUint16(msg, 8)
	msg = e.AppendUint16(msg, unix.IFA_LOCAL)
	msg = append(msg, ip[:]...)
	if err := unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	buf := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, buf, 0)
	if err != nil || n < 20 {
		return errors.Join(err, fmt.Errorf("%d bytes of answer", n))
	}
	if code := int32(e.Uint32(buf[16:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

func joinNet(a []string) error {
	fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	// Changing one thread is enough, but that thread must create the socket itself, by a raw system
	// call.
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return err
	}
	to, err := sockaddr(a[1])
	if err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Connect(s, to)
}

// waitForHost listens on every address, reports its port and waits for a caller.
func waitForHost([]string) error {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(os.WriteFile("port", []byte(port), 0o644), os.Rename("port", "ready")); err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("trust me"))
			c.Close()
		}
	}()
	for range 4000 {
		if _, err := os.Stat("done"); err == nil {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("the host never called")
}

// callIn connects from the host while the program listens.
func callIn(b *bed) {
	defer os.WriteFile(filepath.Join(b.dir, "done"), nil, 0o644)
	var port []byte
	for range 4000 {
		var err error
		if port, err = os.ReadFile(filepath.Join(b.dir, "ready")); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	c, err := net.DialTimeout("tcp4", "127.0.0.1:"+string(port), 5*time.Second)
	if err != nil {
		return
	}
	defer c.Close()
	buf := make([]byte, 16)
	if n, _ := c.Read(buf); n > 0 {
		b.state["answered"] = "the host was told " + string(buf[:n])
	}
}
