package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/internal/wait"
)

// Config configures what a proxy allows. Only Allow is required; every other zero value is a sound
// default.
type Config struct {
	// Allow is the allow-list. An empty list allows nothing.
	Allow List
	// Resolve looks up a canonical name. Nil uses the host's resolver.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to a checked address. Nil dials directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Gate is the address that the DNS responder returns for every name on the list: where
	// ServeDirect listens. If it is zero, answers contain no address.
	Gate netip.Addr

	// MaxConns is the most connections served at once; further ones wait. Default 256.
	MaxConns int
	// HeadBytes bounds a request's head. Default 16 KiB.
	HeadBytes int
	// HeadTimeout bounds the time until a request's head, or a ClientHello, is
	// complete. Default 20 s.
	HeadTimeout time.Duration
	// DialTimeout bounds resolving and connecting. Default 30 s.
	DialTimeout time.Duration
	// IdleTimeout is the time after which a connection without traffic ends. Default 10 min.
	IdleTimeout time.Duration
}

func (c Config) normalize() Config {
	def := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	if c.MaxConns == 0 {
		c.MaxConns = 256
	}
	if c.HeadBytes == 0 {
		c.HeadBytes = 16 << 10
	}
	def(&c.HeadTimeout, 20*time.Second)
	def(&c.DialTimeout, 30*time.Second)
	def(&c.IdleTimeout, 10*time.Minute)
	if c.Resolve == nil {
		c.Resolve = resolveHost
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	return c
}

// resolveHost uses the host's resolver. The final dot keeps it from trying the name below the
// host's own search domains, except for a name of one label, which is left to the host's
// configuration.
func resolveHost(ctx context.Context, name string) ([]netip.Addr, error) {
	if strings.Contains(name, ".") {
		name += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// Proxy allows connections to the hosts of an allow-list. Its methods may be called concurrently.
type Proxy struct {
	cfg    Config
	ctx    context.Context // ends when the proxy is closed
	cancel context.CancelFunc
	places chan struct{}
	web    *http.Transport
	log    evidence

	mu     sync.Mutex
	closed bool
	open   map[interface{ Close() error }]struct{} // listeners and clients
	work   sync.WaitGroup
}

// New makes a proxy. It must be closed.
func New(cfg Config) *Proxy {
	p := &Proxy{cfg: cfg.normalize(), open: map[interface{ Close() error }]struct{}{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.places = make(chan struct{}, p.cfg.MaxConns)
	p.web = &http.Transport{
		DialContext: p.dialWeb, DisableCompression: true, MaxIdleConns: 32, MaxIdleConnsPerHost: 4,
		IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 256 << 10,
	}
	return p
}

// Serve accepts proxy connections from l until it fails or the proxy is closed. It closes l.
func (p *Proxy) Serve(l net.Listener) error {
	return p.accept(l, func(c net.Conn) { p.serveProxy(c) })
}

// ServeDirect accepts connections from clients that believe they have reached the host itself, at
// the given port; 0 means the port of l.
func (p *Proxy) ServeDirect(l net.Listener, port uint16) error {
	if port == 0 {
		port = uint16(l.Addr().(*net.TCPAddr).Port)
	}
	return p.accept(l, func(c net.Conn) { p.serveDirect(c, port) })
}

func (p *Proxy) accept(l net.Listener, serve func(net.Conn)) error {
	if !p.enter(l) {
		return net.ErrClosed
	}
	defer p.leave(l)
	var delay time.Duration
	for {
		select {
		case p.places <- struct{}{}:
		case <-p.ctx.Done():
			return net.ErrClosed
		}
		c, err := l.Accept()
		if err != nil {
			<-p.places
			if p.ctx.Err() != nil || !transient(err) {
				return err
			}
			// Either descriptors ran out, or a client disconnected quickly.
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			_ = wait.For(p.ctx, delay)
			continue
		}
		delay = 0
		if !p.enter(c) {
			<-p.places
			return net.ErrClosed
		}
		p.work.Go(func() {
			defer func() { <-p.places }()
			defer p.leave(c)
			serve(c)
		})
	}
}

func transient(err error) bool {
	var ne net.Error
	//nolint:staticcheck // there is no other way to tell
	return errors.As(err, &ne) && ne.Temporary()
}

// enter adds c to what Close ends; if Close has begun, it closes c.
func (p *Proxy) enter(c interface{ Close() error }) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return false
	}
	p.open[c] = struct{}{}
	return true
}

func (p *Proxy) leave(c interface{ Close() error }) {
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	c.Close()
}

// Close ends every connection and returns when all are gone.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	p.cancel()
	p.work.Wait()
	p.web.CloseIdleConnections()
	return nil
}

// Mark returns the current position in the log of refusals, to ask later for what came after it.
func (p *Proxy) Mark() uint64 { return p.log.mark() }

// Refusals returns the refusals after mark, with equal ones counted together; at most 512 are kept.
func (p *Proxy) Refusals(mark uint64) []Refusal { return p.log.since(mark) }

// refuse records a refusal and returns it as an error.
func (p *Proxy) refuse(r Refusal) *Refusal {
	r.Host = clip(r.Host)
	r.Detail = clip(r.Detail)
	p.log.add(r)
	return &r
}

// admit makes the first two checks: the name must be on the list, and it must resolve to an address
// that may be reached.
func (p *Proxy) admit(via, name string, port uint16) *Refusal {
	if p.cfg.Allow.Allows(name, port) {
		return nil
	}
	r := Refusal{Host: name, Port: port, Via: via, Reason: NotListed, Grant: grant(name, port)}
	if p.cfg.Allow.Names(name) {
		r.Detail = "the name is, at other ports"
	}
	return p.refuse(r)
}

// unnamed refuses a host that is not a name.
func (p *Proxy) unnamed(via, host string, port uint16, err error) *Refusal {
	r := Refusal{Host: host, Port: port, Via: via, Reason: BadName, Detail: err.Error()}
	if errors.Is(err, errHead) {
		r.Reason = BadRequest
	}
	return p.refuse(r)
}

// maxTries bounds the number of addresses tried for one name.
const maxTries = 6

// connect resolves name once and dials its allowed addresses.
func (p *Proxy) connect(ctx context.Context, via, name string, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.DialTimeout)
	defer cancel()
	stop := context.AfterFunc(p.ctx, cancel)
	defer stop()
	found, err := p.cfg.Resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	addrs := p.cfg.Allow.reachable(found)
	if len(addrs) == 0 {
		r := Refusal{Host: name, Port: port, Via: via, Reason: BadAddress}
		if len(found) > 0 {
			a := found[0].Unmap().WithZone("")
			r.Detail = a.String()
			r.Grant = netip.PrefixFrom(a, a.BitLen()).String()
		}
		return nil, p.refuse(r)
	}
	// IPv4 comes first, so that a host without working IPv6 loses no time.
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	for i, a := range addrs[:min(len(addrs), maxTries)] {
		left := p.cfg.DialTimeout / time.Duration(min(len(addrs), maxTries)-i+1)
		try, stop := context.WithTimeout(ctx, max(left, time.Second))
		c, dialErr := p.cfg.Dial(try, "tcp", net.JoinHostPort(a.String(), strconv.Itoa(int(port))))
		stop()
		if dialErr == nil {
			return c, nil
		}
		err = errors.Join(err, dialErr)
	}
	return nil, err
}
