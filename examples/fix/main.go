// Command fix repairs a Go module whose tests fail because of one wrong line.
//
//	go run ./examples/fix [flags] [dir]
//
// A small Mixture-of-Experts model, which is part of this program, runs the tests, reads functions,
// edits a line, runs the tests again, and continues until they pass. Without a directory, the
// command repairs a small module that comes with it. The tests run in a sandbox without a network,
// in a private view of the module; the directory itself is changed only once, by an edit with which
// all tests pass. The model knows only how to repair one line.
//
// The exit status is 0 if the tests pass now, 1 if no repair was found, and 2 if there is nothing
// to repair: no Go module, or tests that do not compile, that pass or that hang.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/sandbox"
)

// Exit statuses.
const (
	statusFixed    = 0
	statusNotFixed = 1
	statusBadInput = 2
)

type options struct {
	dir          string
	model, draft string
	scope        string
	edits        int
	timeout      time.Duration
	learn        time.Duration
	keep, json   bool
	eval         bool
	tasks        string
	n            int
}

func main() {
	sandbox.Init()
	var o options
	flag.StringVar(&o.model, "model", "", "GGUF `file` of a model to use in place of the one in this program")
	flag.StringVar(&o.draft, "draft", "", "GGUF `file` of a model that drafts for it")
	flag.StringVar(&o.scope, "scope", "package", "functions the model may choose from: package, or function for the one ranked first")
	flag.IntVar(&o.edits, "edits", 10, "edits to test at most")
	flag.DurationVar(&o.timeout, "timeout", 30*time.Second, "most time that the tests of one package get")
	flag.DurationVar(&o.learn, "learn", 30*time.Second, "most time to get to know the module by its other functions when its first three edits did not help; 0 for none")
	flag.BoolVar(&o.keep, "keep", false, "leave the module as it is and only show the change; keep the bundled module")
	flag.BoolVar(&o.json, "json", false, "print JSON, an object a line")
	flag.BoolVar(&o.eval, "eval", false, "measure the model on broken functions of modules it has not seen")
	flag.StringVar(&o.tasks, "tasks", "", "`file` of tasks for -eval in place of those in this program")
	flag.IntVar(&o.n, "n", 0, "tasks of -eval at most; 0 is all")
	flag.Parse()
	o.dir = flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, o)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, o options) int {
	show := newDisplay(os.Stdout, o.json)
	status, err := fix(ctx, o, show)
	if ctx.Err() != nil && err != nil {
		status, err = statusNotFixed, errors.New("interrupted; the module is as it was")
	}
	if err != nil {
		show.problem(err)
	}
	return status
}

func fix(ctx context.Context, o options, show *display) (int, error) {
	if flag.NArg() > 1 || o.scope != "package" && o.scope != "function" || o.edits < 1 || o.timeout <= 0 || o.learn < 0 {
		return statusBadInput, errors.New("usage: fix [flags] [dir]; -scope is package or function, -edits and -timeout are positive, -learn is not negative; see -help")
	}
	if o.eval {
		return evaluate(ctx, o, show)
	}
	begin := time.Now()
	if o.dir == "" {
		dir, err := bundled()
		if err != nil {
			return statusBadInput, err
		}
		o.dir = dir
		if !o.keep {
			defer os.RemoveAll(dir)
		}
	}
	m, err := harness.OpenModule(ctx, o.dir, harness.ModuleConfig{Timeout: o.timeout})
	if err != nil {
		return statusBadInput, err
	}
	defer m.Close()
	model, err := load(o)
	if err != nil {
		return statusBadInput, err
	}
	defer model.Close()
	show.begin(o, m)
	found, err := m.Find(ctx)
	if err != nil {
		return statusBadInput, err
	}
	show.found(m, found, time.Since(begin))
	cfg := harness.Config{Model: model, Case: m, Edits: o.edits, FunctionScope: o.scope == "function", OnStep: show.step}
	if o.learn > 0 {
		p := &pupil{options: o, module: m, show: show}
		defer p.close()
		cfg.Adapt = p.adapt
	}
	res, err := harness.Run(ctx, cfg)
	if err != nil {
		return statusNotFixed, err
	}
	status := statusNotFixed
	if res.Fixed != nil {
		status = statusFixed
		show.diff(res.Fixed) // print the diff first: if it cannot be written, the edit can be made by hand
		if !o.keep {
			if err := m.Write(ctx, res.Fixed); err != nil {
				return statusNotFixed, err
			}
		}
	}
	show.end(o, m, res, time.Since(begin))
	return status, nil
}
