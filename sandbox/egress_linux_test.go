package sandbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func init() {
	// get fetches a URL through the proxy that the environment names.
	helpers["get"] = func(a []string) error {
		proxy, err := url.Parse(os.Getenv("https_proxy"))
		if err != nil || proxy.Host == "" {
			return fmt.Errorf("no proxy in the environment: %v", err)
		}
		tr := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		resp, err := (&http.Client{Transport: tr, Timeout: time.Minute}).Get(a[0])
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(os.Stdout, resp.Body)
		return err
	}
	// lookup prints the addresses that a name resolves to.
	helpers["lookup"] = func(a []string) error {
		addrs, err := (&net.Resolver{PreferGo: true}).LookupHost(context.Background(), a[0])
		fmt.Print(strings.Join(addrs, " "))
		return err
	}
	// gate speaks TLS to the address that names resolve to inside.
	helpers["gate"] = func(a []string) error {
		c, err := tls.Dial("tcp", net.JoinHostPort(gateAddress, a[0]), &tls.Config{ServerName: a[1], InsecureSkipVerify: true})
		if err != nil {
			return err
		}
		defer c.Close()
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		_, err = io.Copy(os.Stdout, c)
		return err
	}
}

func netServer(t *testing.T) (port string) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "reached") }))
	t.Cleanup(srv.Close)
	_, port, _ = net.SplitHostPort(srv.Listener.Addr().String())
	return port
}

// netConfig lets commands reach one port of this test's own server, whose name resolves to the
// loopback address.
func netConfig(t *testing.T, port string, more ...string) Config {
	dir := filepath.Dir(self(t))
	return Config{Net: append([]string{"localhost:" + port, "127.0.0.1/32"}, more...), ReadOnly: []string{dir}}
}

// Evidence: sandbox · Only the listed hosts can be reached, through a proxy outside
func TestNet(t *testing.T) {
	t.Parallel()
	port := netServer(t)
	sb := open(t, netConfig(t, port, "listed.test", "*.listed.test"))
	run := func(name string, args ...string) *Exit {
		t.Helper()
		return mustExec(t, sb, Cmd{Args: append([]string{self(t)}, args...), Env: []string{helperEnv + "=" + name}})
	}
	if e := run("get", "https://localhost:"+port+"/"); !e.Success() || e.Stdout.String() != "reached" || len(e.Denials) > 0 {
		t.Errorf("a listed host: %v %s %s, denials %v", e, e.Stdout, e.Stderr, e.Denials)
	}
	for url, grant := range map[string]string{
		"https://other.test/":          `Config.Net: "other.test"`,
		"http://other.test:8080/":      `Config.Net: "other.test:8080"`,
		"https://127.0.0.1:" + port:    "",
		"https://localhost/":           `Config.Net: "localhost"`,
		"https://169.254.169.254/meta": "",
	} {
		e := run("get", url)
		if strings.Contains(e.Stdout.String(), "reached") {
			t.Errorf("%s was reached", url)
		}
		if len(e.Denials) != 1 || e.Denials[0].Wall != WallNetwork || e.Denials[0].Grant != grant {
			t.Errorf("%s: denials %v, want one with grant %q", url, e.Denials, grant)
		}
	}
	// Nothing is reachable without the proxy.
	if e := run("dial", "tcp", "127.0.0.1:"+port); e.Success() {
		t.Error("the host's loopback was reached")
	}
	if w := sb.Isolation().Wall(WallNetwork); !w.Enforced || !strings.Contains(w.Detail, "listed.test") {
		t.Errorf("wall %+v", w)
	}
}

