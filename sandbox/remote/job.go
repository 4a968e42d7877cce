package remote

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// job holds a command or a call of a tool, which a client started under a name of its choice and
// follows by its log. It outlives its sandbox until the client has acknowledged its end.
type job struct {
	acc *account
	id  string
	log *runLog
	req []byte // the request that started it; nil if an earlier server did

	over    chan struct{} // closed when the end is in the log
	mu      sync.Mutex
	since   time.Time // time of its end
	counted int64     // bytes of the log counted against the quota
	dropped bool      // the client will not ask for its end
	full    bool      // no more output is taken: it exceeded the quota, or the job has ended
}

// maxJobs bounds the jobs that a tenant has, running and not acknowledged. Each has an open file.
const maxJobs = 1000

// worker is a kind of job.
type worker interface {
	comparable
	base() *job
}

func (j *job) base() *job { return j }

func (j *job) key() string { return j.acc.Name + "/" + j.id }

func (j *job) finishedBefore(t time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.since.IsZero() && j.since.Before(t)
}

// claim returns the job of that name. If mine is set, the caller must start it. The same name with
// another request is refused.
func claim[W worker](s *Server, all map[string]W, a *account, dir, id string, req []byte, create func(string, int64) (*runLog, error), wrap func(*job) W) (w W, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := all[a.Name+"/"+id]; ok {
		if was := w.base().req; was != nil && !bytes.Equal(was, req) {
			return w, false, fmt.Errorf("%w: another request has this name", errRequest)
		}
		return w, false, nil
	}
	if s.closed {
		return w, false, errStopping
	}
	if err := a.take(&a.jobs, maxJobs, "results that wait to be acknowledged"); err != nil {
		return w, false, err
	}
	if err := a.take(&a.commands, a.Quota.Commands, "commands"); err != nil {
		a.give(&a.jobs)
		return w, false, err
	}
	l, err := create(filepath.Join(s.part(a, dir), id), a.room())
	if err != nil {
		a.give(&a.commands)
		a.give(&a.jobs)
		return w, false, err
	}
	w = wrap(&job{acc: a, id: id, log: l, req: req, over: make(chan struct{})})
	all[w.base().key()] = w
	return w, true, nil
}

// recoverJobs takes over the logs that an earlier server left for a tenant.
func recoverJobs[W worker](s *Server, all map[string]W, a *account, dir string, wrap func(*job) (W, func(kind byte, data []byte))) error {
	dir = s.part(a, dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !validID(e.Name()) {
			continue
		}
		j := &job{acc: a, id: e.Name(), over: make(chan struct{}), since: time.Now()}
		w, show := wrap(j)
		l, err := reopenLog(filepath.Join(dir, e.Name()), show)
		if err != nil {
			s.cfg.Log.Warn("result of an earlier server is unreadable", "file", e.Name(), "error", err)
			continue
		}
		a.bytes += l.size
		a.jobs++
		j.log, j.counted = l, l.size
		close(j.over)
		all[j.key()] = w
	}
	return nil
}

// find returns the tenant's job of that name.
func find[W worker](s *Server, all map[string]W, a *account, id string) (W, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := all[a.Name+"/"+id]
	if !ok {
		return w, ErrLost
	}
	return w, nil
}

// write adds output to the log. It reports whether this output is the first that exceeds the quota.
func (j *job) write(kind byte, data []byte) (exceeds bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.full {
		return false
	}
	n := int64(len(data))
	err := j.acc.keep(n)
	if err == nil {
		j.counted += n
		err = j.log.write(kind, data)
	}
	j.full = err != nil
	return j.full
}

// hold counts bytes that the log will get.
func (j *job) hold(n int64) error {
	err := j.acc.keep(n)
	if err == nil {
		j.mu.Lock()
		j.counted += n
		j.mu.Unlock()
	}
	return err
}

// finish writes the result, which may be empty, and the end of the log.
func (j *job) finish(s *Server, result []byte, e any, durable bool) {
	j.mu.Lock()
	j.since, j.full = time.Now(), true
	j.mu.Unlock()
	// Do this before the client can learn of the end, since it may then start the next one at once.
	j.acc.give(&j.acc.commands)
	if err := j.log.end(result, e, durable); err != nil {
		s.cfg.Log.Error("result cannot be stored", "tenant", j.acc.Name, "error", err)
	}
	close(j.over)
}

// overdue returns the jobs that ended before a time.
func overdue[W worker](all map[string]W, before time.Time) (old []W) {
	for _, w := range all {
		if w.base().finishedBefore(before) {
			old = append(old, w)
		}
	}
	return old
}

// acknowledge frees a job's log. If the job still runs, it fails.
func acknowledge[W worker](s *Server, all map[string]W, a *account, id string) error {
	w, err := find(s, all, a, id)
	if err != nil {
		return nil
	}
	j := w.base()
	if _, ended, _ := j.log.state(); ended {
		<-j.over // the client was faster than the goroutine that closes it
	}
	select {
	case <-j.over:
		forget(s, all, w)
		return nil
	default:
		return errRuns
	}
}

var errRuns = fmt.Errorf("%w: it still runs", errRequest)

// drop makes a job that runs be forgotten at its end.
func (j *job) drop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dropped = true
}

func forget[W worker](s *Server, all map[string]W, w W) {
	j := w.base()
	s.mu.Lock()
	mine := all[j.key()] == w
	if mine {
		delete(all, j.key())
	}
	s.mu.Unlock()
	if !mine {
		return
	}
	j.acc.give(&j.acc.jobs)
	j.mu.Lock()
	_ = j.acc.keep(-j.counted)
	j.mu.Unlock()
	j.log.remove()
}

// jobOf returns the job of a worker.
func jobOf[W worker](w W, err error) (*job, error) {
	if err != nil {
		return nil, err
	}
	return w.base(), nil
}

// follow streams a log from the byte that the request names. It returns an error if it has sent
// nothing.
func (s *Server) follow(w http.ResponseWriter, req *http.Request, l *runLog) error {
	from, err := number(req, "from")
	if err != nil {
		return err
	}
	if size, _, _ := l.state(); from > size {
		return fmt.Errorf("%w: the log is not that long", errRequest)
	}
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := l.copyFrom(ctx, w, func() { _ = http.NewResponseController(w).Flush() }, from); err != nil {
		panic(http.ErrAbortHandler) // the client must not take this for the end
	}
	return nil
}
