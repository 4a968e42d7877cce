package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
)

func TestMain(m *testing.M) { tier.Main(m) }

// world is a proxy with real servers on loopback; every name resolves to them.
type world struct {
	*Proxy
	proxy, direct string // addresses
	tls, plain    *httptest.Server
	raw           net.Listener // the server speaks first
	resolved      atomic.Int64
}

// The test's certificate is valid for this name and others.
const site = "example.com"

// newWorld starts a world. In dial, the ports of the test's servers replace 443 and 80, so that the
// rules can be the real ones.
func newWorld(t *testing.T, allow []string, change func(*Config)) *world {
	t.Helper()
	list, err := ParseList(append(allow, "127.0.0.1/32"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{}
	echo := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rw.Header().Set("X-Seen", fmt.Sprint(r.Header))
		fmt.Fprintf(rw, "%s %s %s %s", r.Method, r.Host, r.URL, body)
	})
	w.tls, w.plain = httptest.NewTLSServer(echo), httptest.NewServer(echo)
	t.Cleanup(w.tls.Close)
	t.Cleanup(w.plain.Close)
	if w.raw, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.raw.Close() })
	go func() {
		for {
			c, err := w.raw.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				fmt.Fprint(c, "SSH-2.0-test\r\n")
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	cfg := Config{
		Allow: list, Gate: netip.MustParseAddr("127.42.0.1"),
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			w.resolved.Add(1)
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, _ := net.SplitHostPort(address)
			to := map[string]net.Addr{"443": w.tls.Listener.Addr(), "8443": w.tls.Listener.Addr(), "80": w.plain.Listener.Addr(), "8080": w.plain.Listener.Addr(), "22": w.raw.Addr()}[port]
			if to == nil || !strings.HasPrefix(address, "127.0.0.1:") {
				return nil, fmt.Errorf("no server at %s", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, to.String())
		},
	}
	if change != nil {
		change(&cfg)
	}
	w.Proxy = New(cfg)
	listen := func(serve func(net.Listener) error) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go serve(l)
		return l.Addr().String()
	}
	w.proxy = listen(w.Serve)
	w.direct = listen(func(l net.Listener) error { return w.ServeDirect(l, 443) })
	t.Cleanup(func() { w.Close() })
	return w
}

// client returns an ordinary HTTP client that uses the proxy.
func (w *world) client(t *testing.T, scheme string) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(w.tls.Certificate())
	tr := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: scheme, Host: w.proxy}),
		TLSClientConfig: &tls.Config{RootCAs: pool},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

