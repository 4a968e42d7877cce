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
	// ID names the job among all jobs of the engine, for as long as results are
	// kept. Submitting the same ID again is the way to repeat a Submit whose
	// answer was lost. See ValidName.
	ID string
	// Class is the queue the job waits in: one for every kind of host, such as
	// "go" or "gpu", never one for every sandbox.
	Class string
	// Tenant is on whose behalf the job runs.
	Tenant string
	// Priority orders the jobs that wait on one host for a sandbox of its pool,
	// higher first; see PoolBackend. It must be within MaxPriority.
	Priority int `json:",omitempty"`
	// Snapshot names the starting state of the workspace. It is a name that hosts
	// were given a meaning for (see PoolBackend), never a path of theirs.
	Snapshot string
	// Command is what to run.
	Command Command
	// MaxAttempts is how often the job may be begun before it is given up with a
	// failed Result, so that a job that kills its host does not kill them all.
	// Zero means DefaultMaxAttempts.
	MaxAttempts int
}

// DefaultMaxAttempts is the number of times a job is begun when Job.MaxAttempts
// does not say.
const DefaultMaxAttempts = 5

// Command is the part of a [sandbox.Cmd] that can travel.
type Command struct {
	Args        []string      // the argument vector, required
	Dir         string        // below the workspace; empty is the workspace
	Env         []string      // KEY=value, added to the sandbox's
	Stdin       []byte        // the whole input
	Timeout     time.Duration // zero is no limit
	Grace       time.Duration // between SIGTERM and SIGKILL
	MergeStderr bool
	Limit       int // bytes kept of each stream; zero and more than MaxOutput mean MaxOutput
}

// MaxOutput is the most that travels of each output stream of a command, in
// bytes: half from its head and half from its tail.
const MaxOutput = 256 << 10

// Cmd is the command as a sandbox takes it.
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

// Result is how a job ended. There is at most one for every job.
type Result struct {
	Job     string // the job's ID
	Host    string // the host that ran it
	Run     string // names this one run: a job queued twice may be run twice by one host
	Attempt int    // 1 for a job that was begun once
	// Exit is how the command ended, whatever its status. It is nil if no command
	// was run.
	Exit *sandbox.Exit
	// Failure says why no command was run; it is empty if Exit is not nil.
	Failure string
}

// ValidName reports why name cannot be an ID of a job or host, a class or the
// key of a lease: these are 1 to 100 letters, digits, '-' and '_', so that they
// mean the same to every engine.
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

// maxDenialBytes bounds the denials of one result, as JSON: beside the most output
// there is room for as much.
const maxDenialBytes = 128 << 10

// Limits of what is accepted from others.
const (
	maxArgs = 8192    // arguments and variables each
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
		if !utf8.ValidString(s) { // what is sent as JSON would arrive as another
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
