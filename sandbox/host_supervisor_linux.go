package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/luthier-dev/luthier/internal/proctree"
)

// killPatience is the time that a supervisor gets to answer before it is killed, and everything in
// the sandbox with it.
const killPatience = time.Minute

// supervisorProcess is the process of a supervisor, however it was made.
type supervisorProcess interface {
	Kill() error
	// Wait returns when the process has ended. It is called once.
	Wait() error
	// leave records that g no longer uses the process.
	leave(g *guestSpawner)
}

// guestSpawner starts commands through a supervisor.
type guestSpawner struct {
	link link
	sup  supervisorProcess
	hard bool   // the supervisor is PID 1 of a PID namespace: if it dies, all processes die
	mark string // is in the environment of all commands, to find those that outlive a dead supervisor

	noticed <-chan struct{} // closed when no more calls can be refused; nil if nobody here answers them

	bounds bounds // its control group is removed when the supervisor is gone

	starts sync.RWMutex // held for reading while a command starts

	mu     sync.Mutex
	kills  int64 // kills in the control group reported so far
	ending bool  // all commands are being ended because the memory limit was exceeded
	next   uint64
	live   map[uint64]*guestChild
	asks   map[uint64]*question // pending answers, by request
	err    error                // set when the supervisor is gone
	gone   chan struct{}
	blind  error // why the broker ended it, if it did; used only by listen
	closed sync.Once
}

func newGuestSpawner(l link, sup supervisorProcess, hard bool, mark string) *guestSpawner {
	g := &guestSpawner{link: l, sup: sup, hard: hard, mark: mark, live: map[uint64]*guestChild{}, asks: map[uint64]*question{}, gone: make(chan struct{})}
	go g.listen()
	return g
}

// guestChild is a command inside, as seen from the host.
type guestChild struct {
	g     *guestSpawner
	id    uint64
	num   int
	ready chan error    // answer to start, at most one
	ended chan struct{} // closed with st and err set
	st    status
	err   error

	began   int64 // in terms of sinceBoot, before the start was requested
	started bool  // something was sent to ready; used only by listen
	denied  denials
	over    bool // will be killed because the sandbox's memory limit was exceeded
	beside  bool // another command ran at the same time
}

// listen passes replies to the commands they are for, until the socket is closed.
func (g *guestSpawner) listen() {
	defer close(g.gone)
	for {
		r, files, err := g.link.listenFiles()
		if err != nil {
			g.fail(fmt.Errorf("%w (%v)", ErrClosed, cmp.Or(g.blind, err)))
			return
		}
		g.mu.Lock()
		c, ask := g.live[r.ID], g.asks[r.Seq]
		delete(g.asks, r.Seq)
		if ask != nil && ask.wants && r.Event == evDone && len(files) == 1 {
			ask.file, files = files[0], nil
		}
		closeFiles(files) // nobody asked for them
		if r.Event == evExited || (r.Event == evStarted && r.Error != nil) {
			delete(g.live, r.ID)
		}
		g.mu.Unlock()
		switch {
		case r.Event == evDone && ask != nil:
			ask.answer <- r.Error.err()
		case r.Event == evDenied:
			g.denied(&r)
		case r.Event == evExceeded:
			g.exceeded(r.Since)
		case r.Event == evUnwatched:
			g.blind = fmt.Errorf("its memory could not be watched any more: %v", r.Error.err())
		case c != nil:
			c.take(r)
		}
	}
}

// denied records a refused call for the command whose process made it.
func (g *guestSpawner) denied(r *reply) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Denial == nil {
		return
	}
	if c := g.ofLineage(r.Lineage); c != nil {
		c.denied.add(*r.Denial)
	} else if c := g.live[r.ID]; c != nil { // its start is not answered yet, or the process is in its own session
		c.denied.add(*r.Denial)
	} else if len(g.live) == 1 { // of an orphan that cannot be traced
		for _, c := range g.live {
			c.denied.add(*r.Denial)
		}
	}
}

// ofLineage finds the command that a process descends from.
func (g *guestSpawner) ofLineage(numbers []int) *guestChild {
	for _, n := range numbers {
		for _, c := range g.live {
			if c.num == n && n > 1 {
				return c
			}
		}
	}
	return nil
}

