package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/wait"
	"github.com/luthier-dev/luthier/sandbox"
)

// Options configure where a sandbox is opened and over what. URL is required.
type Options struct {
	// URL is the server's address: http://host:port, https://host:port or unix:///path.
	URL string
	// Token is the tenant's bearer token.
	Token string
	// HTTP makes the requests; with a client certificate in its transport no token is needed. It
	// must have no Timeout. If it is nil, a new client is used.
	HTTP *http.Client
	// Dir is the directory with the initial contents of the workspace. If it is empty, the
	// workspace starts empty.
	Dir string
	// TTL is the time for which the sandbox outlives this program. Zero means the server's default,
	// which is also the maximum.
	TTL time.Duration
	// Patience is the time for which requests to an unreachable server are repeated before they
	// fail. Default 1 min.
	Patience time.Duration
}

// Sandbox is a sandbox on a server. It is a sandbox.Sandbox with the same abilities as one over a
// snapshot on this machine.
type Sandbox struct {
	sandbox.Sandbox
	c     *client
	from  *origin
	tools *Tools

	restoring sync.Mutex
	restored  int64 // number of restores requested
}

// origin is the directory with the initial contents of a workspace, in its state at that time.
type origin struct {
	dir   string // empty if there was none
	files map[string]entry
}

var _ sandbox.Sandbox = (*Sandbox)(nil)

// Open sends the workspace and opens a sandbox over it. ctx bounds only the opening. The sandbox
// must be closed; if it is not, the server closes it when the lease expires.
func Open(ctx context.Context, o Options) (*Sandbox, error) {
	c, err := newClient(o)
	if err == nil {
		var sb *Sandbox
		if sb, err = c.open(ctx, o); err == nil {
			return sb, nil
		}
		c.http.CloseIdleConnections()
	}
	return nil, fmt.Errorf("sandbox: open remote sandbox: %w", err)
}

// client makes the requests about one sandbox.
type client struct {
	base     string
	token    string
	http     *http.Client
	own      bool      // the client made http and closes its idle connections
	pipe     *pipeConn // http's only connection, or nil
	finish   func()    // waits for the end of what the pipe belongs to
	patience time.Duration
	id       string
	acks     acks

	ctx    context.Context // ends when the sandbox is closed
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// spawn runs f as a part of the client's work, unless that has ended.
func (c *client) spawn(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.work.Go(f)
	}
}

func newClient(o Options) (*client, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("Options.URL: %w", err)
	}
	c := &client{base: strings.TrimRight(o.URL, "/"), token: o.Token, http: o.HTTP, patience: o.Patience, id: newID()}
	if c.patience == 0 {
		c.patience = time.Minute
	}
	switch {
	case u.Scheme == "unix" && o.HTTP == nil && u.Path != "":
		c.base = "http://unix"
		c.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", u.Path)
		}}}
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("Options.URL %q is not http://, https:// or unix:/// with a place", o.URL)
	case o.HTTP == nil:
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 32 // calls and commands that run at once
		c.http = &http.Client{Transport: t}
	}
	c.own = o.HTTP == nil
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

func newID() string { return rand.Text()[:26] }

func (c *client) open(ctx context.Context, o Options) (*Sandbox, error) {
	q := openRequest{TTL: o.TTL}
	from := &origin{files: map[string]entry{}}
	if o.Dir != "" {
		dir, err := filepath.Abs(o.Dir)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return nil, err
		}
		if q.Files, err = scan(dir); err != nil {
			return nil, err
		}
		if err := c.send(ctx, dir, q.Files); err != nil {
			return nil, fmt.Errorf("send workspace: %w", err)
		}
		from.dir = dir
		for _, e := range q.Files {
			from.files[e.Path] = e
		}
	}
	var reply openReply
	if err := c.call(ctx, "PUT", "/v1/sandboxes/"+c.id, q, &reply); err != nil {
		return nil, err
	}
	return c.sandbox(reply, from), nil
}

// sandbox returns the sandbox that the server has opened under the client's name.
func (c *client) sandbox(reply openReply, from *origin) *Sandbox {
	c.work.Go(func() { c.renew(reply.TTL) })
	return &Sandbox{Sandbox: sandbox.FromBackend(reply.Dir, reply.Isolation, c), c: c, from: from, tools: &Tools{c: c}}
}

// sibling returns a client for another sandbox of the same server.
func (c *client) sibling() *client {
	out := &client{base: c.base, token: c.token, http: c.http, own: c.own, patience: c.patience, id: newID()}
	out.ctx, out.cancel = context.WithCancel(context.Background())
	return out
}

