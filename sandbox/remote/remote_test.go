package remote

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/internal/sandboxtest"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	if dir := os.Getenv("TEST_TOOLHOST"); dir != "" {
		os.Exit(toolhost(dir))
	}
	if dir := os.Getenv("TEST_SERVER"); dir != "" {
		os.Exit(serveState(dir))
	}
	sandboxtest.WaitTogether()
	tier.Main(m)
}

const token = "a token of the test's own"

// plain returns a template without isolation: only the transport is tested here.
func plain() sandbox.Config {
	return sandbox.Config{Floor: sandbox.TierNone, Ceiling: sandbox.TierNone}
}

func newTestServer(t *testing.T, change func(*Config)) (*Server, string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands of these tests are a Unix system's")
	}
	cfg := Config{Dir: t.TempDir(), Sandbox: plain(), Tenants: []Tenant{{Name: "a", Token: token}}}
	if change != nil {
		change(&cfg)
	}
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		h.CloseClientConnections()
		h.Close()
	})
	return s, h.URL
}

func openAt(t *testing.T, o Options) *Sandbox {
	t.Helper()
	if o.Token == "" && o.HTTP == nil {
		o.Token = token
	}
	if o.Patience == 0 {
		o.Patience = 20 * time.Second
	}
	sb, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close() })
	return sb
}

func workspace(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "text a\n", "sub/b.txt": "text b\n", "sub/copy.txt": "text a\n", "empty": ""} {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "run.sh"), []byte("#!/bin/sh\necho ran \"$@\"\n"), 0o755), os.Symlink("sub/b.txt", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func sh(t *testing.T, sb sandbox.Sandbox, script string) *sandbox.Exit {
	t.Helper()
	exit, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", script}, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return exit
}

// Evidence: remote · A remote sandbox behaves as a local one
func TestSameInterface(t *testing.T) {
	_, url := newTestServer(t, nil)
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	if e := sh(t, sb, "cat a.txt link; ./run.sh it; echo err >&2; exit 7"); e.Code != 7 || e.Stdout.String() != "text a\ntext b\nran it\n" || e.Stderr.String() != "err\n" {
		t.Errorf("%v %q %q", e, e.Stdout, e.Stderr)
	}
	e, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", "pwd; cat; echo $X >&2"}, Dir: "sub", Env: []string{"X=y"}, Stdin: strings.NewReader(strings.Repeat("in ", 100000)), MergeStderr: true, Limit: 1 << 20})
	if err != nil || e.Stdout.String() != sb.Dir()+"/sub\n"+strings.Repeat("in ", 100000)+"y\n" {
		t.Errorf("%v, %d bytes, %v", e, e.Stdout.Total, err)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"no-such-program"}}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if e := sh(t, sb, "kill -TERM $$"); e.Signal != 15 {
		t.Errorf("%v", e)
	}
	sh(t, sb, "echo changed > a.txt; rm sub/b.txt; mkdir n; echo new > n/f")
	changes, err := sb.Changes(t.Context())
	got := ""
	for _, c := range changes {
		got += string(c.Kind) + " " + c.Path + ", "
	}
	if err != nil || got != "modified a.txt, added n, added n/f, deleted sub/b.txt, " {
		t.Errorf("%s %v", got, err)
	}
	if tier := sb.Isolation().Tier; tier != sandbox.TierNone {
		t.Errorf("tier %v", tier)
	}
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"true"}}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestProcess(t *testing.T) {
	s, url := newTestServer(t, nil)
	sb := openAt(t, Options{URL: url})
	p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"cat"}, OpenStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(p, "one ")
	fmt.Fprint(p, "two")
	p.CloseStdin()
	if e, err := p.Wait(); err != nil || e.Stdout.String() != "one two" {
		t.Errorf("%v %v", e, err)
	}
	if p, err = sb.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(15); err != nil {
		t.Error(err)
	}
	if e, err := p.Wait(); err != nil || e.Signal != 15 {
		t.Errorf("%v %v", e, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if p, err = sb.Start(ctx, sandbox.Cmd{Args: []string{"sleep", "1000"}}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if e, err := p.Wait(); !e.Canceled || !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", e, err)
	}
	e, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}, Timeout: 50 * time.Millisecond})
	if err != nil || !e.TimedOut {
		t.Errorf("%v %v", e, err)
	}
	for i := 0; ; i++ { // what was acknowledged is not kept
		s.mu.Lock()
		n := len(s.runs)
		s.mu.Unlock()
		if n == 0 {
			break
		}
		if i > 1000 {
			t.Fatalf("%d results are kept", n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestUnixSocket(t *testing.T) {
	s, _ := newTestServer(t, nil)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skip(err)
	}
	srv := &http.Server{Handler: s}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	sb := openAt(t, Options{URL: "unix://" + path})
	if e := sh(t, sb, "echo hi"); e.Stdout.String() != "hi\n" {
		t.Error(e)
	}
}

func TestTokens(t *testing.T) {
	_, url := newTestServer(t, func(c *Config) {
		c.Tenants = append(c.Tenants, Tenant{Name: "b", Token: "another tenant's token"}, Tenant{Name: "c", CertName: "c"})
	})
	for _, bad := range []string{"", "x", token + "x", token[:len(token)-1]} {
		if _, err := Open(t.Context(), Options{URL: url, Token: bad}); !errors.Is(err, ErrDenied) {
			t.Errorf("token %q: %v", bad, err)
		}
	}
	// A tenant has no access to another's sandboxes and contents.
	a, b := openAt(t, Options{URL: url, Dir: workspace(t)}), openAt(t, Options{URL: url, Token: "another tenant's token"})
	b.c.id = a.c.id
	if _, err := b.Exec(t.Context(), sandbox.Cmd{Args: []string{"true"}}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("another's sandbox: %v", err)
	}
	files, err := scan(workspace(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.c.call(t.Context(), "PUT", "/v1/sandboxes/"+newID(), openRequest{Files: files}, nil); err == nil {
		t.Error("another's content was had by its hash")
	}
}

func TestCertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := func(name string) tls.Certificate {
		tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
			IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		leaf, _ := x509.ParseCertificate(der)
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	}
	s, _ := newTestServer(t, func(c *Config) { c.Tenants = []Tenant{{Name: "c", CertName: "worker"}} })
	good, other := cert("worker"), cert("other")
	pool := x509.NewCertPool()
	pool.AddCert(good.Leaf)
	pool.AddCert(other.Leaf)
	h := httptest.NewUnstartedServer(s)
	h.TLS = &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: pool}
	h.EnableHTTP2 = true
	h.StartTLS()
	t.Cleanup(h.Close)
	client := func(certs ...tls.Certificate) *http.Client {
		roots := x509.NewCertPool()
		roots.AddCert(h.Certificate())
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certs}, ForceAttemptHTTP2: true}
		t.Cleanup(tr.CloseIdleConnections)
		return &http.Client{Transport: tr}
	}
	sb := openAt(t, Options{URL: h.URL, HTTP: client(good)})
	if e := sh(t, sb, "echo hi"); e.Stdout.String() != "hi\n" {
		t.Error(e)
	}
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []*http.Client{client(), client(other)} {
		if _, err := Open(t.Context(), Options{URL: h.URL, HTTP: c}); !errors.Is(err, ErrDenied) {
			t.Errorf("%v", err)
		}
	}
}