// exceeded ends all running commands because the sandbox's memory limit was exceeded, and records
// that as the reason. The init process ends them between two starts, so that no later command is
// killed; further reports come before its answer and are ignored. A report may be late: one older
// than the start of all running commands is ignored. If the limit is still exceeded, the next check
// reports it again.
func (g *guestSpawner) exceeded(since int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ending || g.allSince(since) {
		return
	}
	g.ending = true
	for _, c := range g.live {
		c.over = true
	}
	go func() {
		_ = g.reset() // if that fails, the supervisor is gone, and all commands with it
		g.mu.Lock()
		g.ending = false
		g.mu.Unlock()
	}()
}

// allSince reports whether there are commands and all of them started after a time.
func (g *guestSpawner) allSince(t int64) bool {
	for _, c := range g.live {
		if c.began <= t {
			return false
		}
	}
	return len(g.live) > 0
}

func (g *guestSpawner) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
	for id, c := range g.live {
		delete(g.live, id)
		c.end(status{Code: -1}, err)
	}
}

// take handles a reply about a command. It trusts a supervisor only with its own command's fate: a
// supervisor that was taken over may send anything in any order, and must not block the host by it.
// Only listen calls take, and never again after an end.
func (c *guestChild) take(r reply) {
	switch {
	case r.Event == evStarted && !c.started:
		c.g.mu.Lock()
		c.started, c.num = true, r.PID
		c.g.mu.Unlock()
		c.ready <- r.Error.err()
	case r.Event == evExited:
		if r.Status == nil {
			r.Status = &status{Code: -1}
		}
		if r.Status.Signal == syscall.SIGKILL && c.g.killed() {
			r.Status.Exceeded = ExceededMemory
		}
		if c.over {
			r.Status.Exceeded = ExceededMemory
		}
		r.Status.Denials = append(r.Status.Denials, c.denied.list...)
		c.end(*r.Status, nil)
	}
}

func (c *guestChild) end(st status, err error) {
	c.st, c.err = st, err
	if !c.started {
		c.started = true
		c.ready <- errors.Join(errors.New("supervisor reported an end without a start"), err)
	}
	close(c.ended)
}

func (g *guestSpawner) spawn(ctx context.Context, req spawnRequest) (child, error) {
	c := &guestChild{g: g, began: sinceBoot(), ready: make(chan error, 1), ended: make(chan struct{})}
	g.starts.RLock()
	defer g.starts.RUnlock()
	g.mu.Lock()
	if g.err != nil {
		g.mu.Unlock()
		return nil, g.err
	}
	g.next++
	c.id = g.next
	g.live[c.id] = c
	if len(g.live) > 1 {
		for _, c := range g.live {
			c.beside = true
		}
	}
	g.mu.Unlock()
	err := g.link.ask(request{ID: c.id, Op: opStart, Args: req.args, Dir: req.dir, Env: req.env}, req.files[:]...)
	if err != nil {
		g.mu.Lock()
		delete(g.live, c.id)
		g.mu.Unlock()
		return nil, unheard(err)
	}
	// ctx does not cut this short: the answer comes quickly, and without it nobody would know of a
	// command that did start. A supervisor that does not answer is no longer trusted.
	t := time.NewTimer(killPatience)
	defer t.Stop()
	select {
	case err := <-c.ready:
		if err != nil {
			return nil, err
		}
		return c, nil
	case <-t.C:
		return nil, errors.Join(fmt.Errorf("supervisor gave no answer in %v", killPatience), g.shut())
	}
}

// unheard returns ErrClosed if err means that nobody reads the other end of the socket. A request
// may fail that way before listen notices the end.
func unheard(err error) error {
	for _, gone := range []error{syscall.EPIPE, syscall.ECONNRESET, syscall.ENOTCONN, net.ErrClosed} {
		if errors.Is(err, gone) {
			return fmt.Errorf("%w (%v)", ErrClosed, err)
		}
	}
	return err
}

func (c *guestChild) pid() int { return c.num }

func (c *guestChild) wait() (status, error) {
	<-c.ended
	return c.st, c.err
}

func (c *guestChild) signal(sig syscall.Signal) error {
	return c.ask(request{ID: c.id, Op: opSignal, Signal: sig})
}

// kill returns once the tree is gone. If the supervisor cannot do it, the supervisor is killed.
func (c *guestChild) kill() error {
	err := c.g.killTree(c)
	if errors.Is(err, ErrClosed) {
		return nil
	}
	if err == nil {
		t := time.NewTimer(killPatience)
		defer t.Stop()
		select {
		case <-c.ended:
			return nil
		case <-t.C:
			err = fmt.Errorf("supervisor did not report the end of a killed command in %v", killPatience)
		}
	}
	return errors.Join(err, c.g.shut())
}

