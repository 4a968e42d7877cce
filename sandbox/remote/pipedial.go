package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// dialPatience limits the wait for a far side if the caller's context has no deadline.
const dialPatience = 2 * time.Minute

// DialCommand starts a command that runs a toolhost ([ServePipe]) on its standard input and output,
// such as "docker exec -i ID coder toolhost" or "ssh HOST coder toolhost", and opens the sandbox
// there. What the command prints before the toolhost answers is skipped, and shown in errors with
// what it wrote to standard error. ctx bounds only the opening; without a deadline it waits for two
// minutes. Close ends the far side and then the command.
//
// The workspace is in place: it cannot be forked, reviewed or exported (sandbox.ErrInPlace).
// The connection is the command's: when that ends, the far side ends, and calls that ran fail with
// [ErrLost].
func DialCommand(ctx context.Context, argv ...string) (*Sandbox, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("sandbox: dial command: it is empty")
	}
	p, err := startCommand(argv)
	var sb *Sandbox
	if err == nil {
		if sb, err = dialPipe(ctx, p, p.kill, p.why); err == nil {
			sb.c.finish = p.finish
			return sb, nil
		}
		p.kill()
		p.finish()
	}
	return nil, fmt.Errorf("sandbox: dial command %q: %w", strings.Join(argv, " "), err)
}

// DialPipe opens the sandbox of a toolhost at the other end of a pipe. It is for pipes that are no
// commands; see [DialCommand]. Close of the sandbox closes the pipe, which DialPipe does too if it
// fails. Reads must return when the pipe is closed.
func DialPipe(ctx context.Context, pipe io.ReadWriteCloser) (*Sandbox, error) {
	sb, err := dialPipe(ctx, pipe, func() { _ = pipe.Close() }, func(err error) error { return err })
	if err != nil {
		return nil, fmt.Errorf("sandbox: dial pipe: %w", errors.Join(err, pipe.Close()))
	}
	return sb, nil
}

// dialPipe opens a sandbox over a pipe. abort makes reads return. why explains an error by what is
// known of the far side.
func dialPipe(ctx context.Context, pipe io.ReadWriteCloser, abort func(), why func(error) error) (*Sandbox, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialPatience)
		defer cancel()
	}
	conn := newPipeConn(pipe)
	var h hello
	stop := context.AfterFunc(ctx, abort)
	err := h.read(conn)
	if !stop() {
		err = fmt.Errorf("the far side did not answer: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, why(fmt.Errorf("%w%s", err, told("it printed", h.said)))
	}
	var used atomic.Bool
	var broken firstError
	t := &http.Transport{Protocols: onlyHTTP2(), HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true, SendPingTimeout: 30 * time.Second, PingTimeout: 30 * time.Second},
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if used.Swap(true) {
				return nil, &net.OpError{Op: "dial", Net: "pipe", Err: final{why(broken.wrap("the connection to the far side has ended"))}}
			}
			return conn, nil
		}}
	c, err := newClient(Options{URL: "http://toolhost", HTTP: &http.Client{Transport: broken.record(t)}})
	if err != nil {
		return nil, err
	}
	c.own, c.pipe, c.finish = true, conn, func() {}
	sb, err := c.open(ctx, Options{})
	if err != nil {
		c.cancel()
		c.http.CloseIdleConnections()
		if ctx.Err() != nil {
			err = why(err)
		}
		return nil, err
	}
	return sb, nil
}

// firstError keeps the first error of a connection, which is the cause of those that follow.
type firstError struct {
	http.RoundTripper
	mu  sync.Mutex
	err error
}

func (f *firstError) record(t *http.Transport) *firstError {
	f.RoundTripper = t
	return f
}

// RoundTrip makes a request.
func (f *firstError) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := f.RoundTripper.RoundTrip(req)
	if err != nil && req.Context().Err() == nil {
		f.mu.Lock()
		f.err = cmp.Or(f.err, err)
		f.mu.Unlock()
	}
	return resp, err
}

// CloseIdleConnections closes the connection.
func (f *firstError) CloseIdleConnections() {
	f.RoundTripper.(*http.Transport).CloseIdleConnections()
}

func (f *firstError) wrap(text string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %w", text, f.err)
}

// command is a process whose standard input and output are a pipe.
type command struct {
	cmd    *exec.Cmd
	in     *os.File // what it reads
	out    *os.File // what it prints
	errs   tail
	done   chan struct{} // closed when it has ended
	err    error         // its status
	closer sync.Once
}

func startCommand(argv []string) (*command, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	from, to, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	defer to.Close()
	p := &command{cmd: exec.Command(argv[0], argv[1:]...), in: ours, out: from, done: make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = theirs, to, &p.errs, time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, ours.Close(), from.Close())
	}
	go p.wait()
	return p, nil
}

func (p *command) wait() {
	p.err = p.cmd.Wait()
	close(p.done)
	// What it printed last is still read. A process that it left may hold the pipe open.
	_ = p.out.SetReadDeadline(time.Now().Add(time.Second))
}

func (p *command) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *command) Write(b []byte) (int, error) { return p.in.Write(b) }

// commandWait is the time that a command has to end after its input has ended, and endWait the time
// for which an error waits for the status of a command that is about to end.
const (
	commandWait = 10 * time.Second
	endWait     = 3 * time.Second
)

// Close ends the command's input and output, and kills the command if it does not end by that.
func (p *command) Close() error {
	p.closer.Do(func() {
		_ = p.in.Close()
		_ = p.out.Close()
		late := time.AfterFunc(commandWait, p.kill)
		go func() {
			<-p.done
			late.Stop()
		}()
	})
	return nil
}

// finish is Close, and waits for the end of the command.
func (p *command) finish() {
	_ = p.Close()
	<-p.done
}

// kill ends the command at once.
func (p *command) kill() { _ = p.cmd.Process.Kill() }

// why explains an error by how the command ended and what it wrote to standard error.
func (p *command) why(err error) error {
	t := time.NewTimer(endWait)
	defer t.Stop()
	state := ""
	select {
	case <-p.done:
		state = "; the command ended: " + p.cmd.ProcessState.String()
	case <-t.C:
	}
	return fmt.Errorf("%w%s%s", err, state, told("it wrote to standard error", p.errs.bytes()))
}
