package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// run is a command on the server. It outlives its sandbox until the client has acknowledged its
// end.
type run struct {
	acc *account
	id  string
	log *runLog
	req []byte // the request that started it

	started chan struct{} // closed when the start has ended, successfully or not
	err     error
	proc    *sandbox.Process

	over    chan struct{} // closed when the end is in the log
	mu      sync.Mutex
	since   time.Time // time of its end
	counted int64     // bytes of the log counted against the quota
	full    bool      // killed because of too much output

	in   sync.Mutex // held while input is written
	fed  int64
	shut bool

	signals int64 // number of the last signal
}

func (r *run) finishedBefore(t time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.since.IsZero() && r.since.Before(t)
}

// start starts a command. It answers a repeated request with the same command.
func (s *Server) start(a *account, req *http.Request) (any, error) {
	var q startRequest
	if err := body(req, &q); err != nil {
		return nil, err
	}
	b, err := s.box(a, req)
	if err != nil {
		return nil, err
	}
	same, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	r, mine, err := s.claim(a, req.PathValue("run"), same)
	if err != nil {
		return nil, err
	}
	if mine {
		r.err = s.begin(b, r, q)
		close(r.started)
		if r.err != nil {
			s.forget(r)
		}
	}
	if r.started == nil {
		return nil, ErrLost // it belonged to an earlier server
	}
	<-r.started
	if r.err != nil {
		return nil, r.err
	}
	return startReply{PID: r.proc.PID()}, nil
}

// claim returns the command of that name. If mine is set, the caller must start it.
func (s *Server) claim(a *account, id string, req []byte) (r *run, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := a.Name + "/" + id
	if r = s.runs[key]; r != nil {
		if r.req != nil && !bytes.Equal(r.req, req) {
			return nil, false, fmt.Errorf("%w: another command has this name", errRequest)
		}
		return r, false, nil
	}
	if s.closed {
		return nil, false, errStopping
	}
	if err := a.take(&a.commands, a.Quota.Commands, "commands"); err != nil {
		return nil, false, err
	}
	l, err := createLog(filepath.Join(s.part(a, dirRuns), id), a.room())
	if err != nil {
		a.give(&a.commands)
		return nil, false, err
	}
	r = &run{acc: a, id: id, log: l, req: req, started: make(chan struct{}), over: make(chan struct{})}
	s.runs[key] = r
	return r, true, nil
}

// begin starts the command and handles its end.
func (s *Server) begin(b *box, r *run, q startRequest) error {
	left, err := r.acc.timeLeft()
	if err == nil {
		// The client enforces Cmd.Timeout and Grace; if the client disappears, the lease ends the
		// command. Two clocks for one limit would race to report first.
		b.gate.RLock()
		r.proc, err = b.sb.Start(context.Background(), sandbox.Cmd{
			Args: fromTexts(q.Args), Dir: string(q.Dir), Env: fromTexts(q.Env), Timeout: left, MergeStderr: q.Merge,
			OpenStdin: true, Limit: -1, OnOutput: r.output,
		})
		b.gate.RUnlock()
	}
	if err != nil {
		r.acc.give(&r.acc.commands)
		return err
	}
	s.work.Go(func() { s.watch(r) })
	return nil
}

