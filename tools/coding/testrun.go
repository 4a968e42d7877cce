package coding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
	"github.com/luthier-dev/luthier/tools/coding/internal/testreport"
)

type testIn struct {
	Path           string   `json:"path,omitempty" jsonschema_description:"directory or test file to test, relative to the workspace; for pytest also a node id such as tests/test_a.py::test_b; default: everything"`
	Filter         string   `json:"filter,omitempty" jsonschema_description:"which tests: a -run pattern for Go, a -k expression for pytest, a name pattern for jest and vitest, a part of the name for cargo"`
	Framework      string   `json:"framework,omitempty" jsonschema:"enum=go,enum=pytest,enum=jest,enum=vitest,enum=cargo" jsonschema_description:"only when the project has several"`
	Args           []string `json:"args,omitempty" jsonschema_description:"further options for the runner, such as -race"`
	TimeoutSeconds int      `json:"timeout_seconds,omitempty" jsonschema:"minimum=0" jsonschema_description:"limit of the whole run; default 600"`
}

// testPlan is one way to run a project's tests.
type testPlan struct {
	Framework string // as in testIn
	Title     string // the name for people, such as "go test"
	Dir       string // working directory of the runner, relative to the workspace
	Module    string // Go module path
	Args      []string
	Env       []string
	Others    []string // other frameworks that were found
	parse     func(r io.Reader, paths testreport.Paths, log io.Writer) (*testreport.Report, error)
	logStdout bool // the standard output is readable
}

func (w *Workspace) testTool() (agent.Tool, error) {
	runs := agent.Effects{Flags: agent.EffectExec, Reasons: []string{"runs the project's tests, which may do anything"}}
	return newTool("test", w.test, toolParts[testIn]{
		any:      runs,
		effects:  func(testIn) agent.Effects { return runs },
		describe: w.describeTest,
		opts:     []tools.Option{tools.WithTimeout(-1)},
	})
}

func (w *Workspace) describeTest(in testIn) agent.CallDescription {
	d := w.place(agent.CallDescription{Title: "run tests"}, "")
	plan, err := viewing(context.Background(), w, in, opened.planTests)
	if err != nil {
		d.Detail = err.Error()
		return d
	}
	d.Title = "run tests: " + commandLine(plan.Args)
	d.Exact = "cd " + plan.Dir + " && " + commandLine(plan.Args)
	d.Where = w.where(plan.Dir)
	return d
}

// shownTail is the number of bytes of a run's output that are shown if the report does not explain
// it.
const shownTail = 4 << 10

func (w *Workspace) test(ctx context.Context, in testIn) (string, error) {
	plan, err := viewing(ctx, w, in, opened.planTests)
	if err != nil {
		return "", err
	}
	sb, err := w.runner()
	if err != nil {
		return "", err
	}
	limit := w.cfg.Proc.TestTimeout
	if in.TimeoutSeconds > 0 {
		limit = min(time.Duration(in.TimeoutSeconds)*time.Second, 6*w.cfg.Proc.TestTimeout)
	}
	log := newProcLog(2*shownTail, w.cfg.Proc.SpillBytes)
	defer log.close()
	paths := testreport.Paths{Root: sb.Dir(), Dir: plan.Dir, Module: plan.Module}
	var rep *testreport.Report
	exit, err := w.exec(ctx, program{
		Args: plan.withLimit(limit), Dir: plan.Dir, Env: plan.Env, Timeout: limit, LogStdout: plan.logStdout,
		Read: func(r io.Reader) (err error) {
			rep, err = plan.parse(r, paths, log)
			return err
		},
	}, log)
	if errors.Is(err, errAbsent) {
		return "", fmt.Errorf("the tests were not run: %w; %s", err, plan.hint())
	}
	if err != nil {
		return "", err
	}
	out := testreport.Outcome{
		Framework: plan.Title, Command: commandLine(plan.Args), ExitCode: exit.Code, Wall: exit.Wall,
		Tail: log.end(shownTail), Log: w.keepLog(ctx, log, plan.Title),
	}
	switch {
	case exit.TimedOut:
		out.Ended = fmt.Sprintf("killed after its limit of %s", roundTime(limit))
	case exit.Canceled:
		out.Ended = "cancelled"
	}
	if len(plan.Others) > 0 {
		rep.Note("the project also has tests of " + strings.Join(plan.Others, ", ") + "; pass framework to run those")
	}
	return rep.Render(out), nil
}

// withLimit adds a slightly shorter time limit to the command of a runner that has such an option,
// since the runner can say which test hangs.
func (p *testPlan) withLimit(limit time.Duration) []string {
	if p.Framework != "go" || limit < 5*time.Second {
		return p.Args
	}
	for _, a := range p.Args {
		if strings.HasPrefix(a, "-timeout") || strings.HasPrefix(a, "--timeout") {
			return p.Args
		}
	}
	args := append([]string{}, p.Args[:3]...)
	args = append(args, "-timeout="+(limit-limit/20).Round(time.Second).String())
	return append(args, p.Args[3:]...)
}

// hint says what to do if the runner is not installed.
func (p *testPlan) hint() string {
	switch p.Framework {
	case "jest", "vitest":
		return "install the project's packages first, with shell: npm ci (or the package manager the project uses)"
	case "pytest":
		return "install pytest first, with shell"
	}
	return "install it, or run what the project offers with shell"
}

// keepLog stores the full log and returns a line that says where.
func (w *Workspace) keepLog(ctx context.Context, log *procLog, name string) string {
	data, lost, err := log.whole()
	if err != nil {
		return "The full log could not be kept: " + err.Error()
	}
	if len(data) == 0 {
		return ""
	}
	handle, err := w.keep(ctx, name+" log", []byte(show.Clean(data)))
	switch {
	case err != nil:
		return "The full log could not be kept: " + err.Error()
	case lost > 0:
		return fmt.Sprintf("Log: artifact %s (its first %s; %s more were printed)", handle, show.Size(int64(len(data))), show.Size(lost))
	}
	return fmt.Sprintf("Full log: artifact %s (%s)", handle, show.Size(int64(len(data))))
}

// plainParser adapts a parser that has no log of its own to write.
func plainParser(parse func(io.Reader, testreport.Paths) (*testreport.Report, error)) func(io.Reader, testreport.Paths, io.Writer) (*testreport.Report, error) {
	return func(r io.Reader, paths testreport.Paths, _ io.Writer) (*testreport.Report, error) {
		return parse(r, paths)
	}
}
