package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// state returns what a server keeps for its only tenant.
func (s *Server) state() (boxes, outs int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[0]
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(s.boxes), len(s.outs), a.bytes
}

func empty(t *testing.T, s *Server, part string) {
	t.Helper()
	left, err := os.ReadDir(s.part(s.accounts[0], part))
	if err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", part, left, err)
	}
}

// TestWorkspaceCutAnywhere cuts a connection after different numbers of bytes, in coarse steps, of
// the answers to an export, a fork and a restore. Each must be done once and arrive complete.
func TestWorkspaceCutAnywhere(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	s, url := newTestServer(t, func(c *Config) { c.Tenants[0].Quota.Sandboxes = -1 })
	cut := newCutter(t, url)
	big := make([]byte, 150_000)
	_, _ = rand.Read(big)
	dir := workspace(t)
	sb := openAt(t, Options{URL: "http://" + cut.Addr().String(), Dir: dir})
	e, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", "cat > big; cp big copy; echo more >> a.txt; rm sub/b.txt"}, Stdin: bytes.NewReader(big)})
	if err != nil || !e.Success() {
		t.Fatal(e, err)
	}
	step := tier.Pick[int64](40009, 6007, 1009)
	cuts := 0
	for at := int64(0); ; at += step {
		cut.left.Store(at)
		cuts++
		out := workspace(t)
		if _, err := sb.Export(t.Context(), sandbox.ExportOptions{Dir: out}); err != nil {
			t.Fatalf("cut after %d bytes: %v", at, err)
		}
		for _, name := range []string{"big", "copy"} {
			if b, err := os.ReadFile(filepath.Join(out, name)); err != nil || !bytes.Equal(b, big) {
				t.Fatalf("cut after %d bytes: %s has %d bytes, %v", at, name, len(b), err)
			}
		}
		var diff bytes.Buffer
		if err := sb.Diff(t.Context(), sandbox.AtSnapshot, &diff); err != nil || strings.Count(diff.String(), "diff --git") != 4 {
			t.Fatalf("cut after %d bytes: %v, %q", at, err, diff.String())
		}
		f, err := sb.Fork(t.Context())
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", at, err)
		}
		if err := f.(sandbox.Restorer).Restore(t.Context(), sandbox.AtSnapshot); err != nil {
			t.Fatalf("cut after %d bytes: %v", at, err)
		}
		if n, _, _ := s.state(); n != 2 {
			t.Fatalf("cut after %d bytes: %d sandboxes are open, want 2", at, n)
		}
		if err := f.Close(); err != nil {
			t.Fatalf("cut after %d bytes: %v", at, err)
		}
		if cut.left.Load() < 1<<59 { // the exchange was shorter
			break
		}
		if at > 2_000_000 {
			t.Fatal("the exchange has no end")
		}
	}
	if n, outs, _ := s.state(); n != 1 || outs != 0 {
		t.Errorf("%d sandboxes and %d outputs are left", n, outs)
	}
	empty(t, s, dirOuts)
	t.Logf("cut at %d places", cuts)
}

