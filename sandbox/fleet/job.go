package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/sandbox"
)

// Job is one command to be run once, on any host that serves its class.
type Job struct {
	// ID identifies the job among all jobs of the engine, while results are kept. To
	// repeat a Submit whose answer was lost, submit the same ID again. See ValidName.
	ID string
	// Class is the queue in which the job waits. There is one class for every kind of host, such as
	// "go" or "gpu"; there should never be one for every sandbox.
	Class string
	// Tenant is the tenant for whom the job runs.
	Tenant string
	// Priority orders the jobs that wait on one host for a sandbox of its pool, higher first; see
	// PoolBackend. It must be within MaxPriority.
	Priority int `json:",omitempty"`
	// Snapshot names the starting state of the workspace. Hosts are configured with the meaning of
	// the name (see PoolBackend); it is never a path on a host.
	Snapshot string
	// Command is the command to run.
	Command Command
	// MaxAttempts limits how often the job may be started. After that, it is given up with a failed
	// Result, so that a job that kills its host does not kill all hosts. Zero means
	// DefaultMaxAttempts.
	MaxAttempts int
}

// DefaultMaxAttempts is the number of attempts if Job.MaxAttempts is zero.
const DefaultMaxAttempts = 5

// Command is the part of a [sandbox.Cmd] that can be sent.
type Command struct {
	Args        []string      // the argument vector, required
	Dir         string        // below the workspace; empty means the workspace
	Env         []string      // KEY=value, added to the sandbox's environment
	Stdin       []byte        // the whole input
	Timeout     time.Duration // zero means no limit
	Grace       time.Duration // between SIGTERM and SIGKILL
	MergeStderr bool
	Limit       int // bytes kept of each stream; zero or more than MaxOutput means MaxOutput
}

// MaxOutput limits the number of bytes that are sent of each output stream of a command: half from
// its head and half from its tail.
const MaxOutput = 256 << 10

// Cmd returns the command in the form that a sandbox accepts.
func (c Command) Cmd() sandbox.Cmd {
	cmd := sandbox.Cmd{Args: c.Args, Dir: c.Dir, Env: c.Env, Timeout: c.Timeout, Grace: c.Grace,
		MergeStderr: c.MergeStderr, Limit: c.Limit}
	if cmd.Limit == 0 || cmd.Limit > MaxOutput {
		cmd.Limit = MaxOutput
	}
	if len(c.Stdin) > 0 {
		cmd.Stdin = strings.NewReader(string(c.Stdin))
	}
	return cmd
}

// Result describes how a job ended. There is at most one for every job.
type Result struct {
	Job     string // the job's ID
	Host    string // the host that ran it
	Run     string // identifies this run: a job queued twice may be run twice by one host
	Attempt int    // 1 for the first attempt
	// Exit describes how the command ended, whatever its status. It is nil if no command was run.
	Exit *sandbox.Exit
	// Failure is the reason why no command was run; it is empty if Exit is not nil.
	Failure string
}

// ValidName returns an error if name cannot be an ID of a job or host, a class or the key of a
// lease. Valid names have 1 to 100 letters, digits, '-' and '_', so that every engine interprets
// them in the same way.
func ValidName(what, name string) error {
	if name == "" {
		return fmt.Errorf("%s is empty", what)
	}
	if len(name) > 100 {
		return fmt.Errorf("%s %.20q... is %d bytes long, at most 100 are allowed", what, name, len(name))
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return fmt.Errorf("%s %q has %q in it; use letters, digits, '-' and '_'", what, name, r)
		}
	}
	return nil
}

// maxDenialBytes limits the JSON size of a result's denials, so that they fit into a message
// together with the largest output.
const maxDenialBytes = 128 << 10

// Limits of messages that are accepted from others.
const (
	maxArgs = 8192    // arguments and variables, each
	maxText = 4 << 10 // tenant, snapshot, directory, failure
)

func (j *Job) validate() error {
	return errors.Join(ValidName("Job.ID", j.ID), ValidName("Job.Class", j.Class),
		short("Job.Tenant", j.Tenant), short("Job.Snapshot", j.Snapshot), validPriority("Job.Priority", j.Priority), j.Command.validate())
}

func (c *Command) validate() error {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return errors.New("Command.Args names no program")
	}
	if len(c.Args) > maxArgs || len(c.Env) > maxArgs {
		return fmt.Errorf("Command has %d arguments and %d variables, at most %d of each are allowed", len(c.Args), len(c.Env), maxArgs)
	}
	for _, s := range c.Args {
		if strings.IndexByte(s, 0) >= 0 {
			return errors.New("Command.Args has a NUL byte in it")
		}
	}
	for _, s := range slices.Concat(c.Args, c.Env, []string{c.Dir}) {
		if !utf8.ValidString(s) { // JSON would change such a string during transmission
			return fmt.Errorf("Command has %.40q in it, which is not UTF-8", s)
		}
	}
	for _, kv := range c.Env {
		if i := strings.IndexByte(kv, '='); i < 1 || strings.IndexByte(kv, 0) >= 0 {
			return fmt.Errorf("Command.Env entry %.40q is not KEY=value", kv)
		}
	}
	if c.Timeout < 0 || c.Grace < 0 || c.Limit < 0 {
		return errors.New("Command.Timeout, Grace and Limit must not be negative")
	}
	return short("Command.Dir", c.Dir)
}

func short(what, s string) error {
	if len(s) > maxText || strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("%s has a NUL byte or more than %d bytes in it", what, maxText)
	}
	return nil
}
