package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// Sandboxes are not made by the host's process but by its broker: the same program, executed again,
// with hardly any memory of its own. Putting a process into new namespaces takes a full fork, whose
// cost grows with the memory of the forking process: with a heap of gigabytes it exceeds everything
// else together. The broker itself is started by a plain vfork.
//
// A broker serves one host. When its socket is closed, the broker and all sandboxes it made end; if
// a broker dies, the host ends its sandboxes.

// theBroker is the process's broker. Like hooked it is a package variable because it is a fact of
// the process, not of any sandbox.
var theBroker brokerPlace

// brokerPlace holds the broker that serves new sandboxes.
type brokerPlace struct {
	mu sync.Mutex
	b  *broker
}

// brokerIdle is the time after which a broker without sandboxes ends.
const brokerIdle = 5 * time.Second

// brokerPatience is the time that a broker gets to end by itself.
const brokerPatience = 10 * time.Second

// brokerAnswerPatience is the time that a broker gets to answer. It includes birthPatience, which
// the broker gives to an init process.
const brokerAnswerPatience = 3 * time.Minute

// errBrokerGone means that the broker died; another one may work.
var errBrokerGone = errors.New("the broker has died")

// broker is the host's side of a broker.
type broker struct {
	conn     *conn
	proc     *os.Process
	euid     int           // effective uid that it was started with
	patience time.Duration // for an answer
	host     hostView      // the host's namespaces at that time, to compare with its sandboxes'

	mu    sync.Mutex
	users int // sandboxes and requests; listen runs while there are any
	seq   uint64
	asks  map[uint64]chan brokerAnswer
	boxes map[*guestSpawner]struct{}
	dead  error
	idle  *time.Timer

	listening bool // listen runs
}

// brokerAnswer is a reply with the files that came with it.
type brokerAnswer struct {
	reply brokerReply
	files []*os.File
	err   error
}

// useBroker returns the broker, and starts one if there is none. The caller counts as one of its
// users until it calls release.
func useBroker(ctx context.Context) (*broker, error) {
	p := &theBroker
	p.mu.Lock()
	defer p.mu.Unlock()
	// A host that has since given up privileges must not go on using the broker's.
	if p.b != nil && p.b.euid == os.Geteuid() && p.b.enter() {
		return p.b, nil
	}
	b, err := startBroker(ctx)
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	if p.b != nil {
		p.b.retire()
	}
	p.b = b
	return b, nil
}

// startBroker starts a broker, with the caller as its user.
func startBroker(ctx context.Context) (*broker, error) {
	hostEnd, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	complaint, err := memoryFile("broker-log")
	if err != nil {
		closeFiles([]*os.File{hostEnd, theirs})
		return nil, err
	}
	defer complaint.Close()
	proc, err := startStage(stageBroker, complaint, theirs)
	theirs.Close()
	if err != nil {
		hostEnd.Close()
		return nil, err
	}
	c, err := newConn(hostEnd)
	if err == nil {
		c.shareTypes()
		b := &broker{conn: c, proc: proc, euid: os.Geteuid(), patience: brokerAnswerPatience, host: lookAtHost(), asks: map[uint64]chan brokerAnswer{}, boxes: map[*guestSpawner]struct{}{}}
		b.enter()
		if _, _, err = b.ask(ctx, brokerRequest{Op: opHello}); err == nil {
			return b, nil
		}
		b.release()
		b.retire()
	}
	_ = proc.Kill()
	if text := tail(complaint); text != "" {
		err = fmt.Errorf("%w (%s)", err, text)
	}
	return nil, err
}

// startStage starts a copy of this program that shares only the control socket with it. It asks for
// no namespaces, so the runtime does not need a full fork.
func startStage(stage string, complaint, control *os.File) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return os.StartProcess("/proc/self/exe", []string{"sandbox", stageArg, stage}, &os.ProcAttr{
		Dir: "/", Env: brokerEnv, Sys: &syscall.SysProcAttr{Setsid: true},
		Files: []*os.File{null, null, complaint, control},
	})
}

// enter counts a user; it fails once the broker is dead or about to end.
func (b *broker) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead != nil {
		return false
	}
	b.users++
	if b.users > 1 {
		return true
	}
	if b.idle != nil {
		b.idle.Stop()
	}
	_ = b.conn.sock.SetReadDeadline(time.Time{})
	if !b.listening {
		b.listening = true
		go b.listen()
	}
	return true
}

