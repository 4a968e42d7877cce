package sandbox

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/luthier-dev/luthier/internal/proctree"
	"golang.org/x/sys/unix"
)

// supervisor replaces the init process at tiers where the broker makes no namespaces. It runs
// inside, under the same isolation as the commands, starts them, reaps everything and dies with the
// control socket.
type supervisor struct {
	conn *conn
	spec *spec

	mu    sync.Mutex // held from fork until the PID is registered, so that no exit is missed
	byPID map[int]*guest
	byID  map[uint64]*guest
	over  map[uint64]bool // commands ended because the sandbox's memory limit was exceeded
}

// guest is a command inside.
type guest struct {
	id   uint64
	pid  int
	tree *proctree.Tree
}

// Until a supervisor serves, the kernel ends it with its host, even if the package initialisation
// of the program hangs. From then on it must outlive the host, to end the commands when its socket
// is closed. Signals for the death of a parent belong to threads, so main stays on the first one.
func init() {
	if stage() == stageServe {
		runtime.LockOSThread()
	}
}

// outlive takes the signal back.
func outlive() error {
	err := unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	runtime.UnlockOSThread()
	return err
}

// serve is the last stage of a supervisor; it returns its exit status.
func serve(c *conn, sp *spec) int {
	s := &supervisor{conn: c, spec: sp, byPID: map[int]*guest{}, byID: map[uint64]*guest{}, over: map[uint64]bool{}}
	// Use a handler, not SIG_IGN, which commands would inherit: none of these signals may end the
	// supervisor, whoever sends them.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT,
		syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	standFirm()
	if os.Getpid() != 1 {
		// Orphans of commands become our children rather than those of the host's init process.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return 1
		}
	}
	s.watchMemory(sp.Watch)
	child := make(chan os.Signal, 1)
	signal.Notify(child, syscall.SIGCHLD)
	go func() {
		for range child {
			s.reap()
		}
	}()
	if err := outlive(); err != nil {
		return 1
	}
	if err := c.answer(reply{Event: evHello, Facts: observe(sp)}); err != nil {
		return 1
	}
	// From here on commands have the same user: without this call they could attach to us.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 1
	}
	for {
		var r request
		files, err := c.hear(&r)
		if err != nil {
			s.end()
			if errors.Is(err, io.EOF) {
				return 0
			}
			return 1
		}
		s.handle(r, files)
	}
}

// end kills the remaining processes if no PID namespace does it.
func (s *supervisor) end() {
	if os.Getpid() != 1 {
		_ = proctree.KillDescendants()
	}
}

func (s *supervisor) handle(r request, files []*os.File) {
	switch r.Op {
	case opStart:
		out := reply{ID: r.ID, Event: evStarted}
		pid, err := s.start(r, files)
		out.PID, out.Error = pid, toWire(err)
		closeFiles(files)
		if err != nil {
			_ = s.conn.answer(out)
		}
	case opSignal:
		_ = s.conn.answer(reply{Seq: r.Seq, Event: evDone, Error: toWire(s.signal(r))})
	case opKill:
		go func() { // finding the tree takes a while; other requests must not wait
			_ = s.conn.answer(reply{Seq: r.Seq, Event: evDone, Error: toWire(s.kill(r))})
		}()
	case opAdopt:
		drain(files)
	case opListen:
		closeFiles(files)
		s.listenInside(r)
	default:
		closeFiles(files)
	}
}

// commandMarker returns the marker of a command, which begins with its sandbox's. It ends in a
// delimiter, since markers are compared as prefixes.
func commandMarker(sandbox string, id uint64) string {
	return sandbox + strconv.FormatUint(id, 10) + ";"
}