func TestOnlyMissingContentTravels(t *testing.T) {
	s, _ := newTestServer(t, nil)
	var sent atomic.Int64
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/blobs/") {
			sent.Add(1)
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	dir := workspace(t)
	for i, want := range []int64{4, 0, 1} { // two files have the same content
		if i == 2 {
			if err := os.WriteFile(filepath.Join(dir, "new"), []byte("new content"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		sent.Store(0)
		sb := openAt(t, Options{URL: h.URL, Dir: dir})
		if n := sent.Load(); n != want {
			t.Errorf("opening %d sent %d contents, want %d", i, n, want)
		}
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestQuota(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	_, url := newTestServer(t, func(c *Config) {
		c.Tenants[0].Quota = Quota{Sandboxes: 1, Commands: 1, Bytes: 4 << 10, Time: 3 * time.Second}
	})
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	if _, err := Open(t.Context(), Options{URL: url, Token: token}); !errors.Is(err, ErrQuota) {
		t.Errorf("second sandbox: %v", err)
	}
	big := t.TempDir()
	if err := os.WriteFile(filepath.Join(big, "f"), make([]byte, 8<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{URL: url, Token: token, Dir: big}); !errors.Is(err, ErrQuota) {
		t.Errorf("content: %v", err)
	}
	p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"cat"}, OpenStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"true"}}); !errors.Is(err, ErrQuota) {
		t.Errorf("second command: %v", err)
	}
	p.CloseStdin()
	p.Wait()
	e, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", "while :; do echo output; done"}})
	if !errors.Is(err, ErrQuota) || e.Stdout.Total > 4<<10 {
		t.Errorf("output: %v, %v", e, err)
	}
	if e, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}}); !errors.Is(err, ErrQuota) {
		t.Errorf("time: %v, %v", e, err)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"true"}}); !errors.Is(err, ErrQuota) {
		t.Errorf("time is used up: %v", err)
	}
}

