package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"syscall"

	"github.com/luthier-dev/luthier/sandbox"
)

// run is a command on the server.
type run struct {
	*job

	started chan struct{} // closed when the start has ended, successfully or not
	err     error
	proc    *sandbox.Process

	in   sync.Mutex // held while input is written
	fed  int64
	shut bool

	signals int64 // number of the last signal
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
	r, mine, err := claim(s, s.runs, a, dirRuns, req.PathValue("run"), same, createLog, func(j *job) *run { return &run{job: j, started: make(chan struct{})} })
	if err != nil {
		return nil, err
	}
	if mine {
		r.err = s.begin(b, r, q)
		close(r.started)
		if r.err != nil {
			forget(s, s.runs, r)
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
	if r.write(kind, data) {
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
	r.mu.Unlock()
	e.Error = toWire(err)
	r.finish(s, nil, e, true)
}

// live finds a command that is still running.
func (s *Server) live(a *account, req *http.Request) (*run, error) {
	r, err := find(s, s.runs, a, req.PathValue("run"))
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
	return struct{}{}, acknowledge(s, s.runs, a, req.PathValue("run"))
}