// release ends one use.
func (b *broker) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users--
	if b.users > 0 || b.dead != nil {
		return
	}
	_ = b.conn.sock.SetReadDeadline(time.Unix(1, 0)) // listen must not run while there are no users
	b.idle = time.AfterFunc(brokerIdle, b.retire)
}

// retire ends a broker that has no users; a broker with users keeps running for them.
func (b *broker) retire() {
	b.mu.Lock()
	if b.users > 0 || b.dead != nil {
		b.mu.Unlock()
		return
	}
	b.dead = errBrokerGone
	b.mu.Unlock()
	_ = b.conn.close()
	b.bury()
}

// bury waits for the broker's process to end, and kills it if necessary.
func (b *broker) bury() {
	t := time.AfterFunc(brokerPatience, func() { _ = b.proc.Kill() })
	defer t.Stop()
	_, _ = b.proc.Wait()
}

// listen passes replies to their requesters, until there are no users or the broker ends.
func (b *broker) listen() {
	for {
		var r brokerReply
		files, err := b.conn.hear(&r)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if b.rest() {
				return
			}
			continue
		}
		if err != nil {
			b.fail(fmt.Errorf("%w: %v", errBrokerGone, err))
			return
		}
		b.mu.Lock()
		ask := b.asks[r.Seq]
		delete(b.asks, r.Seq)
		b.mu.Unlock()
		if ask == nil {
			closeFiles(files)
			continue
		}
		ask <- brokerAnswer{reply: r, files: files}
	}
}

// rest reports whether listen can stop; a user may have come since the last one left.
func (b *broker) rest() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listening = b.users > 0
	return !b.listening
}

// fail ends the sandboxes of a dead broker, since no process is left to reap them or to mount for
// them.
func (b *broker) fail(err error) {
	b.mu.Lock()
	b.dead = err
	asks, boxes := b.asks, b.boxes
	b.asks, b.boxes = nil, nil
	b.mu.Unlock()
	for _, ask := range asks {
		ask <- brokerAnswer{err: err}
	}
	for g := range boxes {
		_ = g.sup.Kill()
	}
	_ = b.conn.close()
	b.bury()
}

// ask sends a request and waits for the answer even if ctx ends: otherwise nobody would own what
// the request made. A broker that does not answer is killed.
func (b *broker) ask(ctx context.Context, r brokerRequest, files ...*os.File) (brokerReply, []*os.File, error) {
	if err := ctx.Err(); err != nil {
		return brokerReply{}, nil, context.Cause(ctx)
	}
	ch := make(chan brokerAnswer, 1)
	b.mu.Lock()
	if b.dead != nil {
		b.mu.Unlock()
		return brokerReply{}, nil, b.dead
	}
	b.seq++
	r.Seq = b.seq
	b.asks[r.Seq] = ch
	b.mu.Unlock()
	if err := b.conn.tell(r, files...); err != nil {
		b.mu.Lock()
		delete(b.asks, r.Seq)
		b.mu.Unlock()
		return brokerReply{}, nil, fmt.Errorf("%w: %v", errBrokerGone, err)
	}
	a := b.await(ch, r.Op)
	if a.err == nil {
		a.err = a.reply.Error.err()
	}
	return a.reply, a.files, a.err
}

// await waits for an answer.
func (b *broker) await(ch <-chan brokerAnswer, op string) brokerAnswer {
	t := time.NewTimer(b.patience)
	defer t.Stop()
	select {
	case a := <-ch:
		return a
	case <-t.C:
		_ = b.proc.Kill() // listen then answers everybody
		a := <-ch
		if a.err != nil {
			a.err = fmt.Errorf("no answer to %q in %v, so it was killed: %w", op, b.patience, a.err)
		}
		return a
	}
}

// adopt registers g to end with the broker.
func (b *broker) adopt(g *guestSpawner) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead != nil {
		return b.dead
	}
	b.boxes[g] = struct{}{}
	return nil
}

// leave removes g as a user.
func (b *broker) leave(g *guestSpawner) {
	b.mu.Lock()
	delete(b.boxes, g)
	b.mu.Unlock()
	b.release()
}