func TestLeaseRunsOut(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	s, url := newTestServer(t, nil)
	const ttl = 5 * time.Second // longer than a client waits for its turn to renew
	sb := openAt(t, Options{URL: url, TTL: ttl})
	time.Sleep(ttl + time.Second)
	sh(t, sb, "true") // the lease is renewed while the client exists
	p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	tree := sb.Dir()
	sb.c.cancel() // the client disappears
	for i := 0; ; i++ {
		s.mu.Lock()
		n := len(s.boxes)
		s.mu.Unlock()
		if n == 0 {
			break
		}
		if i > 2000 {
			t.Fatal("the sandbox outlived its lease")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := os.Stat(tree); err == nil {
		t.Error("the workspace is left")
	}
	p.Wait()
}

func TestServerRestart(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir := t.TempDir()
	cfg := Config{Dir: dir, Sandbox: plain(), Tenants: []Tenant{{Name: "a", Token: token}}}
	first, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Pointer[Server]
	now.Store(first)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
	t.Cleanup(h.Close)
	c := openAt(t, Options{URL: h.URL, Patience: 5 * time.Second}).c
	// A result that nobody has fetched, and an unfinished log that a dead server left.
	done, cut := newID(), newID()
	if err := c.call(t.Context(), "PUT", "/v1/sandboxes/"+c.id+"/commands/"+done, startRequest{Args: []text{"echo", "result"}, Dir: "/"}, nil); err != nil {
		t.Fatal(err)
	}
	first.mu.Lock()
	r := first.runs["a/"+done]
	first.mu.Unlock()
	<-r.over
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	half := append(appendFrame(nil, frameStdout, []byte("half")), frameStdout, 0, 0)
	if err := os.WriteFile(filepath.Join(first.part(first.accounts[0], dirRuns), cut), half, 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	now.Store(second)
	for id, want := range map[string]string{done: "result\n<nil>", cut: "half" + ErrLost.Error()} {
		out, e := fetch(t, c, id)
		text := "<nil>"
		if e.Error != nil {
			text = e.Error.Text
		}
		if out+text != want {
			t.Errorf("%q %q, want %q", out, text, want)
		}
	}
	if err := c.call(t.Context(), "POST", "/v1/sandboxes/"+c.id+"/lease", nil, nil); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("the sandbox after a restart: %v", err)
	}
	if err := c.call(t.Context(), "DELETE", "/v1/commands/"+done, nil, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(second.part(second.accounts[0], dirRuns), done)); err == nil {
		t.Error("an acknowledged result is kept")
	}
}

// fetch reads a log as a client does.
func fetch(t *testing.T, c *client, id string) (string, ended) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{ch: &child{c: c, id: id}, s: sandbox.Spawn{Stdout: w, Stderr: w}}
	if err := c.retryFrom(c.ctx, &f.at, f.read); err != nil {
		t.Errorf("fetch: %v", err)
	}
	w.Close()
	b, _ := io.ReadAll(r)
	r.Close()
	return string(b), f.end
}

// cutter is a TCP proxy that cuts one connection after a number of bytes of answers.
type cutter struct {
	net.Listener
	to   string
	left atomic.Int64
	wg   sync.WaitGroup
}

func newCutter(t *testing.T, to string) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: strings.TrimPrefix(to, "http://")}
	c.left.Store(1 << 60)
	c.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); c.wg.Wait() })
	return c
}