// start forks a command. The answer is sent under the lock, so that it comes before the report of
// the command's end.
func (s *supervisor) start(r request, files []*os.File) (int, error) {
	if len(files) != 3 || len(r.Args) == 0 {
		return 0, errors.New("start without standard files or arguments")
	}
	marker := commandMarker(s.spec.marker(), r.ID)
	dir, env := r.Dir, mergeEnv(r.Env, []string{marker})
	path, err := findProgram(r.Args[0], dir, env)
	if err != nil {
		return 0, err
	}
	path, args := limitArgs(s.spec.Limits.Memory, path, r.Args)
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{
		Dir: dir, Env: env, Sys: &syscall.SysProcAttr{Setsid: true},
		Files: []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()},
	})
	if err != nil {
		return 0, &os.PathError{Op: "exec", Path: path, Err: err}
	}
	g := &guest{id: r.ID, pid: pid, tree: proctree.TrackPID(pid, marker)}
	s.byPID[pid], s.byID[r.ID] = g, g
	return pid, s.conn.answer(reply{ID: r.ID, Event: evStarted, PID: pid})
}

func (s *supervisor) find(id uint64) (*guest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.byID[id]; g != nil {
		return g, nil
	}
	return nil, os.ErrProcessDone
}

func (s *supervisor) signal(r request) error {
	g, err := s.find(r.ID)
	if err != nil {
		return err
	}
	return g.tree.Signal(r.Signal)
}

// kill ends a command's tree. If a tree does not end because it forks faster than it can be found,
// all processes of the sandbox are killed.
func (s *supervisor) kill(r request) error {
	g, err := s.find(r.ID)
	if err != nil {
		// It ended by itself; descendants that carry its mark may be left.
		return proctree.KillMarked(commandMarker(s.spec.marker(), r.ID))
	}
	if err = g.tree.Kill(); err == nil || os.Getpid() != 1 {
		return err
	}
	_ = unix.Kill(-1, unix.SIGKILL)
	return g.tree.Kill()
}

// reap waits for all children that have ended, commands and orphans alike.
func (s *supervisor) reap() {
	for {
		s.mu.Lock()
		var ws syscall.WaitStatus
		var ru syscall.Rusage
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, &ru)
		if err == syscall.EINTR {
			s.mu.Unlock()
			continue
		}
		if pid <= 0 {
			s.mu.Unlock()
			return
		}
		g := s.byPID[pid]
		if g != nil {
			delete(s.byPID, pid)
			delete(s.byID, g.id)
			g.tree.Ended()
		}
		over := g != nil && s.over[g.id]
		if over {
			delete(s.over, g.id)
		}
		s.mu.Unlock()
		if g != nil {
			st := statusOfWait(ws, &ru)
			if over {
				st.Exceeded = ExceededMemory
			}
			_ = s.conn.answer(reply{ID: g.id, Event: evExited, Status: &st})
		}
	}
}

func statusOfWait(ws syscall.WaitStatus, ru *syscall.Rusage) status {
	code, sig := proctree.WaitStatus(ws)
	return status{
		Code: code, Signal: sig, MaxRSS: proctree.RSSBytes(ru),
		User: time.Duration(ru.Utime.Nano()), System: time.Duration(ru.Stime.Nano()),
	}
}

// fatalSignals lists the signals for which Go's runtime ends the program, even when another process
// sent them.
var fatalSignals = []syscall.Signal{
	unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGXCPU, unix.SIGXFSZ,
	unix.SIGVTALRM, unix.SIGPROF, unix.SIGIO, unix.SIGPWR, unix.SIGSYS,
}

// standFirm removes the runtime's handlers for the signals that would end the supervisor. Without a
// handler the kernel keeps these signals from PID 1 of a namespace, whoever inside sends them and
// in whatever way (pid_namespaces(7)); a fault of its own still ends it. In other processes the
// default would be death, so the handlers stay.
func standFirm() {
	if os.Getpid() != 1 {
		return
	}
	var none struct { // the kernel's struct sigaction: SIG_DFL, no flags, nothing blocked
		handler, flags, restorer uintptr
		mask                     uint64
	}
	for _, s := range fatalSignals {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&none)), 0, unsafe.Sizeof(none.mask), 0, 0)
	}
}
