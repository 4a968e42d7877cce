package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// drainGrace is the time to wait for more output after the process itself has ended while another
// process holds the pipe open: enough for the last stage of a shell's process substitution, too
// little for anyone to notice.
const drainGrace = 50 * time.Millisecond

// Process is a running command.
type Process struct {
	child  child
	cmd    Cmd
	iso    Isolation
	begun  time.Time
	cancel chan struct{} // closed by Kill
	once   sync.Once

	stdin  *os.File      // our end of the input pipe, or nil
	source io.ReadCloser // the host's file that is copied to it, or nil
	stdinM sync.Mutex

	out, err *stream // err is nil when merged
	hint     *hint   // nil if nothing is protected

	done chan struct{} // closed when exit and fail are final
	exit Exit
	fail error
}

// spawnRequest holds what a spawner needs to start a command.
type spawnRequest struct {
	args  []string
	dir   string // absolute, as the command sees it
	env   []string
	files [3]*os.File

	timeout time.Duration // the command's timeout, for spawners that enforce it too
	release func()        // closes the files; for a spawner that sets *kept
	kept    *bool         // set by a spawner that continues to use the files
}

// child is a started process at any tier.
type child interface {
	pid() int
	// wait returns when the process itself has ended.
	wait() (status, error)
	signal(syscall.Signal) error
	// kill ends the process and all its descendants.
	kill() error
	// adopt takes over a pipe that a surviving descendant still writes to, or closes it.
	adopt(*os.File)
}

// status describes how a process ended.
type status struct {
	Code         int            `json:"code"`
	Signal       syscall.Signal `json:"signal,omitempty"`
	User, System time.Duration
	MaxRSS       int64
	Denials      []Denial `json:"denials,omitempty"`
	Exceeded     string   `json:"exceeded,omitempty"`
}