func (c *cutter) serve(conn net.Conn) {
	defer conn.Close()
	up, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer up.Close()
	c.wg.Go(func() {
		_, _ = io.Copy(up, conn)
		up.Close()
	})
	buf := make([]byte, 4096)
	for {
		n, err := up.Read(buf)
		left := c.left.Add(-int64(n)) + int64(n)
		if left >= 0 && left < int64(n) { // this connection is the one to cut, once
			_, _ = conn.Write(buf[:left])
			c.left.Store(1 << 60)
			return
		}
		if n > 0 {
			if _, err := conn.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// TestCutAnywhere cuts a connection after every number of bytes of the server's answers to a small
// exchange. Nothing may be lost, duplicated or run twice.
//
// Evidence: remote · A connection cut at any byte loses and repeats nothing
func TestCutAnywhere(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	_, url := newTestServer(t, func(c *Config) { c.Tenants[0].Quota.Sandboxes = -1 })
	cut := newCutter(t, url)
	sb := openAt(t, Options{URL: "http://" + cut.Addr().String()})
	step := tier.Pick[int64](47, 3, 1)
	count := 0
	for at := int64(0); ; at += step {
		cut.left.Store(at)
		count++
		marker := fmt.Sprintf("m%d", at)
		e, err := sb.Exec(t.Context(), sandbox.Cmd{
			Args:  []string{"sh", "-c", "echo once >> " + marker + "; cat; echo out; echo err >&2; wc -l < " + marker + "; exit 5"},
			Stdin: strings.NewReader("input "),
		})
		if err != nil || e.Code != 5 || strings.Join(strings.Fields(e.Stdout.String()), " ") != "input out 1" || e.Stderr.String() != "err\n" {
			t.Fatalf("cut after %d bytes: %v %q %q, %v", at, e, e.Stdout, e.Stderr, err)
		}
		if cut.left.Load() < 1<<59 { // the exchange was shorter
			break
		}
		if at > 20000 {
			t.Fatal("the exchange has no end")
		}
	}
	t.Logf("cut at %d places", count)
}

func TestManyCommandsAtOnce(t *testing.T) {
	_, url := newTestServer(t, nil)
	sb := openAt(t, Options{URL: url})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			want := strings.Repeat(fmt.Sprintln(i), 20000)
			e, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"cat"}, Stdin: strings.NewReader(want), Limit: 1 << 20})
			if err != nil || e.Stdout.String() != want {
				t.Errorf("%d: %v, %d bytes, %v", i, e, e.Stdout.Total, err)
			}
		})
	}
	wg.Wait()
}

func TestManifest(t *testing.T) {
	hash := strings.Repeat("0", 64)
	for _, bad := range [][]entry{
		{{Path: "../a", Kind: 'd'}}, {{Path: "/a", Kind: 'd'}}, {{Path: ".", Kind: 'd'}}, {{Path: "", Kind: 'd'}}, {{Path: "a/../b", Kind: 'd'}},
		{{Path: "a", Kind: 'd', Perm: 0o1777}}, {{Path: "a\x00", Kind: 'd'}}, {{Path: "a", Kind: 'd'}, {Path: "a", Kind: 'l', Link: "b"}},
		{{Path: "a/b", Kind: 'd'}}, {{Path: "a", Kind: 'l', Link: "/etc"}, {Path: "a/b", Kind: 'f', Hash: hash}},
		{{Path: "a", Kind: 'f', Hash: "x"}}, {{Path: "a", Kind: 'f', Hash: hash, Size: -1}}, {{Path: "a", Kind: 'l'}}, {{Path: "a", Kind: 'c'}},
	} {
		if checkManifest(bad) == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"files":[{"p":"a","k":100},{"p":"a/l","k":108,"l":"../../x"}],"ttl":1}`))
	f.Add([]byte(`{"files":[{"p":"a/../..","k":100}]}`))
	f.Add([]byte(`{"files":[{"p":"a","k":108,"l":"/"},{"p":"a/b","k":100}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var q openRequest
		if decode(bytes.NewReader(b), &q) != nil || checkManifest(q.Files) != nil || len(q.Files) > 20 {
			return
		}
		top := t.TempDir()
		dir := filepath.Join(top, "d")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		s := &store{dir: filepath.Join(top, "none")}
		_ = s.build(q.Files, dir)
		if left, _ := os.ReadDir(top); len(left) != 1 {
			t.Fatalf("wrote outside: %v", left)
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, frameStdout, []byte("hi")), frameEnd, []byte(`{"Code":1}`)))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{3, 0, 0, 0, 0})
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fo := &follower{s: sandbox.Spawn{Stdout: null, Stderr: null}}
		err := fo.frames(bytes.NewReader(b), fo.frame)
		if fo.at > int64(len(b)) || err == nil != fo.over {
			t.Fatalf("at %d of %d, %v", fo.at, len(b), err)
		}
	})
}

func FuzzStart(f *testing.F) {
	f.Add([]byte(`{"args":["a",["/w=="]],"dir":"/","merge":true}`))
	f.Add([]byte(`{"args":null}{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var q startRequest
		_ = decode(bytes.NewReader(b), &q)
	})
}
