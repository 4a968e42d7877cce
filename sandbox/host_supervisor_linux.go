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

// killPatience is how long a supervisor gets to answer before it is killed
// itself, and everything in the sandbox with it.
const killPatience = time.Minute

// supervisorProcess is the process of a supervisor, whoever made it.
type supervisorProcess interface {
	Kill() error
	// Wait returns when it has ended, and is called once.
	Wait() error
	// leave tells that g does not use it any more.
	leave(g *guestSpawner)
}

// guestSpawner starts commands through a supervisor.
type guestSpawner struct {
	link link
	sup  supervisorProcess
	hard bool   // the supervisor is the first process of a PID namespace: its death is everyone's
	mark string // what the environment of all commands has, to find those a dead supervisor left

	bounds bounds // its control group, removed when it is gone

	starts sync.RWMutex // held for reading while a command starts

	mu     sync.Mutex
	kills  int64 // of the control group, told so far
	ending bool  // all that runs is being ended for the memory of all
	next   uint64
	live   map[uint64]*guestChild
	asks   map[uint64]*question // answers awaited, by request
	err    error                // set when the supervisor is gone
	gone   chan struct{}
	blind  error // why it was ended, if the broker said so; listen's own
	closed sync.Once
}

func newGuestSpawner(l link, sup supervisorProcess, hard bool, mark string) *guestSpawner {
	g := &guestSpawner{link: l, sup: sup, hard: hard, mark: mark, live: map[uint64]*guestChild{}, asks: map[uint64]*question{}, gone: make(chan struct{})}
	go g.listen()
	return g
}

// guestChild is a command inside, seen from the host.
type guestChild struct {
	g     *guestSpawner
	id    uint64
	num   int
	ready chan error    // answer to start, at most one
	ended chan struct{} // closed with st and err set
	st    status
	err   error

	began   int64 // by sinceBoot, before it was asked for
	started bool  // something was sent to ready; listen's own
	denied  denials
	over    bool // will be killed for the memory of all
	beside  bool // another ran while it did
}

// listen hands replies to the commands they are for, until the socket ends.
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
		closeFiles(files) // what was not asked for
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

// denied notes a refused call with the command whose process made it.
func (g *guestSpawner) denied(r *reply) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Denial == nil {
		return
	}
	if c := g.ofLineage(r.Lineage); c != nil {
		c.denied.add(*r.Denial)
	} else if c := g.live[r.ID]; c != nil { // not answered for yet, or in a session of its own
		c.denied.add(*r.Denial)
	} else if len(g.live) == 1 { // of an orphan that forgot where it came from
		for _, c := range g.live {
			c.denied.add(*r.Denial)
		}
	}
}

// ofLineage finds the command that a process comes from.
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

// exceeded ends all that runs, and remembers why. The first process does it, between
// one start and the next, so that no later command dies of it; more news of the same
// comes before its answer. But who looked may have been held up before he said so: what
// was seen before all that now run began is old, and if it is still so, it is said again
// at the next look.
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
		_ = g.reset() // or it is gone, and all with it
		g.mu.Lock()
		g.ending = false
		g.mu.Unlock()
	}()
}

// allSince reports whether there are commands, and all began after a time.
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

// take believes a supervisor no more than its own command's fate: one that was
// taken over may say anything in any order, and must not hold us up by it. Only
// listen calls it, and never again after an end.
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
	// Not cut short by ctx: the answer is quick, and without it nobody would know
	// of a command that did start. Who gives none is not to be trusted any more.
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

// unheard calls the sandbox closed if err means that nobody listens at the other end of
// its socket. That may show in a request before listen hears of the end.
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

// kill returns when the tree is gone. If the supervisor cannot do it, it dies.
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

// killTree ends a command's tree. A tree that does not end, because it forks faster
// than it is found, takes all of the sandbox's processes with it.
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
	// A command that is just being forked carries no mark yet, and would be taken for
	// this one's: none starts meanwhile. One that hangs at its start holds nobody up.
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

// reset ends everything inside but the supervisor.
func (g *guestSpawner) reset() error { return g.ask(request{Op: opReset}) }

// question is a request whose answer is awaited.
type question struct {
	answer chan error // at most one
	wants  bool       // a file with the answer
	file   *os.File   // that came, under the spawner's lock
}

// ask sends a request that is answered with evDone, and waits for that.
func (g *guestSpawner) ask(r request) error {
	_, err := g.askFor(r, false)
	return err
}

// askFor is ask for a request that may be answered with a file, which is the
// caller's also beside an error.
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

// adopt leaves a background process a reader, inside the sandbox.
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
		g.link.hangUp() // its input ends, which makes it end everything
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
		}
		err = errors.Join(err, g.bounds.group.Close())
		g.sup.leave(g)
	})
	return err
}

// killed reports whether the kernel killed for the control group's memory since
// it was last asked.
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

// politeEnd is how long a supervisor gets to end by itself.
const politeEnd = 8 * time.Second

func (g *guestSpawner) Close() error { return g.shut() }