// killTree ends a command's tree. If a tree does not end because it forks faster than it can be
// found, all processes of the sandbox are killed.
func (g *guestSpawner) killTree(c *guestChild) error {
	l, ok := g.link.(*firstLink)
	if !ok {
		return c.ask(request{ID: c.id, Op: opKill})
	}
	pid := c.num
	select {
	case <-c.ended: // descendants that carry its mark may be left
		pid = 0
	default:
	}
	// A command that is just being forked carries no mark yet, and would be taken for one of this
	// command's processes. So no command may start meanwhile; a start that hangs must not block the
	// kill.
	alone := g.starts.TryLock()
	if alone {
		defer g.starts.Unlock()
		g.mu.Lock()
		alone = !c.beside
		g.mu.Unlock()
	}
	if err := l.kill(c.id, pid, alone); err == nil || errors.Is(err, errBrokerGone) {
		return err
	}
	return g.reset()
}

func (c *guestChild) ask(r request) error { return c.g.ask(r) }

// reset ends everything inside except the supervisor.
func (g *guestSpawner) reset() error { return g.ask(request{Op: opReset}) }

// question is a request that waits for its answer.
type question struct {
	answer chan error // at most one
	wants  bool       // expects a file with the answer
	file   *os.File   // the file that came; guarded by the spawner's lock
}

// ask sends a request and waits for the evDone that answers it.
func (g *guestSpawner) ask(r request) error {
	_, err := g.askFor(r, false)
	return err
}

// askFor is ask for a request whose answer may contain a file. The caller owns the file even if
// there is an error.
func (g *guestSpawner) askFor(r request, wants bool) (*os.File, error) {
	q := &question{answer: make(chan error, 1), wants: wants}
	g.mu.Lock()
	g.next++
	r.Seq = g.next
	g.asks[r.Seq] = q
	g.mu.Unlock()
	err := g.link.ask(r)
	if err != nil {
		err = fmt.Errorf("%w (%v)", ErrClosed, err)
	} else {
		err = g.await(q.answer)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.asks, r.Seq)
	return q.file, err
}

func (g *guestSpawner) await(ch <-chan error) error {
	t := time.NewTimer(killPatience)
	defer t.Stop()
	select {
	case err := <-ch:
		return err
	case <-g.gone:
		return ErrClosed
	case <-t.C:
		return fmt.Errorf("supervisor gave no answer in %v", killPatience)
	}
}

// adopt keeps a reader inside the sandbox for the output of background processes.
func (c *guestChild) adopt(f *os.File) {
	_ = c.g.link.ask(request{ID: c.id, Op: opAdopt}, f)
	f.Close()
}

// shut ends the supervisor and with it everything inside.
func (g *guestSpawner) shut() error {
	var err error
	g.closed.Do(func() {
		if g.hard {
			_ = g.sup.Kill()
		}
		g.link.hangUp() // closing its input makes the supervisor end everything
		ended := make(chan struct{})
		go func() {
			err = g.sup.Wait()
			close(ended)
		}()
		t := time.NewTimer(politeEnd)
		defer t.Stop()
		select {
		case <-ended:
		case <-t.C:
			_ = g.sup.Kill()
			<-ended
		}
		_ = g.link.close()
		<-g.gone
		if !g.hard {
			err = errors.Join(err, proctree.KillMarked(g.mark))
			g.awaitNotices()
		}
		err = errors.Join(err, g.bounds.group.Close())
		g.sup.leave(g)
	})
	return err
}

// awaitNotices waits until the last process that can make a refused call is gone, which was killed.
func (g *guestSpawner) awaitNotices() {
	if g.noticed == nil {
		return
	}
	t := time.NewTimer(politeEnd)
	defer t.Stop()
	select {
	case <-g.noticed:
	case <-t.C:
	}
}

// killed reports whether the kernel has killed a process for the control group's memory since the
// last call.
func (g *guestSpawner) killed() bool {
	now := g.bounds.group.Kills()
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.kills
	g.kills = now
	return now > was
}

func (g *guestSpawner) alive() bool {
	select {
	case <-g.gone:
		return false
	default:
		return true
	}
}

// politeEnd is the time that a supervisor gets to end by itself.
const politeEnd = 8 * time.Second

func (g *guestSpawner) Close() error { return g.shut() }