// TestNetWithoutProxy checks that programs that do not use a proxy are served if low ports are
// available.
func TestNetWithoutProxy(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/etc/resolv.conf"); err != nil {
		t.Skip("needs /etc/resolv.conf")
	}
	port := netServer(t)
	sb := open(t, netConfig(t, port, "*.listed.test"))
	run := func(name string, args ...string) *Exit {
		t.Helper()
		return mustExec(t, sb, Cmd{Args: append([]string{self(t)}, args...), Env: []string{helperEnv + "=" + name}})
	}
	e := run("lookup", "a.listed.test")
	if !e.Success() {
		t.Skipf("names cannot be looked up inside, which is so where /proc/sys is read-only: %s", e.Stderr)
	}
	if e.Stdout.String() != gateAddress {
		t.Errorf("a.listed.test is %s", e.Stdout)
	}
	if e := run("lookup", "secret.evil.test"); e.Success() || len(e.Denials) == 0 || e.Denials[0].Call != "dns" || e.Denials[0].Host != "secret.evil.test" {
		t.Errorf("secret.evil.test: %s, denials %v", e.Stdout, e.Denials)
	}
	if e := run("gate", port, "localhost"); !strings.Contains(e.Stdout.String(), "reached") {
		t.Errorf("listed, without proxy: %v %s", e, e.Stderr)
	}
	if e := run("gate", port, "evil.test"); strings.Contains(e.Stdout.String(), "reached") || len(e.Denials) != 1 {
		t.Errorf("not listed, without proxy: %v, denials %v", e, e.Denials)
	}
}

func TestNetLeavesNothing(t *testing.T) {
	cfg := netConfig(t, "443")
	open(t, cfg) // skips if the tier is not available
	scratch := t.TempDir()
	checkHoldings(t, scratch, "sandboxes with a network", func() {
		for range 3 {
			sb, err := Local(t.Context(), Config{Net: cfg.Net, Dir: t.TempDir(), ScratchDir: scratch})
			if err != nil {
				t.Fatal(err)
			}
			sh(t, sb, "true")
			if err := sb.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestNetNeedsItsWall(t *testing.T) {
	if _, err := Local(t.Context(), Config{Dir: t.TempDir(), Net: []string{"a.test"}, Floor: TierLandlock, Ceiling: TierLandlock}); err == nil {
		t.Error("a tier without a network namespace took a list of hosts")
	}
	for _, bad := range []string{"1.2.3.4", "*", "https://a.test", "a.test:0"} {
		if _, err := Local(t.Context(), Config{Dir: t.TempDir(), Net: []string{bad}}); err == nil || !strings.Contains(err.Error(), "Config.Net") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestNetServesOneLease checks that no lease meets what an earlier one did to its network access: a
// sandbox with network access serves one lease, even within a trust domain, and its proxy ends with
// the lease.
func TestNetServesOneLease(t *testing.T) {
	t.Parallel()
	port := netServer(t)
	cfg := netConfig(t, port)
	cfg.ReadOnly = nil
	p := newPool(t, PoolConfig{Config: cfg, Max: 1, Warm: 1})
	dir := t.TempDir()
	placeSelf(t, filepath.Join(dir, "get"))
	seen := map[spawner]bool{}
	for i := range 3 {
		l := acquire(t, p, Request{Snapshot: SnapshotDir(dir), Domain: "d"})
		in := withoutNet(l.spawner())
		if seen[in] || l.blank != nil {
			t.Errorf("lease %d has the network of another", i)
		}
		seen[in] = true
		e := mustExec(t, l, Cmd{Args: []string{"./get", "https://localhost:" + port}, Env: []string{helperEnv + "=get"}})
		if e.Stdout.String() != "reached" || len(e.Denials) > 0 {
			t.Errorf("lease %d: %v %s, denials %v", i, e, e.Stderr, e.Denials)
		}
		e = mustExec(t, l, Cmd{Args: []string{"./get", "https://other.test"}, Env: []string{helperEnv + "=get"}})
		if len(e.Denials) != 1 || e.Denials[0].Count != 1 {
			t.Errorf("lease %d: denials %v", i, e.Denials)
		}
		proxy := l.spawner().(*netSpawner).proxy
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := proxy.Serve(nowhere{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("lease %d: its proxy still serves: %v", i, err)
		}
	}
}

// nowhere is a listener that nobody connects to.
type nowhere struct{ net.Listener }

func (nowhere) Accept() (net.Conn, error) { return nil, errors.New("it was asked for a connection") }
func (nowhere) Close() error              { return nil }
func (nowhere) Addr() net.Addr            { return &net.TCPAddr{} }