func get(c *http.Client, url string) (int, string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestAllowed(t *testing.T) {
	w := newWorld(t, []string{site, "*.example.com:8443", site + ":8080"}, nil)
	for _, scheme := range []string{"http", "socks5"} {
		c := w.client(t, scheme)
		for url, want := range map[string]string{
			"https://example.com/a?b":      "GET example.com /a?b ",
			"https://EXAMPLE.com./":        "",
			"https://www.example.com:8443": "GET www.example.com:8443 / ",
			"http://example.com/x%2fy?":    "GET example.com /x%2fy? ",
			"http://example.com:8080/z":    "GET example.com:8080 /z ",
		} {
			status, body, err := get(c, url)
			if want == "" { // Go's own client sends the name with the final dot in Host
				continue
			}
			if err != nil || status != 200 || body != want {
				t.Errorf("%s over %s: %d %q, %v; want %q", url, scheme, status, body, err, want)
			}
		}
	}
	if r := w.Refusals(0); len(r) > 0 {
		t.Errorf("refused %v", r)
	}
}

func TestBodiesPass(t *testing.T) {
	w := newWorld(t, []string{site}, nil)
	c := w.client(t, "http")
	text := strings.Repeat("body ", 50000)
	for _, u := range []string{"http://example.com/", "https://example.com/"} {
		for _, body := range []io.Reader{strings.NewReader(text), io.MultiReader(strings.NewReader(text))} {
			req, _ := http.NewRequest("POST", u, body)
			req.Header.Set("Expect", "100-continue")
			req.Header.Set("Connection", "X-Hop")
			req.Header.Set("X-Hop", "1")
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(b) != "POST example.com / "+text {
				t.Errorf("%s: %d bytes, %v", u, len(b), err)
			}
			if strings.HasPrefix(u, "http:") && strings.Contains(resp.Header.Get("X-Seen"), "X-Hop") {
				t.Error("a connection's own header went on")
			}
		}
	}
}

func TestRefused(t *testing.T) {
	w := newWorld(t, []string{site, "*.sub.example.com"}, nil)
	for _, tt := range []struct {
		url   string
		grant string
	}{
		{"https://other.test/", "other.test"},
		{"http://other.test/", "other.test"},
		{"https://www.example.com/", "www.example.com"},
		{"https://sub.example.com/", "sub.example.com"},
		{"https://notexample.com/", "notexample.com"},
		{"https://example.com.other.test/", "example.com.other.test"},
		{"https://example.com:8443/", "example.com:8443"},
		{"http://example.com:22/", "example.com:22"},
		{"https://127.0.0.1/", ""}, {"https://[::1]/", ""}, {"http://[::ffff:127.0.0.1]/", ""},
		{"http://2130706433/", ""}, {"http://0x7f000001/", ""}, {"http://0177.0.0.1/", ""}, {"http://127.1/", ""},
		{"http://0x7f.1/", ""}, {"https://1.1.1.1./", ""},
	} {
		for _, scheme := range []string{"http", "socks5"} {
			mark := w.Mark()
			status, body, err := get(w.client(t, scheme), tt.url)
			if err == nil && status != http.StatusForbidden {
				t.Errorf("%s over %s: %d %q", tt.url, scheme, status, body)
			}
			got := w.Refusals(mark)
			if len(got) != 1 || got[0].Grant != tt.grant {
				t.Errorf("%s over %s: evidence %v, want one with grant %q", tt.url, scheme, got, tt.grant)
			}
		}
	}
	if n := w.resolved.Load(); n > 0 {
		t.Errorf("%d names were resolved", n)
	}
}

func TestEmptyListLetsNothingThrough(t *testing.T) {
	w := newWorld(t, nil, nil)
	if status, body, err := get(w.client(t, "http"), "http://example.com/"); status != 403 {
		t.Errorf("%d %q, %v", status, body, err)
	}
	if _, _, err := get(w.client(t, "http"), "https://example.com/"); err == nil {
		t.Error("went through")
	}
}

// say sends raw bytes to the proxy and returns the whole response.
func say(t *testing.T, addr, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	_ = c.(*net.TCPConn).CloseWrite()
	b, _ := io.ReadAll(c)
	return string(b)
}

func TestRawRequests(t *testing.T) {
	w := newWorld(t, []string{site, "other.example.com"}, nil)
	for _, tt := range []struct{ name, text, want string }{
		{"plain", "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "200"},
		{"host with port", "GET http://example.com/ HTTP/1.1\r\nHost: example.com:80\r\n\r\n", "200"},
		{"host in other case", "GET http://Example.com/ HTTP/1.1\r\nHost: EXAMPLE.COM.\r\n\r\n", "200"},
		{"full width", "GET http://example.com/ HTTP/1.1\r\nHost: ｅxample.com\r\n\r\n", "200"},
		{"host disagrees", "GET http://example.com/ HTTP/1.1\r\nHost: other.example.com\r\n\r\n", "403"},
		{"no host", "GET http://example.com/ HTTP/1.1\r\n\r\n", "40"},
		{"two hosts", "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nHost: other.example.com\r\n\r\n", "400"},
		{"space before colon", "GET http://example.com/ HTTP/1.1\r\nHost : example.com\r\n\r\n", "400"},
		{"folded", "GET http://example.com/ HTTP/1.1\r\nHost:\r\n example.com\r\n\r\n", "400"},
		{"NUL", "GET http://example.com/ HTTP/1.1\r\nHost: example.com\x00.evil.test\r\n\r\n", "400"},
		{"NUL in target", "CONNECT example.com\x00:443 HTTP/1.1\r\n\r\n", "400"},
		{"bare LF", "GET http://example.com/ HTTP/1.1\nHost: example.com\r\n\r\n", "400"},
		{"length and chunks", "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		{"two lengths", "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 0\r\nContent-Length: 3\r\n\r\n", "400"},
		{"https request", "GET https://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "403"},
		{"other scheme", "GET ftp://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "403"},
		{"user", "GET http://a@example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "403"},
		{"origin form", "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "200"},
		{"origin form elsewhere", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "403"},
		{"plain to 443", "GET http://example.com:443/ HTTP/1.1\r\nHost: example.com:443\r\n\r\n", "403"},
		{"connect without port", "CONNECT example.com HTTP/1.1\r\n\r\n", "40"},
		{"connect port 0", "CONNECT example.com:0 HTTP/1.1\r\n\r\n", "403"},
		{"connect port +443", "CONNECT example.com:+443 HTTP/1.1\r\n\r\n", "40"},
		{"connect port 0443", "CONNECT example.com:0443 HTTP/1.1\r\n\r\n", "403"},
		{"connect port 65979", "CONNECT example.com:65979 HTTP/1.1\r\n\r\n", "403"},
		{"connect host disagrees", "CONNECT example.com:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", "403"},
		{"connect zone", "CONNECT [fe80::1%25lo]:443 HTTP/1.1\r\n\r\n", "40"},
		{"connect mapped", "CONNECT [::ffff:1.2.3.4]:443 HTTP/1.1\r\n\r\n", "403"},
		{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"},
		{"long name", "CONNECT " + strings.Repeat("a.", 300) + "com:443 HTTP/1.1\r\n\r\n", "403"},
		{"long head", "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", "400"},
		{"TLS", "\x16\x03\x01\x00\x05hello\r\n\r\n", "400"},
	} {
		got := say(t, w.proxy, tt.text)
		if !strings.HasPrefix(got, "HTTP/1.1 "+tt.want) {
			t.Errorf("%s: %.60q, want status %s", tt.name, got, tt.want)
		}
	}
}

// TestTunnelToPlainPort checks that requests in a tunnel to port 80 are checked one by one.
func TestTunnelToPlainPort(t *testing.T) {
	w := newWorld(t, []string{site, "other.example.com"}, nil)
	got := say(t, w.proxy, "CONNECT example.com:80 HTTP/1.1\r\n\r\n"+
		"GET /1 HTTP/1.1\r\nHost: example.com\r\n\r\nGET /2 HTTP/1.1\r\nHost: other.example.com\r\n\r\nGET /3 HTTP/1.1\r\nHost: example.com\r\n\r\n")
	if !strings.Contains(got, "GET example.com /1") || strings.Contains(got, "/2 ") || strings.Contains(got, "/3") || !strings.Contains(got, " 403 ") {
		t.Errorf("%q", got)
	}
}

// handshake performs a TLS handshake through a CONNECT to name, with another name in it.
func (w *world) handshake(t *testing.T, to string, change func(*tls.Config)) error {
	t.Helper()
	c, err := net.Dial("tcp", w.proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
	resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(c, int64(len(established)))), &http.Request{Method: "CONNECT"})
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	cfg := &tls.Config{ServerName: "example.com", InsecureSkipVerify: true}
	change(cfg)
	conn := tls.Client(c, cfg)
	if err := conn.Handshake(); err != nil {
		return err
	}
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	b, err := io.ReadAll(conn)
	if err == nil && !strings.Contains(string(b), "GET example.com /") {
		err = fmt.Errorf("answer %q", b)
	}
	return err
}

// Evidence: sandbox · Only the listed hosts can be reached, through a proxy outside
func TestServerName(t *testing.T) {
	w := newWorld(t, []string{site, "other.example.com", "example.com:8443"}, nil)
	for _, tt := range []struct {
		name, to string
		change   func(*tls.Config)
		ok       bool
		detail   string
	}{
		{"same", "example.com:443", func(*tls.Config) {}, true, ""},
		{"other case", "EXAMPLE.com:443", func(c *tls.Config) { c.ServerName = "Example.Com" }, true, ""},
		{"TLS 1.2", "example.com:443", func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, true, ""},
		{"other port", "example.com:8443", func(*tls.Config) {}, true, ""},
		{"other, listed", "example.com:443", func(c *tls.Config) { c.ServerName = "other.example.com" }, false, "other.example.com"},
		{"other", "example.com:443", func(c *tls.Config) { c.ServerName = "evil.test" }, false, "evil.test"},
		{"other at other port", "example.com:8443", func(c *tls.Config) { c.ServerName = "evil.test" }, false, "evil.test"},
		{"none", "example.com:443", func(c *tls.Config) { c.ServerName = "" }, false, errNoSNI.Error()},
	} {
		mark := w.Mark()
		err := w.handshake(t, tt.to, tt.change)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		refused := w.Refusals(mark)
		if tt.ok != (len(refused) == 0) || !tt.ok && (refused[0].Reason != BadHello || !strings.Contains(refused[0].Detail, tt.detail)) {
			t.Errorf("%s: evidence %v", tt.name, refused)
		}
		if !tt.ok && !strings.Contains(fmt.Sprint(err), "access denied") {
			t.Errorf("%s: the client was told %v", tt.name, err)
		}
	}
}

func TestNotTLSInTunnel(t *testing.T) {
	w := newWorld(t, []string{site}, nil)
	got := say(t, w.proxy, "CONNECT example.com:443 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
	if strings.Contains(got, "evil") || len(w.Refusals(0)) != 1 {
		t.Errorf("%q, %v", got, w.Refusals(0))
	}
}

func TestOtherProtocols(t *testing.T) {
	w := newWorld(t, []string{"example.com:22"}, nil)
	got := say(t, w.proxy, "CONNECT example.com:22 HTTP/1.1\r\n\r\nSSH-2.0-me\r\n")
	if got != established+"SSH-2.0-test\r\nSSH-2.0-me\r\n" {
		t.Errorf("%q", got)
	}
}

func TestDirect(t *testing.T) {
	w := newWorld(t, []string{site}, nil)
	dial := func(name string) error {
		c, err := tls.Dial("tcp", w.direct, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err != nil {
			return err
		}
		defer c.Close()
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
		b, err := io.ReadAll(c)
		if err == nil && !strings.Contains(string(b), "GET example.com /") {
			err = fmt.Errorf("answer %q", b)
		}
		return err
	}
	if err := dial("example.com"); err != nil {
		t.Error(err)
	}
	if err := dial("evil.test"); err == nil || len(w.Refusals(0)) != 1 || w.Refusals(0)[0].Grant != "evil.test" {
		t.Errorf("%v, evidence %v", err, w.Refusals(0))
	}
}

// Evidence: sandbox · DNS rebinding does not reach other addresses
func TestRebinding(t *testing.T) {
	for _, tt := range []struct {
		addrs []string
		ok    bool
		grant string
	}{
		{[]string{"127.0.0.1"}, true, ""}, // allowed by the test's configuration
		{[]string{"::ffff:127.0.0.1"}, true, ""},
		{[]string{"10.0.0.1", "127.0.0.1"}, true, ""},
		{[]string{"127.0.0.2"}, false, "127.0.0.2/32"},
		{[]string{"169.254.169.254"}, false, "169.254.169.254/32"},
		{[]string{"::1"}, false, "::1/128"}, {[]string{"fe80::1%lo"}, false, "fe80::1/128"},
		{[]string{"0.0.0.0"}, false, "0.0.0.0/32"}, {[]string{"::"}, false, "::/128"},
		{[]string{"100.100.100.200"}, false, "100.100.100.200/32"}, {[]string{"fd00:ec2::254"}, false, "fd00:ec2::254/128"},
		{[]string{"64:ff9b::7f00:1"}, false, "64:ff9b::7f00:1/128"}, {[]string{"2002:a00:1::1"}, false, "2002:a00:1::1/128"},
		{nil, false, ""},
	} {
		w := newWorld(t, []string{site}, func(c *Config) {
			c.Resolve = func(context.Context, string) (out []netip.Addr, _ error) {
				for _, a := range tt.addrs {
					out = append(out, netip.MustParseAddr(a))
				}
				return out, nil
			}
		})
		status, body, err := get(w.client(t, "http"), "http://example.com/")
		if (status == 200) != tt.ok {
			t.Errorf("%v: %d %q, %v", tt.addrs, status, body, err)
		}
		if r := w.Refusals(0); !tt.ok && (len(r) != 1 || r[0].Reason != BadAddress || r[0].Grant != tt.grant) {
			t.Errorf("%v: evidence %v", tt.addrs, r)
		}
	}
}

func TestSlowClients(t *testing.T) {
	tier.Normal(t)
	w := newWorld(t, []string{site}, func(c *Config) { c.HeadTimeout, c.IdleTimeout = 200*time.Millisecond, 200*time.Millisecond })
	for _, text := range []string{
		"", "G", "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n", "\x05", "\x05\x01\x00\x05\x01\x00\x03\x40",
		"CONNECT example.com:443 HTTP/1.1\r\n\r\n", "CONNECT example.com:443 HTTP/1.1\r\n\r\n\x16\x03\x01\x01\x00",
		"POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 100\r\n\r\nx",
	} {
		c, err := net.Dial("tcp", w.proxy)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, text)
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q was not cut off", text)
		}
		c.Close()
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	w := newWorld(t, []string{site}, func(c *Config) { c.MaxConns = 6 }) // the two listeners take a place each
	var open []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", w.proxy)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	w.mu.Lock()
	n := len(w.open)
	w.mu.Unlock()
	if n > 2+6 {
		t.Errorf("%d open", n)
	}
	for _, c := range open {
		c.Close()
	}
	if status, _, err := get(w.client(t, "http"), "http://example.com/"); status != 200 {
		t.Error(status, err)
	}
}

func TestCloseEndsTunnels(t *testing.T) {
	w := newWorld(t, []string{"example.com:22"}, nil)
	c, err := net.Dial("tcp", w.proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "CONNECT example.com:22 HTTP/1.1\r\n\r\n")
	buf := make([]byte, len(established)+len("SSH-2.0-test\r\n"))
	if _, err := io.ReadFull(c, buf); err != nil {
		t.Fatal(err)
	}
	w.Close()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := c.Read(buf); err == nil || n > 0 {
		t.Errorf("read %d, %v", n, err)
	}
}

func TestEvidenceIsBoundedAndCounted(t *testing.T) {
	var e evidence
	mark := e.mark()
	for range 3 {
		e.add(Refusal{Host: "a"})
	}
	for i := range 2 * maxRefusals {
		e.add(Refusal{Host: strconv.Itoa(i)})
	}
	if got := e.since(mark); len(got) != maxRefusals || got[0].Host != strconv.Itoa(maxRefusals) {
		t.Errorf("%d kept, first %v", len(got), got[0])
	}
	for range 3 {
		e.add(Refusal{Host: "b"})
	}
	if got := e.since(e.mark() - 2); len(got) != 1 || got[0].Count != 2 {
		t.Errorf("%v", got)
	}
}

func TestHelloInPieces(t *testing.T) {
	raw := recordHello(t, &tls.Config{ServerName: "example.com"})
	msg := raw[5:]
	for _, size := range []int{1, 2, 7, 100} {
		var in bytes.Buffer
		for b := msg; len(b) > 0; {
			n := min(size, len(b))
			in.Write([]byte{22, 3, 1, 0, byte(n)})
			in.Write(b[:n])
			b = b[n:]
		}
		want := bytes.Clone(in.Bytes())
		got, name, err := readHello(&in)
		if err != nil || name != "example.com" || !bytes.Equal(got, want) {
			t.Errorf("pieces of %d: %q, %v", size, name, err)
		}
	}
	if _, _, err := readHello(bytes.NewReader(append(bytes.Clone(raw[:3]), 0x40, 1))); !errors.Is(err, errNotTLS) {
		t.Error(err)
	}
}

func TestEncryptedHello(t *testing.T) {
	raw := recordHello(t, &tls.Config{ServerName: "example.com"})
	// A GREASE extension: its number and an empty value; then the lengths are corrected.
	body := bytes.Clone(raw[9:])
	ext := 34 + 1 + int(body[34])
	ext += 2 + int(body[ext])<<8 + int(body[ext+1])
	ext += 1 + int(body[ext])
	n := int(body[ext])<<8 + int(body[ext+1]) + 4
	body[ext], body[ext+1] = byte(n>>8), byte(n)
	body = append(body, 0xfe, 0x0d, 0, 0)
	if _, err := helloName(body); !errors.Is(err, errECH) {
		t.Error(err)
	}
}

// recordHello returns the first record that a real client sends.
func recordHello(t testing.TB, cfg *tls.Config) []byte {
	a, b := net.Pipe()
	defer a.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Client(b, cfg).Handshake()
		b.Close()
	}()
	head := make([]byte, 5)
	if _, err := io.ReadFull(a, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, int(head[3])<<8|int(head[4]))
	if _, err := io.ReadFull(a, body); err != nil {
		t.Fatal(err)
	}
	a.Close()
	<-done
	return append(head, body...)
}
