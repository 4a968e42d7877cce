package coding

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
)

// ProcConfig configures the tools that run programs: shell with shell_output, shell_input and
// shell_kill, test, lint, and agent. The zero value works.
//
// Programs run in Sandbox. Without one they are plain processes of this host in the workspace's
// directory. Credentials are removed from their environment and their whole process tree is under
// control, but they are not isolated at all: a host that lets a model run commands unattended
// should set Sandbox.
type ProcConfig struct {
	// Sandbox runs every program. It must show the same directory as the workspace. The host closes
	// it; programs that a command detached (with setsid or nohup) live until then.
	Sandbox sandbox.Sandbox
	// Shell is the argument vector to which a command line is appended. Empty means bash -c, or sh
	// -c if there is no bash.
	Shell []string
	// Env is added to the environment of every program, as KEY=value.
	Env []string

	Timeout    time.Duration // how long shell waits for a command by default; default 2 minutes
	MaxTimeout time.Duration // the longest time that a call may ask to wait; default 10 minutes
	Lifetime   time.Duration // after which a background process is killed; default 2 hours, negative never
	Grace      time.Duration // between SIGTERM and SIGKILL; default 2 seconds, negative none
	Background int           // maximum number of background processes; default 8

	OutputBytes int   // bytes of output shown per command, from its beginning and its end; default 32 KiB
	SpillBytes  int64 // bytes of output kept on disk for the artifact store, per result; default 64 MiB

	TestTimeout time.Duration // time limit of one test run; default 10 minutes
	LintTimeout time.Duration // time limit of one linter; default 3 minutes
	Linters     []Linter      // run by lint in addition to the known ones; one with the same name replaces a known one

	// Trial, if set, decides about each command of shell that may change something after it has run
	// in a trial, which has no effect on the workspace. test and lint then run in trials whose
	// changes are dropped. See [Tries].
	Trial TrialFunc

	// Agent, if set, offers the agent tool, which delegates a task to a sub-agent of this
	// configuration. Its Model is required. If it has neither Tools nor a ToolSource, it gets the
	// workspace's tools. Its System follows the instructions of the mode. What holds for the agent
	// that calls the tool holds for the sub-agent too; see [agent.SubAgentConfig].
	Agent *agent.Config
	// Fork, if set, makes a fork of the workspace for each sub-agent that may change something, so
	// that several can work at the same time. Nil lets them work in this workspace, one after
	// another.
	Fork func(ctx context.Context) (*SubFork, error)
}

// SubFork is where one sub-agent works.
type SubFork struct {
	Tools []agent.Tool // of the fork
	// Done is called once when the sub-agent has ended. It returns what the calling agent reads:
	// the result of the sub-agent, for instance with what it changed.
	Done func(ctx context.Context, r *agent.ToolResult, err error) (*agent.ToolResult, error)
}

// Linter is a program that prints diagnostics, one per line.
type Linter struct {
	Name string   // for the model, such as "golangci-lint"
	Args []string // the command, run in the workspace; the paths to check are appended if Paths is set
	// Pattern is a regular expression that matches a line with a diagnostic. It has the named
	// groups path, line and message, and optionally col, severity and rule. Empty means
	// "path:line:col: message".
	Pattern string
	Paths   bool // whether the program accepts paths
	// Extensions are the file name extensions that the linter is for, such as ".go"; empty means
	// any. It runs if one of the files to check has one of them.
	Extensions []string

	re *regexp.Regexp
}

// complete fills in defaults and reports the first invalid field as "Field: cause".
func (c *ProcConfig) complete() error {
	for _, f := range []struct {
		name     string
		v        *time.Duration
		def      time.Duration
		negative bool
	}{
		{"Timeout", &c.Timeout, 2 * time.Minute, false},
		{"MaxTimeout", &c.MaxTimeout, 10 * time.Minute, false},
		{"Lifetime", &c.Lifetime, 2 * time.Hour, true},
		{"Grace", &c.Grace, 2 * time.Second, true},
		{"TestTimeout", &c.TestTimeout, 10 * time.Minute, false},
		{"LintTimeout", &c.LintTimeout, 3 * time.Minute, false},
	} {
		switch {
		case *f.v == 0:
			*f.v = f.def
		case *f.v < 0 && !f.negative:
			return fmt.Errorf("%s: %v is negative; use 0 for the default of %v", f.name, *f.v, f.def)
		case *f.v < 0:
			*f.v = 0
		}
	}
	c.MaxTimeout = max(c.MaxTimeout, c.Timeout)
	if c.Background < 0 || c.OutputBytes < 0 || c.SpillBytes < 0 {
		return errors.New("Background, OutputBytes and SpillBytes: a negative value; use 0 for the default")
	}
	c.Background = orDefault(c.Background, 8)
	c.OutputBytes = orDefault(c.OutputBytes, 32<<10)
	c.SpillBytes = orDefault(c.SpillBytes, 64<<20)
	if c.Agent != nil && c.Agent.Model == nil {
		return errors.New("Agent.Model: it is nil; set it to the model that sub-agents use, or leave Agent nil")
	}
	return c.completeLinters()
}

func orDefault[T int | int64](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// completeLinters compiles the patterns of the host's linters.
func (c *ProcConfig) completeLinters() error {
	c.Linters = slices.Clone(c.Linters)
	for i := range c.Linters {
		l := &c.Linters[i]
		switch {
		case l.Name == "":
			return fmt.Errorf("Linters[%d].Name: it is empty", i)
		case len(l.Args) == 0:
			return fmt.Errorf("Linters[%d].Args: they are empty; give the command of %s", i, l.Name)
		case l.Pattern == "":
			continue
		}
		re, err := regexp.Compile(l.Pattern)
		if err != nil {
			return fmt.Errorf("Linters[%d].Pattern: %w", i, err)
		}
		for _, group := range []string{"path", "line", "message"} {
			if re.SubexpIndex(group) < 0 {
				return fmt.Errorf("Linters[%d].Pattern: it has no group (?P<%s>...)", i, group)
			}
		}
		l.re = re
	}
	return nil
}
