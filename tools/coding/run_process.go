package coding

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// process is one program; it starts in the foreground.
type process struct {
	id      int // id in the background; 0 in the foreground
	command string
	dir     string
	started time.Time
	p       *sandbox.Process
	log     *procLog
	input   bool       // its standard input is still open
	inputMu sync.Mutex // one writer at a time
	readMu  sync.Mutex // one reader at a time, so that no reader gets half of what another is waiting for
}

// programEnv makes programs that look for a terminal or a person work without one.
var programEnv = []string{
	"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true",
	"GIT_OPTIONAL_LOCKS=0", "DEBIAN_FRONTEND=noninteractive", "PYTHONUNBUFFERED=1", "COLUMNS=200",
}

func (w *Workspace) env(extra ...string) []string {
	return slices.Concat(programEnv, extra, w.cfg.Proc.Env)
}

// start starts a program whose lifetime is bound to the workspace, not to the call.
func (w *Workspace) start(sb sandbox.Sandbox, cmd sandbox.Cmd) (*sandbox.Process, error) {
	s := &w.procs
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	p, err := sb.Start(s.ctx, cmd)
	if err != nil {
		return nil, err
	}
	w.tellIndex(nil) // now, for a search during the run, and again at the end
	s.active.Go(func() {
		<-p.Done()
		w.tellIndex(nil)
	})
	return p, nil
}

// startShell starts a command line.
func (w *Workspace) startShell(sb sandbox.Sandbox, command, dir string, input bool) (*process, error) {
	p := &process{
		command: command, dir: dir, started: w.cfg.Clock(), input: input,
		log: newProcLog(w.cfg.Proc.OutputBytes, w.cfg.Proc.SpillBytes),
	}
	cmd := sandbox.Cmd{
		Dir: dir, Env: w.env(), OpenStdin: input, MergeStderr: true, Limit: -1,
		Timeout: w.cfg.Proc.Lifetime, Grace: w.cfg.Proc.Grace,
		OnOutput: func(_ sandbox.Stream, b []byte) { p.log.Write(b) },
	}
	var err error
	for _, shell := range w.shells() {
		cmd.Args = append(slices.Clone(shell), command)
		if p.p, err = w.start(sb, cmd); err == nil {
			w.procs.mu.Lock()
			w.procs.shell = shell
			w.procs.mu.Unlock()
			return p, nil
		}
		if !errors.Is(err, exec.ErrNotFound) {
			break
		}
	}
	p.log.close()
	return nil, err
}

// shells returns the shells to try, in order.
func (w *Workspace) shells() [][]string {
	w.procs.mu.Lock()
	defer w.procs.mu.Unlock()
	switch {
	case len(w.cfg.Proc.Shell) > 0:
		return [][]string{w.cfg.Proc.Shell}
	case w.procs.shell != nil:
		return [][]string{w.procs.shell}
	}
	return [][]string{{"bash", "-c"}, {"sh", "-c"}}
}

// workDir resolves the directory in which a program should run.
func (w opened) workDir(_ context.Context, dir string) (string, error) {
	if dir == "" {
		return ".", nil
	}
	t, err := w.resolve(dir)
	if err != nil {
		return "", err
	}
	if t.info == nil {
		return "", w.missing(t.rel)
	}
	if !t.info.IsDir() {
		return "", fmt.Errorf("%s is not a directory; use %q", show.Path(t.rel), path.Dir(t.rel))
	}
	return t.rel, nil
}

// enlist adds a running process to the background table and assigns an id.
func (w *Workspace) enlist(p *process) error {
	s := &w.procs
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	running := 0
	var ended []*process
	for _, q := range s.table {
		if q.running() {
			running++
		} else {
			ended = append(ended, q)
		}
	}
	if running >= w.cfg.Proc.Background {
		return fmt.Errorf("%d processes run in the background already; end one with shell_kill first (shell_output without an id lists them)", running)
	}
	// Ended processes that nobody has asked about are dropped, oldest first.
	slices.SortFunc(ended, func(a, b *process) int { return a.id - b.id })
	for len(ended) > maxEnded {
		ended[0].log.close()
		delete(s.table, ended[0].id)
		ended = ended[1:]
	}
	s.next++
	p.id = s.next
	s.table[p.id] = p
	return nil
}

// maxEnded is the number of ended processes whose output is kept.
const maxEnded = 16

func (p *process) running() bool {
	select {
	case <-p.p.Done():
		return false
	default:
		return true
	}
}

// find returns a background process.
func (w *Workspace) find(id int) (*process, error) {
	w.procs.mu.Lock()
	p := w.procs.table[id]
	w.procs.mu.Unlock()
	if p == nil {
		return nil, fmt.Errorf("there is no background process %d; %s", id, w.listing())
	}
	return p, nil
}

// forget removes a process that has ended and whose output was read.
func (w *Workspace) forget(p *process) {
	w.procs.mu.Lock()
	if w.procs.table[p.id] == p {
		delete(w.procs.table, p.id)
	}
	w.procs.mu.Unlock()
	p.log.close()
}