// send sends the contents that the server does not have yet.
func (c *client) send(ctx context.Context, dir string, files []entry) error {
	at := map[string]entry{}
	hashes := []string{}
	for _, e := range files {
		if _, seen := at[e.Hash]; e.Kind == 'f' && !seen {
			at[e.Hash] = e
			hashes = append(hashes, e.Hash)
		}
	}
	const batch = 10000
	for len(hashes) > 0 {
		n := min(batch, len(hashes))
		var missing []string
		if err := c.call(ctx, "POST", "/v1/missing", hashes[:n], &missing); err != nil {
			return err
		}
		for _, h := range missing {
			e, ok := at[h]
			if !ok {
				return fmt.Errorf("server asks for %q, which was not offered", h)
			}
			if err := c.sendFile(ctx, filepath.Join(dir, filepath.FromSlash(e.Path)), e); err != nil {
				return fmt.Errorf("%s: %w", e.Path, err)
			}
		}
		hashes = hashes[n:]
	}
	return nil
}

func (c *client) sendFile(ctx context.Context, path string, e entry) error {
	return c.retry(ctx, func() error {
		f, err := regular.Open(path)
		if err != nil {
			return final{err}
		}
		defer f.Close()
		req, err := c.request(ctx, "PUT", "/v1/blobs/"+e.Hash, f)
		if err != nil {
			return final{err}
		}
		req.ContentLength = e.Size
		if e.Size == 0 {
			req.Body = http.NoBody
		}
		return c.do(req, nil)
	})
}

// renew keeps renewing the lease until the sandbox is closed.
func (c *client) renew(ttl time.Duration) {
	t := time.NewTicker(max(ttl/4, time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-t.C:
			// The next command reports a failure.
			ctx, cancel := context.WithTimeout(c.ctx, ttl)
			_ = c.call(ctx, "POST", "/v1/sandboxes/"+c.id+"/lease", nil, nil)
			cancel()
		}
	}
}

// release closes the sandbox on the server.
func (c *client) release() error {
	ctx, cancel := context.WithTimeout(context.Background(), c.patience)
	defer cancel()
	return c.call(ctx, "DELETE", "/v1/sandboxes/"+c.id, nil, nil)
}

// Close closes the sandbox on the server, and ends the client's work for it.
func (c *client) Close() error {
	err := c.release()
	c.cancel()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.work.Wait()
	if c.own {
		c.http.CloseIdleConnections()
	}
	if c.pipe != nil {
		err = errors.Join(err, c.pipe.Close())
		c.finish()
	}
	return err
}

// final marks an error that a repeated request cannot fix.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// retry repeats f while the server is unreachable, until patience ends.
func (c *client) retry(ctx context.Context, f func() error) error {
	limit := time.Now().Add(c.patience)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := f()
		var stop final
		switch {
		case err == nil:
			return nil
		case errors.As(err, &stop):
			return stop.error
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), err)
		case time.Now().Add(pause).After(limit):
			return err
		}
		_ = wait.For(ctx, pause) // an ended ctx is noticed in the next try
	}
}

// call makes a request that can safely be repeated.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	var b []byte
	if in != nil {
		var err error
		if b, err = json.Marshal(in); err != nil {
			return err
		}
	}
	return c.retry(ctx, func() error {
		req, err := c.request(ctx, method, path, bytes.NewReader(b))
		if err != nil {
			return final{err}
		}
		return c.do(req, out)
	})
}

func (c *client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err == nil && c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, err
}

// do makes a request once.
func (c *client) do(req *http.Request, out any) error {
	resp, err := c.answer(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxMessage))
		return err
	}
	return readReply(resp.Body, out, maxReply)
}

// readReply reads an answer. One that was cut off is requested again.
func readReply(r io.Reader, out any, most int64) error {
	body := &io.LimitedReader{R: r, N: most}
	err := json.NewDecoder(body).Decode(out)
	if err != nil && body.N == 0 {
		return final{fmt.Errorf("answer of more than %d bytes", most)}
	}
	return err
}

// answer makes a request once and returns the answer if the server did what was requested; the
// caller closes its body.
func (c *client) answer(req *http.Request) (*http.Response, error) {
	acks := c.acks.attach(req)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if err := problem(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	c.acks.drop(acks)
	return resp, nil
}

// acks are the calls whose logs the server may drop. They travel with the next request.
type acks struct {
	mu  sync.Mutex
	ids []string
}

func (a *acks) add(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids = append(a.ids, id)
}

// attach adds acknowledgements to a request, and returns how many.
func (a *acks) attach(req *http.Request) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	some := slices.Clone(a.ids[:min(len(a.ids), maxDone)])
	if len(some) > 0 {
		req.Header.Set(doneHeader, strings.Join(some, ","))
	}
	return some
}

// drop forgets what a request that succeeded has acknowledged.
func (a *acks) drop(ids []string) {
	if len(ids) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids = slices.DeleteFunc(a.ids, func(id string) bool { return slices.Contains(ids, id) })
}

// problem returns the error in an answer. If a gateway reports that the server is unreachable, the
// request is worth repeating.
func problem(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK, http.StatusPartialContent, http.StatusNotModified:
		return nil
	}
	var w wireError
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxFrame))
	if err != nil {
		return err
	}
	if json.Unmarshal(b, &w) != nil || w.Text == "" {
		w.Text = "server answers " + resp.Status
	}
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &w
	}
	return final{&w}
}