// start runs cmd in l; see Sandbox.Start.
func start(ctx context.Context, l *local, cmd Cmd) (*Process, error) {
	if err := cmd.validate(); err != nil {
		return nil, cmd.fail("start", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, cmd.fail("start", err)
	}
	p := &Process{cmd: cmd, iso: l.iso, cancel: make(chan struct{}), done: make(chan struct{})}
	theirs, err := p.open()
	if err != nil {
		return nil, cmd.fail("start", errors.Join(err, p.abandon()))
	}
	req := spawnRequest{args: cmd.Args, dir: l.absDir(cmd.Dir), env: mergeEnv(l.env, cmd.Env), timeout: cmd.Timeout, release: theirs.close, kept: new(bool)}
	copy(req.files[:], theirs.stdio)
	p.begun = time.Now()
	p.child, err = l.run.spawn(ctx, req)
	if !*req.kept {
		theirs.close()
	}
	if err != nil {
		return nil, cmd.fail("start", errors.Join(err, p.abandon()))
	}
	if p.stdin != nil && cmd.Stdin != nil {
		go p.feed()
	}
	if l.ws.wall != nil {
		p.hint = &hint{wall: l.ws.wall, cwd: req.dir}
	}
	for _, s := range p.streams() {
		s.hint = p.hint
		s.start()
	}
	if err := l.enter(p); err != nil {
		p.once.Do(func() { close(p.cancel) })
		p.watch(ctx)
		return nil, cmd.fail("start", err)
	}
	go func() {
		defer l.leave(p)
		p.watch(ctx)
	}()
	return p, nil
}

func (l *local) absDir(dir string) string {
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(l.ws.dir, dir)
}

// childFiles holds the child's ends of the pipes; owned are ours to close.
type childFiles struct {
	stdio []*os.File
	owned []*os.File
}

func (c *childFiles) close() {
	for _, f := range c.owned {
		f.Close()
	}
}

// open makes the pipes.
func (p *Process) open() (c *childFiles, err error) {
	c = &childFiles{stdio: make([]*os.File, 3)}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if err := p.openStdin(c); err != nil {
		return c, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return c, err
	}
	c.owned = append(c.owned, outW)
	c.stdio[1], c.stdio[2] = outW, outW
	p.out = newStream(outR, newCapture(p.cmd.Limit, p.cmd.Spill), p.cmd.OnOutput, Stdout)
	if p.cmd.MergeStderr {
		return c, nil
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return c, err
	}
	c.owned = append(c.owned, errW)
	c.stdio[2] = errW
	p.err = newStream(errR, newCapture(p.cmd.Limit, p.cmd.SpillStderr), p.cmd.OnOutput, Stderr)
	return c, nil
}

func (p *Process) openStdin(c *childFiles) error {
	if p.cmd.Stdin == nil && !p.cmd.OpenStdin {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		c.stdio[0], c.owned = f, append(c.owned, f)
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	c.stdio[0], c.owned, p.stdin = r, append(c.owned, r), w
	if f, ok := p.cmd.Stdin.(*os.File); ok && f != nil {
		if p.source, err = newFileFeed(f); err != nil {
			return fmt.Errorf("use Cmd.Stdin: %w", err)
		}
	}
	return nil
}

// abandon closes our ends after a failed start.
func (p *Process) abandon() error {
	p.closeStdin()
	p.release()
	for _, s := range p.streams() {
		s.r.Close()
	}
	return nil
}

func (p *Process) streams() []*stream {
	var out []*stream
	for _, s := range []*stream{p.out, p.err} {
		if s != nil {
			out = append(out, s)
		}
	}
	return out
}

// feed copies the caller's reader into the command.
func (p *Process) feed() {
	r := p.cmd.Stdin
	if p.source != nil {
		r = p.source
	}
	// An error on either side ends the input; there is no other way to report it to a command.
	_, _ = io.Copy(onlyWriter{p.stdin}, onlyReader{r})
	p.closeStdin()
	p.release()
}

// release closes the descriptors by which the caller's file was read; nobody reads it any more.
func (p *Process) release() {
	if f, ok := p.source.(interface{ release() }); ok {
		f.release()
	}
}

// onlyWriter hides ReadFrom, which would use splice and could not be interrupted.
type onlyWriter struct{ io.Writer }

// onlyReader hides WriteTo for the same reason.
type onlyReader struct{ io.Reader }

func (p *Process) closeStdin() {
	p.stdinM.Lock()
	defer p.stdinM.Unlock()
	if p.stdin != nil {
		p.stdin.Close()
	}
	if p.source != nil {
		p.source.Close()
	}
}

// watch follows the command to its end: it kills on timeout and cancellation, collects the rest of
// the output and publishes the exit.
func (p *Process) watch(ctx context.Context) {
	ended := make(chan struct{})
	var st status
	var waitErr error
	go func() {
		st, waitErr = p.child.wait()
		close(ended)
	}()
	var timeout <-chan time.Time
	if p.cmd.Timeout > 0 {
		t := time.NewTimer(p.cmd.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-ended:
	case <-ctx.Done():
		p.exit.Canceled, p.fail = true, context.Cause(ctx)
		p.end(ended)
	case <-timeout:
		p.exit.TimedOut = true
		p.end(ended)
	case <-p.cancel:
		p.end(ended)
	}
	<-ended
	p.closeStdin()
	for _, s := range p.streams() {
		s.hurry()
	}
	for _, s := range p.streams() {
		s.finish(p.child.adopt)
	}
	p.publish(st, waitErr)
}

// end kills the tree; if the command has a grace period, it first asks the command to stop.
func (p *Process) end(ended <-chan struct{}) {
	if p.cmd.Grace > 0 && p.child.signal(syscall.SIGTERM) == nil {
		t := time.NewTimer(p.cmd.Grace)
		select {
		case <-ended:
		case <-t.C:
		case <-p.cancel:
		}
		t.Stop()
	}
	// Also after a graceful end: processes that the command left behind die with it.
	if err := p.child.kill(); err != nil && p.fail == nil {
		p.fail = err
	}
}

func (p *Process) publish(st status, err error) {
	p.exit.Code, p.exit.Signal = st.Code, st.Signal
	p.exit.User, p.exit.System, p.exit.MaxRSS = st.User, st.System, st.MaxRSS
	p.exit.Exceeded = st.Exceeded
	p.exit.Denials = st.Denials[:min(len(st.Denials), maxDenials)]
	if p.hint != nil {
		p.hint.wall.correct(p.exit.Denials)
		p.exit.Hint = p.hint.text()
	}
	p.exit.Wall = time.Since(p.begun)
	p.exit.Stdout = p.out.cap.output()
	if p.err != nil {
		p.exit.Stderr = p.err.cap.output()
	}
	p.exit.Isolation = p.iso.clone()
	if err != nil {
		p.fail = errors.Join(p.fail, err)
	}
	if p.fail != nil {
		p.fail = p.cmd.fail("run", p.fail)
	}
	close(p.done)
}

// PID is the process's number as the tier sees it: inside the sandbox's PID namespace if there is
// one, otherwise on the host.
func (p *Process) PID() int { return p.child.pid() }

// Done is closed when the command has ended and its output is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns when the command's process has ended, with the error that
// Sandbox.Exec documents. It may be called more than once.
func (p *Process) Wait() (*Exit, error) {
	<-p.done
	e := p.exit
	return &e, p.fail
}

// Kill ends the command and everything it started, and returns when it is gone.
func (p *Process) Kill() error {
	p.once.Do(func() { close(p.cancel) })
	<-p.done
	return nil
}

// Signal sends sig to the command's process group, or, on hosts without
// process groups, to the process.
func (p *Process) Signal(sig syscall.Signal) error {
	select {
	case <-p.done:
		return p.cmd.fail("signal", os.ErrProcessDone)
	default:
	}
	if err := p.child.signal(sig); err != nil {
		return p.cmd.fail("signal", err)
	}
	return nil
}

// Write writes b to the standard input of a command started with Cmd.OpenStdin. It blocks until the
// command has room for it or has ended.
func (p *Process) Write(b []byte) (int, error) {
	if !p.cmd.OpenStdin {
		return 0, p.cmd.fail("write to", errors.New("its input is not open; set Cmd.OpenStdin"))
	}
	n, err := p.stdin.Write(b)
	if err != nil {
		err = p.cmd.fail("write to", err)
	}
	return n, err
}

// CloseStdin closes the standard input of a command started with Cmd.OpenStdin.
func (p *Process) CloseStdin() error {
	if !p.cmd.OpenStdin {
		return nil
	}
	p.closeStdin()
	return nil
}

// Output returns what the command has written so far.
func (p *Process) Output() (stdout, stderr Output) {
	stdout = p.out.cap.output()
	if p.err != nil {
		stderr = p.err.cap.output()
	}
	return stdout, stderr
}