// output is called by the sandbox, possibly before begin has the process.
func (r *run) output(which sandbox.Stream, data []byte) {
	kind := byte(frameStdout)
	if which == sandbox.Stderr {
		kind = frameStderr
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full {
		return
	}
	n := int64(len(data))
	err := r.acc.keep(n)
	if err == nil {
		r.counted += n
		err = r.log.write(kind, data)
	}
	if err != nil {
		r.full = true
		go func() { // in a goroutine, since Kill waits for the end of the output
			<-r.started
			_ = r.proc.Kill()
		}()
	}
}

func (s *Server) watch(r *run) {
	exit, err := r.proc.Wait()
	var e ended
	if exit != nil {
		e.Ended = sandbox.Ended{Code: exit.Code, Signal: exit.Signal, User: exit.User, System: exit.System, MaxRSS: exit.MaxRSS, Exceeded: exit.Exceeded, Denials: exit.Denials}
		r.acc.spend(exit.Wall)
		if exit.TimedOut {
			err = fmt.Errorf("%w: %v of commands", ErrQuota, r.acc.Quota.Time)
		}
	}
	r.mu.Lock()
	if r.full {
		err = fmt.Errorf("%w: output of the command", ErrQuota)
	}
	r.since = time.Now()
	r.mu.Unlock()
	e.Error = toWire(err)
	// Do this before the client can learn of the end, since it may then start the next command at
	// once.
	r.acc.give(&r.acc.commands)
	if err := r.log.end(e); err != nil {
		s.cfg.Log.Error("result cannot be stored", "tenant", r.acc.Name, "error", err)
	}
	close(r.over)
}

// run finds a command of the tenant.
func (s *Server) run(a *account, req *http.Request) (*run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[a.Name+"/"+req.PathValue("run")]; r != nil {
		return r, nil
	}
	return nil, ErrLost
}

// live finds a command that is still running.
func (s *Server) live(a *account, req *http.Request) (*run, error) {
	r, err := s.run(a, req)
	if err != nil {
		return nil, err
	}
	if r.started == nil {
		return nil, os.ErrProcessDone
	}
	<-r.started
	return r, r.err
}

// stdin accepts input from a byte on; earlier input is not written again.
func (s *Server) stdin(a *account, req *http.Request) (any, error) {
	at, err := number(req, "at")
	if err != nil {
		return nil, err
	}
	r, err := s.live(a, req)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(req.Body, maxChunk+1))
	if err != nil || len(data) > maxChunk {
		return nil, fmt.Errorf("%w: input", errRequest)
	}
	r.in.Lock()
	defer r.in.Unlock()
	if at > r.fed {
		return nil, fmt.Errorf("%w: input leaves a gap", errRequest)
	}
	data = data[min(r.fed-at, int64(len(data))):]
	if len(data) > 0 {
		if r.shut {
			return nil, os.ErrProcessDone
		}
		n, err := r.proc.Write(data)
		r.fed += int64(n)
		if err != nil {
			return nil, errors.Join(os.ErrProcessDone, err)
		}
	}
	if req.URL.Query().Get("end") != "" && !r.shut {
		r.shut = true
		_ = r.proc.CloseStdin()
	}
	return struct{}{}, nil
}

func (s *Server) signal(a *account, req *http.Request) (any, error) {
	n, err := number(req, "n")
	if err != nil {
		return nil, err
	}
	sig, err := number(req, "signal")
	if err != nil || sig == 0 || sig > 64 {
		return nil, fmt.Errorf("%w: signal", errRequest)
	}
	r, err := s.live(a, req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	again := n <= r.signals
	r.signals = max(n, r.signals)
	r.mu.Unlock()
	if again { // a repeated request whose answer was lost
		return struct{}{}, nil
	}
	return struct{}{}, r.proc.Signal(syscall.Signal(sig))
}

func (s *Server) kill(a *account, req *http.Request) (any, error) {
	r, err := s.live(a, req)
	if err != nil {
		return nil, err
	}
	if err := r.proc.Kill(); err != nil {
		return nil, err
	}
	<-r.over
	return struct{}{}, nil
}

// acknowledge frees a command's log. If the command still runs, it fails.
func (s *Server) acknowledge(a *account, req *http.Request) (any, error) {
	r, err := s.run(a, req)
	if err != nil {
		return struct{}{}, nil
	}
	if _, ended, _ := r.log.state(); ended {
		<-r.over // the client was faster than the goroutine that closes it
	}
	select {
	case <-r.over:
		s.forget(r)
		return struct{}{}, nil
	default:
		return nil, fmt.Errorf("%w: the command runs", errRequest)
	}
}

func (s *Server) forget(r *run) {
	s.mu.Lock()
	key := r.acc.Name + "/" + r.id
	mine := s.runs[key] == r
	if mine {
		delete(s.runs, key)
	}
	s.mu.Unlock()
	if !mine {
		return
	}
	_ = os.Remove(r.log.file.Name())
	r.mu.Lock()
	_ = r.acc.keep(-r.counted)
	r.mu.Unlock()
	// Active readers find the file closed and their log deleted.
	_ = r.log.file.Close()
}