// TestWorkspaceQuota checks that a fork counts as a sandbox, and that exported data counts as bytes
// until it is fetched.
func TestWorkspaceQuota(t *testing.T) {
	s, url := newTestServer(t, func(c *Config) { c.Tenants[0].Quota = Quota{Sandboxes: 2, Bytes: 64 << 10} })
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	f, err := sb.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sb.Fork(t.Context()); !errors.Is(err, ErrQuota) {
		t.Errorf("a third sandbox: %v, want ErrQuota", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	sh(t, sb, "seq 1 30000 > text")
	_, _, before := s.state()
	_, treeErr := sb.Export(t.Context(), sandbox.ExportOptions{Dir: t.TempDir()})
	_, patchErr := sb.Export(t.Context(), sandbox.ExportOptions{Patch: io.Discard})
	for what, err := range map[string]error{"diff": sb.Diff(t.Context(), sandbox.AtSnapshot, io.Discard), "export": treeErr, "patch": patchErr} {
		if !errors.Is(err, ErrQuota) {
			t.Errorf("%s beyond the quota: %v", what, err)
		}
	}
	sh(t, sb, "seq 1 100 > text")
	for range 3 {
		if err := sb.Diff(t.Context(), sandbox.AtSnapshot, io.Discard); err != nil {
			t.Error(err)
		}
	}
	for i := 0; ; i++ { // acknowledgements of the commands arrive a little later
		_, outs, bytes := s.state()
		if outs == 0 && bytes == before {
			break
		}
		if i > 500 {
			t.Fatalf("%d outputs and %d bytes are kept, want 0 and %d", outs, bytes, before)
		}
		time.Sleep(10 * time.Millisecond)
	}
	empty(t, s, dirOuts)
	for range maxOutputs { // nobody drops these
		if _, err := sb.output(t.Context(), outputRequest{Kind: outputDiff}); err != nil {
			t.Fatal(err)
		}
	}
	if err := sb.Diff(t.Context(), sandbox.AtSnapshot, io.Discard); !errors.Is(err, ErrQuota) {
		t.Errorf("one output more than may be: %v", err)
	}
}

// TestWorkspaceOfAnother checks that a tenant has no access to another's open sandboxes and
// exports.
func TestWorkspaceOfAnother(t *testing.T) {
	_, url := newTestServer(t, func(c *Config) { c.Tenants = append(c.Tenants, Tenant{Name: "b", Token: "another tenant's token"}) })
	a := openAt(t, Options{URL: url, Dir: workspace(t)})
	sh(t, a, "echo secret > a.txt")
	o, err := a.output(t.Context(), outputRequest{Kind: outputDiff})
	if err != nil {
		t.Fatal(err)
	}
	b := openAt(t, Options{URL: url, Token: "another tenant's token"})
	theirs := *o
	theirs.c = b.c
	var got bytes.Buffer
	if err := theirs.fetch(t.Context(), o.Hash, o.Size, &got); !errors.Is(err, ErrLost) || got.Len() > 0 {
		t.Errorf("another's output: %v, %q", err, got.String())
	}
	theirs.drop()
	if err := o.fetch(t.Context(), o.Hash, o.Size, &got); err != nil || !strings.Contains(got.String(), "secret") {
		t.Errorf("after another dropped it: %v", err)
	}
	mine := b.c.id
	b.c.id = a.c.id
	_, forkErr := b.Fork(t.Context())
	_, reviewErr := b.Review(t.Context())
	for what, err := range map[string]error{"fork": forkErr, "review": reviewErr, "restore": b.Restore(t.Context(), sandbox.AtSnapshot), "diff": b.Diff(t.Context(), sandbox.AtSnapshot, io.Discard)} {
		if !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("%s of another's sandbox: %v", what, err)
		}
	}
	b.c.id = mine
}

// liar forwards requests to a server and changes its answers about outputs.
func liar(t *testing.T, s *Server, reply func(*outputReply), content func([]byte)) string {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made := r.Method == "PUT" && strings.Contains(r.URL.Path, "/outputs/")
		if read := r.Method == "GET" && strings.Contains(r.URL.Path, "/outputs/"); !made && !read {
			s.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		b := rec.Body.Bytes()
		if made {
			var o outputReply
			if err := json.Unmarshal(b, &o); err != nil {
				t.Error(err)
			}
			reply(&o)
			b, _ = json.Marshal(o)
			rec.Header().Del("Content-Length")
		} else {
			content(b)
		}
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(b)
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// TestServerThatLies checks that whatever a server answers, the client writes nothing outside the
// directory, and no content other than the one that was named.
func TestServerThatLies(t *testing.T) {
	s, _ := newTestServer(t, nil)
	none := func([]byte) {}
	for name, c := range map[string]struct {
		reply   func(*outputReply)
		content func([]byte)
	}{
		"path out":         {func(o *outputReply) { o.Files[0].Path, o.Review.Changes[0].Path = "../out", "../out" }, none},
		"absolute path":    {func(o *outputReply) { o.Files[0].Path, o.Review.Changes[0].Path = "/tmp/out", "/tmp/out" }, none},
		"change out":       {func(o *outputReply) { o.Review.Changes[0].Path = "sub/../../out" }, none},
		"deleted out":      {func(o *outputReply) { o.Review.Changes[0] = wireChange{Path: "../keep", Kind: sandbox.Deleted} }, none},
		"path below link":  {func(o *outputReply) { o.Files[0].Path, o.Review.Changes[0].Path = "away/out", "away/out" }, none},
		"odd permissions":  {func(o *outputReply) { o.Files[0].Perm = 0o4755 }, none},
		"hash that is one": {func(o *outputReply) { o.Files[0].Hash = "../../../../etc/passwd" }, none},
		"another content":  {func(*outputReply) {}, func(b []byte) { b[0] ^= 1 }},
		"no such content":  {func(o *outputReply) { o.Files[0].Hash = strings.Repeat("0", 64) }, none},
		"negative size":    {func(o *outputReply) { o.Files[0].Size = -1 }, none},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "dir")
			if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(top, "keep"), nil, 0o644), os.Symlink(top, filepath.Join(dir, "away"))); err != nil {
				t.Fatal(err)
			}
			sb := openAt(t, Options{URL: liar(t, s, c.reply, c.content), Dir: dir})
			sh(t, sb, "echo content > file")
			before := listing(t, top)
			if _, err := sb.Export(t.Context(), sandbox.ExportOptions{}); err == nil {
				t.Error("it was believed")
			}
			if d := fmt.Sprint(listing(t, top)); d != fmt.Sprint(before) {
				t.Errorf("was %v, is %s", before, d)
			}
		})
	}
}

