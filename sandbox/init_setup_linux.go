package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// At tiers where the broker makes no namespaces, a supervisor is the embedding program, executed
// again, in two stages. The first sets up the isolation and gives up every privilege. Then it
// executes itself once more, because capabilities and filters belong to threads, and only exec
// leaves a process none of whose threads ever had more. The second stage serves.
const (
	stageArg   = "-luthier-sandbox-stage"
	stageSetup = "setup"
	stageServe = "serve"
	stageLimit = "limit" // followed by the limit, the program and its arguments

	controlFD = 3
)

// failStatus is the exit status of a supervisor that could not report why it failed.
const failStatus = 125

// stage returns the stage this process was started for, or "".
func stage() string {
	if len(os.Args) >= 3 && os.Args[1] == stageArg {
		return os.Args[2]
	}
	return ""
}

// runStage runs a supervisor's stage and ends the process without the host's own exit work, which
// is not meant for its copies.
func runStage(name string) {
	switch name {
	case stageSetup:
		syscall.Exit(setupMain())
	case stageServe:
		syscall.Exit(serveMain())
	case stageLimit:
		syscall.Exit(limitMain(os.Args[3:]))
	case stageBroker:
		syscall.Exit(brokerMain())
	case stageNested:
		syscall.Exit(runBroker())
	}
	syscall.Exit(failStatus)
}

func setupMain() int {
	runtime.LockOSThread() // what follows is done by one thread, up to its exec
	sp, err := receiveSpec()
	if err == nil {
		err = setup(sp)
	}
	// Reached only after an error.
	c, connErr := dupConn()
	if connErr != nil {
		fmt.Fprintln(os.Stderr, "sandbox: set up:", err)
		return failStatus
	}
	_ = c.answer(reply{Event: evHello, Error: toWire(err)})
	return failStatus
}

// dupConn makes a connection over a copy of the control socket, so that the original descriptor
// survives for the next stage.
func dupConn() (*conn, error) {
	fd, err := unix.FcntlInt(controlFD, unix.F_DUPFD_CLOEXEC, 10)
	if err != nil {
		return nil, err
	}
	return newConn(os.NewFile(uintptr(fd), "control"))
}

func receiveSpec() (*spec, error) {
	c, err := dupConn()
	if err != nil {
		return nil, err
	}
	defer c.close()
	var sp spec
	files, err := c.hear(&sp)
	closeFiles(files)
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	return &sp, sp.check()
}

// setup isolates the process and executes the next stage. It returns only with an error.
func setup(sp *spec) error {
	exe, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open own program: %w", err)
	}
	if err := setLimits(sp.Limits); err != nil {
		return err
	}
	if err := clearDescriptors(exe); err != nil {
		return err
	}
	if err := dropPrivileges(); err != nil {
		return err
	}
	if sp.Landlock != nil {
		if err := sp.Landlock.restrict(); err != nil {
			return err
		}
	}
	c, err := dupConn()
	if err != nil {
		return err
	}
	// Last: from here on refused calls are sent to a listener, and wait for the host's answer.
	listener, err := installFilter(sp.filter())
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	if listener >= 0 {
		f := os.NewFile(uintptr(listener), "seccomp")
		if err := c.answer(reply{Event: evListener}, f); err != nil {
			return fmt.Errorf("hand over seccomp listener: %w", err)
		}
		f.Close()
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("end with the host: %w", err)
	}
	// The next stage reads the spec from the socket: the host sends it twice.
	self := "/proc/self/fd/" + strconv.Itoa(exe)
	err = syscall.Exec(self, []string{"sandbox", stageArg, stageServe}, []string{"PATH=/usr/bin:/bin", "GOMAXPROCS=2", "GOTRACEBACK=none"})
	return fmt.Errorf("execute own program: %w", err)
}

// filter returns the options of the spec's seccomp filter.
func (s *spec) filter() filterOptions {
	return filterOptions{sockets: s.Sockets, notify: true, files: s.Watch > 0 && s.Root, writes: s.Trace}
}

