package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/egress"
)

// gateAddress is the loopback address to which names of Config.Net resolve inside a sandbox. It is
// not 127.0.0.1, whose ports belong to commands.
const gateAddress = "127.42.0.1"

// errNoGate means that a tier cannot enforce Config.Net.
var errNoGate = errors.New("Config.Net needs a network namespace, which this tier has not")

// insider is a spawner that can open sockets in its sandbox.
type insider interface {
	listenFor(network, address string) (*os.File, error)
}

// netSpawner is a spawner whose commands reach the names of Config.Net through a proxy in the
// host's process.
type netSpawner struct {
	spawner
	proxy *egress.Proxy
	env   []string
}

// openNet starts a proxy for one sandbox. If names is empty, it returns run unchanged.
func openNet(run spawner, names []string) (spawner, error) {
	list, err := egress.ParseList(names)
	if err != nil || list.Empty() {
		return run, err
	}
	in, ok := run.(insider)
	if !ok {
		return nil, errNoGate
	}
	n := &netSpawner{spawner: run, proxy: egress.New(egress.Config{Allow: list, Gate: netip.MustParseAddr(gateAddress)})}
	l, err := listenInside(in, "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open egress proxy: %w", err), n.proxy.Close())
	}
	go n.proxy.Serve(l)
	n.env = proxyEnv(l.Addr().String())
	n.openGate(in, list)
	return n, nil
}

// openGate serves programs that do not use a proxy: names resolve to an address inside at which the
// proxy listens on the real ports. If low ports are not available, only the proxy can be used.
func (n *netSpawner) openGate(in insider, list egress.List) {
	f, err := in.listenFor("udp4", gateAddress+":53")
	if err != nil {
		return
	}
	c, err := net.FilePacketConn(f)
	f.Close()
	if err != nil {
		return
	}
	go n.proxy.ServePackets(c)
	if l, err := listenInside(in, gateAddress+":53"); err == nil {
		go n.proxy.ServeStreams(l)
	}
	const most = 32 // each port is a socket
	ports := append([]uint16{80, 443}, list.Ports()...)
	for _, port := range ports[:min(len(ports), most)] {
		if l, err := listenInside(in, net.JoinHostPort(gateAddress, strconv.Itoa(int(port)))); err == nil {
			go n.proxy.ServeDirect(l, port)
		}
	}
}

// listenInside listens on an address inside a sandbox, in this process.
func listenInside(in insider, address string) (net.Listener, error) {
	f, err := in.listenFor("tcp4", address)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.FileListener(f)
}

// proxyEnv returns the variables that announce the proxy to programs, in all common spellings.
func proxyEnv(address string) []string {
	url := "http://" + address
	env := []string{"NODE_USE_ENV_PROXY=1"}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+url)
	}
	const own = "localhost,127.0.0.1,::1"
	return append(env, "no_proxy="+own, "NO_PROXY="+own)
}

func (n *netSpawner) spawn(ctx context.Context, req spawnRequest) (child, error) {
	req.env = mergeEnv(n.env, req.env)
	mark := n.proxy.Mark()
	c, err := n.spawner.spawn(ctx, req)
	if err != nil {
		return nil, err
	}
	return &netChild{child: c, proxy: n.proxy, mark: mark}, nil
}

func (n *netSpawner) Close() error { return errors.Join(n.spawner.Close(), n.proxy.Close()) }

// withoutNet returns the spawner that runs commands, without a proxy around it.
func withoutNet(run spawner) spawner {
	if n, ok := run.(*netSpawner); ok {
		return n.spawner
	}
	return run
}

// releaseNet ends the proxy and leaves the sandbox to its next lease.
func releaseNet(run spawner) {
	if n, ok := run.(*netSpawner); ok {
		_ = n.proxy.Close()
	}
}

// netChild adds to a command's denials what the proxy refused while it ran. This includes refusals
// of commands that ran at the same time, since the proxy sees the sandbox, not the process.
type netChild struct {
	child
	proxy *egress.Proxy
	mark  uint64
}

func (c *netChild) wait() (status, error) {
	st, err := c.child.wait()
	for _, r := range c.proxy.Refusals(c.mark) {
		st.Denials = append(st.Denials, netDenial(r))
	}
	return st, err
}

func netDenial(r egress.Refusal) Denial {
	d := Denial{Call: r.Via, Host: r.Host, Wall: WallNetwork, Rule: string(r.Reason), Count: r.Count}
	if r.Port != 0 {
		d.Host = net.JoinHostPort(r.Host, strconv.Itoa(int(r.Port)))
	}
	if r.Detail != "" {
		d.Rule += ": " + r.Detail
	}
	if r.Grant != "" {
		d.Grant = fmt.Sprintf("Config.Net: %q", r.Grant)
	}
	return d
}

// checkNet reports the first entry of Config.Net that is wrong.
func checkNet(names []string) error {
	if _, err := egress.ParseList(names); err != nil {
		return fmt.Errorf("Config.Net: %w", err)
	}
	return nil
}

// withNet lets the commands of a new sandbox reach the names of Config.Net. TierNone cannot enforce
// that; it records the fact in Missing.
func (l *local) withNet(cfg *Config) error {
	if len(cfg.Net) == 0 {
		return nil
	}
	if l.iso.Tier == TierNone {
		l.iso.Missing = append(l.iso.Missing, "Config.Net is not enforced: commands reach whatever the host reaches")
		return nil
	}
	run, err := openNet(l.run, cfg.Net)
	if err != nil {
		return err
	}
	l.run, l.iso = run, l.iso.clone()
	for i, w := range l.iso.Walls {
		if w.Name == WallNetwork {
			l.iso.Walls[i].Detail = w.Detail + "; an egress proxy lets through " + strings.Join(cfg.Net, ", ")
		}
	}
	return nil
}

// resolvConf directs lookups inside to the proxy.
const resolvConf = "nameserver " + gateAddress + "\noptions timeout:5 attempts:2\n"

// online returns the environment of a tool chain whose commands have network access: settings that
// keep it offline are removed, and downloads go to the private home.
func online(cfg *Config, env []string) []string {
	if len(cfg.Net) == 0 {
		return env
	}
	var out []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case "GOPROXY", "CARGO_NET_OFFLINE":
		case "GOMODCACHE":
			// The host's module cache is tried first, from its own place, then the network.
			out = append(out, "GOMODCACHE="+insideModules, "GOPROXY=file://"+value+"/cache/download,https://proxy.golang.org,direct")
		default:
			out = append(out, kv)
		}
	}
	return out
}

const insideModules = "/home/sandbox/go/pkg/mod"