// TestAbsoluteLinkIsRefused checks that a link to the workspace's path on the server is refused,
// since it leads elsewhere here.
func TestAbsoluteLinkIsRefused(t *testing.T) {
	s, url := newTestServer(t, nil)
	dir := workspace(t)
	sb := openAt(t, Options{URL: url, Dir: dir})
	s.mu.Lock()
	tree, err := filepath.EvalSymlinks(s.boxes["a/"+sb.c.id].tree.dir)
	s.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	sh(t, sb, "ln -s "+tree+"/a.txt abs; ln -s a.txt rel")
	var refused *sandbox.ReviewError
	if _, err := sb.Export(t.Context(), sandbox.ExportOptions{}); !errors.As(err, &refused) || len(refused.Findings) != 1 || refused.Findings[0].Path != "abs" {
		t.Errorf("%v, want a refusal of abs", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "rel")); err == nil {
		t.Error("refused, but written")
	}
}

// TestForksLeaveNothing checks that neither forks whose request was abandoned nor trees of forks
// are left.
func TestForksLeaveNothing(t *testing.T) {
	s, url := newTestServer(t, func(c *Config) { c.TTL = time.Hour })
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sb.Fork(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	c := sb.c.sibling() // requests a fork, and disappears before the answer
	var reply openReply
	if err := sb.ask(t.Context(), "PUT", "/forks/"+c.id, nil, &reply); err != nil {
		t.Fatal(err)
	}
	if err := c.release(); err != nil {
		t.Error(err)
	}
	c.cancel()
	s.mu.Lock()
	sub := filepath.Join(s.boxes["a/"+sb.c.id].tree.dir, "sub")
	s.mu.Unlock()
	if err := os.Chmod(sub, 0o555); err != nil { // as in a read-only original
		t.Error(err)
	}
	f := forked(t, sb)
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
	if e := sh(t, f, "cat sub/b.txt"); e.Stdout.String() != "text b\n" {
		t.Errorf("the fork's snapshot is gone: %v %s", e, e.Stderr)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	empty(t, s, dirTrees)
}

// TestRestoreIsDoneOnce checks that a restore whose answer was lost is neither repeated after later
// changes, nor fails because a command runs by then.
func TestRestoreIsDoneOnce(t *testing.T) {
	_, url := newTestServer(t, nil)
	sb := openAt(t, Options{URL: url, Dir: workspace(t)})
	sh(t, sb, "echo 1 > dropped")
	if err := sb.Restore(t.Context(), sandbox.AtSnapshot); err != nil {
		t.Fatal(err)
	}
	sh(t, sb, "echo 2 > kept")
	p, err := sb.Start(t.Context(), sandbox.Cmd{Args: []string{"cat"}, OpenStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := sb.ask(t.Context(), "POST", "/restore?to=0&n=1", nil, nil); err != nil {
		t.Errorf("the same again: %v", err)
	}
	_ = p.CloseStdin()
	_, _ = p.Wait()
	if got := sh(t, sb, "echo $(ls)").Stdout.String(); got != "a.txt empty kept link run.sh sub\n" {
		t.Errorf("left: %s", got)
	}
	if err := sb.ask(t.Context(), "POST", "/restore?to=0&n=0", nil, nil); err == nil {
		t.Error("a restore of before a later one was done")
	}
}

// FuzzText checks that the bytes of any name arrive unchanged.
func FuzzText(f *testing.F) {
	f.Add([]byte("plain"), []byte(`["AA=="]`))
	f.Add([]byte("odd \xff\x00"), []byte(`[]`))
	f.Fuzz(func(t *testing.T, name, wire []byte) {
		b, err := json.Marshal(entry{Path: string(name), Kind: 'l', Link: string(name)})
		var e entry
		if err == nil {
			err = json.Unmarshal(b, &e)
		}
		if err != nil || e.Path != string(name) || e.Link != string(name) {
			t.Fatalf("%q arrived as %q, %v", name, e.Path, err)
		}
		var x text
		_ = json.Unmarshal(wire, &x)
	})
}
