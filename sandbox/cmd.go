package sandbox

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
)

// Cmd is one command. Only Args is required.
type Cmd struct {
	// Args is the argument vector; Args[0] is looked up in the PATH that the command sees. There is
	// no shell unless Args names one.
	Args []string
	// Dir is the working directory as commands see it; a relative path is below
	// the workspace, empty is the workspace.
	Dir string
	// Env is added to the sandbox's environment as KEY=value and takes precedence over it.
	Env []string

	// Stdin is the command's input; nil is empty input. It is copied through a pipe until the
	// command ends, also if it is an *os.File: a command holds no descriptor of the host, so it
	// cannot write to a terminal or change what others share with it. More may be read from it than
	// the command reads. From an *os.File nothing is read after the command has ended; a read of
	// another reader that still blocks then is not waited for.
	Stdin io.Reader
	// OpenStdin keeps the input open for Process.Write until CloseStdin. It cannot be combined with
	// Stdin.
	OpenStdin bool

	// Timeout limits the wall time of the command, after which its whole process tree is killed;
	// zero is no limit.
	Timeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL on timeout and
	// cancellation; zero kills at once.
	Grace time.Duration

	// MergeStderr sends standard error to standard output, in order.
	MergeStderr bool
	// Limit is the number of bytes of each stream that are kept in memory, half from its head and
	// half from its tail; zero means DefaultLimit, negative none.
	Limit int
	// Spill receives the whole of standard output, from its first byte, once it exceeds Limit; if
	// all of it fits, Spill receives nothing. A write error stops the spilling, not the command,
	// and is reported in Output.SpillErr.
	Spill io.Writer
	// SpillStderr is Spill for standard error.
	SpillStderr io.Writer
	// OnOutput is called with every piece of output as it arrives. Calls for one stream are in
	// order, calls for the two streams may be concurrent, and no call comes after Wait has
	// returned. The slice is only valid during the call. A callback that blocks holds up the
	// command; it must not wait for the Process.
	OnOutput func(Stream, []byte)
}

// DefaultLimit is the number of bytes kept in memory of each output stream.
const DefaultLimit = 256 << 10

// Stream names an output stream of a command.
type Stream int

// The output streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// Exit describes how a command ended, and under which isolation it ran.
type Exit struct {
	// Code is the exit status. If a signal ended the command, it is 128 plus the signal number, as
	// shells report it.
	Code int
	// Signal is the signal that ended the command, or zero.
	Signal syscall.Signal
	// TimedOut reports that the command was killed because Cmd.Timeout passed.
	TimedOut bool
	// Canceled reports that the command was killed because the context ended.
	Canceled bool
	// Stdout and Stderr are the captured output.
	Stdout, Stderr Output
	// Wall, User and System are elapsed, user and system time. The latter two cover the process and
	// the children it waited for.
	Wall, User, System time.Duration
	// MaxRSS is the largest resident set of one process, in bytes, or zero if the host does not
	// report it.
	MaxRSS int64
	// Exceeded names the limit of the whole sandbox for which the command was killed
	// (ExceededMemory); it is empty if there was none.
	Exceeded string
	// Denials lists what the command tried and a wall refused, each once with its count, at most
	// 64. A refusal need not be the reason why a command failed, and not every refusal is seen: see
	// Denial and Config.TraceWrites.
	Denials []Denial
	// Hint says why a write of the command failed and which field of Config would allow it, if the
	// command's output shows that it tried to change something that is protected in place, such as
	// .git (see Config.Unprotect). It goes by the words of the output, so it can be missing or
	// wrong; empty means unknown.
	Hint string
	// Isolation reports what was enforced on the command.
	Isolation Isolation
}

// ExceededMemory is the value of Exit.Exceeded for Limits.MemoryTotal.
const ExceededMemory = "memory"

// Success reports whether the command ended by itself with status 0.
func (e *Exit) Success() bool {
	return e.Code == 0 && e.Signal == 0 && !e.TimedOut && !e.Canceled
}

// String describes how the command ended, such as "exit status 1".
func (e *Exit) String() string {
	switch {
	case e.TimedOut:
		return fmt.Sprintf("killed after timeout (%v)", e.Wall.Round(time.Millisecond))
	case e.Canceled:
		return fmt.Sprintf("killed by cancellation (%v)", e.Wall.Round(time.Millisecond))
	case e.Exceeded != "":
		return "killed: the sandbox exceeded its limit of " + e.Exceeded
	case e.Signal != 0:
		return "killed by signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// fail wraps err as this command's error.
func (c Cmd) fail(verb string, err error) error {
	name := "command"
	if len(c.Args) > 0 {
		name = fmt.Sprintf("%q", c.Args[0])
	}
	return fmt.Errorf("sandbox: %s %s: %w", verb, name, err)
}

func (c Cmd) validate() error {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return errors.New("Cmd.Args is empty")
	}
	for _, a := range c.Args {
		if strings.IndexByte(a, 0) >= 0 {
			return fmt.Errorf("Cmd.Args: %q has a NUL byte", a)
		}
	}
	for _, kv := range c.Env {
		if i := strings.IndexByte(kv, '='); i < 1 || strings.IndexByte(kv, 0) >= 0 {
			return fmt.Errorf("Cmd.Env entry %q is not KEY=value", kv)
		}
	}
	if strings.IndexByte(c.Dir, 0) >= 0 {
		return fmt.Errorf("Cmd.Dir %q has a NUL byte", c.Dir)
	}
	if c.OpenStdin && c.Stdin != nil {
		return errors.New("Cmd.OpenStdin and Cmd.Stdin exclude each other")
	}
	if c.Timeout < 0 || c.Grace < 0 {
		return errors.New("Cmd.Timeout and Cmd.Grace must not be negative")
	}
	return nil
}