// clearDescriptors leaves only the standard files, the control socket and, until it is executed,
// the program to the next stage.
func clearDescriptors(exe int) error {
	if err := unix.CloseRange(controlFD+1, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("close descriptors: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(exe), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	_, err := unix.FcntlInt(controlFD, unix.F_SETFD, 0)
	return err
}

// rlimits lists the process limits that the supervisor can live under too, with their sources.
var rlimits = []rlimit{
	{"RLIMIT_CORE", unix.RLIMIT_CORE, func(Limits) int64 { return 1 }}, // not 0, see keepCoreLimit
	{"RLIMIT_NPROC", unix.RLIMIT_NPROC, func(l Limits) int64 { return l.Processes }},
	{"RLIMIT_NOFILE", unix.RLIMIT_NOFILE, func(l Limits) int64 { return l.Files }},
	{"RLIMIT_FSIZE", unix.RLIMIT_FSIZE, func(l Limits) int64 { return l.FileSize }},
	{"RLIMIT_RTPRIO", unix.RLIMIT_RTPRIO, func(Limits) int64 { return 0 }},
	{"RLIMIT_NICE", unix.RLIMIT_NICE, func(Limits) int64 { return 0 }},
	{"RLIMIT_MSGQUEUE", unix.RLIMIT_MSGQUEUE, func(Limits) int64 { return 1 << 20 }},
}

// rlimit is an entry of rlimits.
type rlimit struct {
	name  string
	which int
	value func(Limits) int64 // negative leaves it unchanged
}

// wanted returns the limit to set: an ordinary user cannot raise a limit. If the current limit
// cannot be read, the new one is set anyway, which then fails or holds.
func (r *rlimit) wanted(l Limits) (uint64, bool) {
	value := r.value(l)
	if value < 0 {
		return 0, false
	}
	var now unix.Rlimit
	if unix.Getrlimit(r.which, &now) != nil {
		return uint64(value), true
	}
	return min(uint64(value), now.Max), true
}

func setLimits(l Limits) error {
	for _, r := range rlimits {
		v, ok := r.wanted(l)
		var now unix.Rlimit
		if !ok || unix.Getrlimit(r.which, &now) == nil && now == (unix.Rlimit{Cur: v, Max: v}) {
			continue // an outer sandbox refuses every change of RLIMIT_CORE, also to what it is
		}
		if err := unix.Setrlimit(r.which, &unix.Rlimit{Cur: v, Max: v}); err != nil {
			return fmt.Errorf("set %s to %d: %w", r.name, v, err)
		}
	}
	return nil
}

// dropPrivileges irrevocably gives up all capabilities, for this thread and whatever it executes.
func dropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	for c := uintptr(0); c < 64; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // above the kernel's last capability
		}
		if errors.Is(err, unix.EPERM) {
			break // no CAP_SETPCAP, so nothing can be dropped; no_new_privs still holds
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

func serveMain() int {
	c, err := dupConn()
	unix.Close(controlFD)
	if err != nil {
		return failStatus
	}
	var sp spec
	files, err := c.hear(&sp)
	closeFiles(files)
	if err != nil || sp.check() != nil {
		return failStatus
	}
	return serve(c, &sp)
}

// limitArgs prefixes a command with the stage that limits its memory. The supervisor itself could
// not run within a limit that is enough for a command, and a limit set after the start would come
// too late.
func limitArgs(memory int64, path string, args []string) (string, []string) {
	if memory <= 0 {
		return path, args
	}
	shim := []string{"sandbox", stageArg, stageLimit, strconv.FormatInt(memory, 10), path}
	return "/proc/self/exe", append(shim, args...)
}

// limitMain sets the limit and executes the command.
func limitMain(args []string) int {
	if len(args) < 3 {
		return failStatus
	}
	n, err := strconv.ParseUint(args[0], 10, 64)
	if err == nil {
		env := os.Environ()
		if err = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: n, Max: n}); err == nil {
			err = syscall.Exec(args[1], args[2:], env)
		}
	}
	fmt.Fprintf(os.Stderr, "sandbox: execute %s: %v\n", args[1], err)
	return 126
}
