package coding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/shelleffects"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

type shellIn struct {
	Command        string `json:"command" jsonschema_description:"command line, run by bash (sh where there is no bash)"`
	Dir            string `json:"dir,omitempty" jsonschema_description:"directory to run in, relative to the workspace; default: the workspace"`
	TimeoutSeconds int    `json:"timeout_seconds,omitempty" jsonschema:"minimum=0" jsonschema_description:"how long to wait for the command to end; default 120"`
	OnTimeout      string `json:"on_timeout,omitempty" jsonschema:"enum=background,enum=kill" jsonschema_description:"what becomes of a command that has not ended by then; default background"`
	Background     bool   `json:"background,omitempty" jsonschema_description:"do not wait: for servers and watchers"`
	Interactive    bool   `json:"interactive,omitempty" jsonschema_description:"keep the standard input open for shell_input; otherwise it is empty"`
}

// maxCommand limits the length of a command line; Linux refuses a single argument beyond about 128
// KiB.
const maxCommand = 100 << 10

// settle is the time for which a background command is watched before the call returns, so that an
// immediate failure is reported.
const settle = 300 * time.Millisecond

func (w *Workspace) shellTool() (agent.Tool, error) {
	return newTool("shell", w.shell, toolParts[shellIn]{
		effects:  func(in shellIn) agent.Effects { return effectsIn(w, in, opened.shellEffects) },
		describe: w.describeShell,
		opts:     []tools.Option{tools.WithTimeout(-1), tools.WithCheck(checkShell)},
	})
}

func checkShell(in shellIn) error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return errors.New("command is empty; give a command line")
	case strings.IndexByte(in.Command, 0) >= 0:
		return errors.New("command has a NUL byte; remove it")
	case len(in.Command) > maxCommand:
		return fmt.Errorf("command has %d bytes, more than %d; write a script file and run that", len(in.Command), maxCommand)
	}
	return nil
}

func (w *Workspace) shell(ctx context.Context, in shellIn) (*agent.ToolResult, error) {
	if err := checkShell(in); err != nil {
		return nil, err
	}
	dir, err := viewing(ctx, w, in.Dir, opened.workDir)
	if err != nil {
		return nil, err
	}
	if w.trial(ctx) != nil && in.tried() && !effectsIn(w, in, opened.shellEffects).IsReadOnly() {
		return w.shellInTrial(ctx, in, dir)
	}
	box, err := w.runner()
	if err != nil {
		return nil, err
	}
	p, err := w.startShell(box, in.Command, dir, in.Interactive)
	if err != nil {
		return nil, fmt.Errorf("the command could not be started: %w", err)
	}
	if in.Background {
		return w.intoBackground(ctx, p)
	}
	limit := w.shellLimit(in)
	switch p.wait(ctx, limit) {
	case waitEnded:
		return w.endedResult(ctx, p), nil
	case waitCanceled:
		return w.killNow(ctx, p, limit, "because the call was cancelled")
	}
	if in.OnTimeout == "kill" {
		return w.killNow(ctx, p, limit, "as the call asked; give a longer timeout_seconds or run it in the background")
	}
	if err := w.enlist(p); err != nil {
		return w.killNow(ctx, p, limit, "since "+err.Error())
	}
	text := p.log.take(ctx, p.logName(), w.keep)
	return agent.TextResult(withStatus(text, fmt.Sprintf(
		"still running after %s; it goes on in the background as process %d: shell_output with {\"id\": %d, \"wait_seconds\": 60} reads on, shell_kill ends it",
		roundTime(limit), p.id, p.id))), nil
}

// shellLimit returns how long a call waits for its command.
func (w *Workspace) shellLimit(in shellIn) time.Duration {
	if in.TimeoutSeconds > 0 {
		return min(time.Duration(in.TimeoutSeconds)*time.Second, w.cfg.Proc.MaxTimeout)
	}
	return w.cfg.Proc.Timeout
}

// killNow kills a command that must not continue.
func (w *Workspace) killNow(ctx context.Context, p *process, limit time.Duration, why string) (*agent.ToolResult, error) {
	_ = p.p.Kill()
	if exit, err := p.p.Wait(); err == nil {
		limit = min(limit, exit.Wall)
	}
	text := p.log.take(ctx, p.logName(), w.keep)
	p.log.close()
	res := agent.TextResult(withStatus(text, fmt.Sprintf("killed with all its children after %s, %s", roundTime(limit), why)))
	res.IsError = true
	return res, nil
}

func (w *Workspace) intoBackground(ctx context.Context, p *process) (*agent.ToolResult, error) {
	if err := w.enlist(p); err != nil {
		_ = p.p.Kill()
		p.log.close()
		return nil, fmt.Errorf("the command was not run: %w", err)
	}
	if p.wait(ctx, settle) == waitEnded {
		defer w.forget(p)
		return w.endedResult(ctx, p), nil
	}
	text := p.log.take(ctx, p.logName(), w.keep)
	return agent.TextResult(withStatus(text, fmt.Sprintf(
		"running in the background as process %d: shell_output with {\"id\": %d} reads what it prints, shell_kill ends it", p.id, p.id))), nil
}

type waitResult int

const (
	waitEnded waitResult = iota
	waitTimeout
	waitCanceled
)

// progressEvery is the interval at which output of a waiting call is shown to the host.
const progressEvery = 100 * time.Millisecond

// wait waits for the process to end, showing its output as progress.
func (p *process) wait(ctx context.Context, limit time.Duration) waitResult {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	show := func(s string) {
		if s != "" {
			agent.Progress(ctx, s)
		}
	}
	defer func() { show(p.log.rest()) }()
	for {
		select {
		case <-p.p.Done():
			return waitEnded
		case <-ctx.Done():
			return waitCanceled
		case <-timeout.C:
			return waitTimeout
		case <-tick.C:
			show(p.log.progress())
		}
	}
}

// endedResult returns the result of a process that has ended.
func (w *Workspace) endedResult(ctx context.Context, p *process) *agent.ToolResult {
	exit, err := p.p.Wait()
	text := p.log.take(ctx, p.logName(), w.keep)
	if p.id == 0 {
		p.log.close()
	}
	return agent.TextResult(withStatus(text, exitWords(exit, err)))
}

func (p *process) logName() string {
	name, _, _ := strings.Cut(strings.TrimSpace(p.command), "\n")
	return "output of " + show.Line(name, 60)
}

// exitWords describes how a command ended.
func exitWords(exit *sandbox.Exit, err error) string {
	words := endWords(exit, err)
	if exit != nil && exit.Hint != "" {
		words += ". " + exit.Hint + ". Only the user can allow it: do not work around it, but say what you want to do and ask the user"
	}
	return words
}

func endWords(exit *sandbox.Exit, err error) string {
	switch {
	case exit == nil:
		return fmt.Sprintf("ended: %v", err)
	case exit.TimedOut:
		return fmt.Sprintf("killed with all its children after %s, the longest a process may live", roundTime(exit.Wall))
	case exit.Canceled:
		return fmt.Sprintf("killed with all its children after %s, because the call was cancelled", roundTime(exit.Wall))
	case exit.Signal != 0:
		return fmt.Sprintf("ended by signal %d (%v) after %s", int(exit.Signal), exit.Signal, roundTime(exit.Wall))
	}
	return fmt.Sprintf("exit code %d after %s", exit.Code, roundTime(exit.Wall))
}

func roundTime(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// withStatus appends what is known about a command to its output, which stays as it is.
func withStatus(text, status string) string {
	if strings.TrimSpace(text) == "" {
		text = "(no output)"
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[" + status + "]"
}

// shellEffects returns the effects of a command line, where they can be derived from its text.
// Everything else, and everything that continues after the call has returned, is unknown.
func (w opened) shellEffects(in shellIn) agent.Effects {
	a := shelleffects.Analyze(in.Command, shelleffects.Options{Root: w.name, Dir: in.Dir})
	e := w.withPlaces(fromShell(a), a)
	// The analysis only sees text; here the real destinations of names are looked up.
	for _, p := range e.Reads {
		if r := w.readEffects(p); r.Flags != 0 {
			e.Flags |= r.Flags
			e.Reasons = append(e.Reasons, r.Reasons...)
		}
	}
	e = w.markShell(e, in)
	if _, err := w.workDir(context.Background(), in.Dir); err != nil {
		return w.outside(agent.Effects{Reasons: e.Reasons}, err)
	}
	if in.Interactive {
		e.Known = false
		e.Reasons = append(e.Reasons, "reads what shell_input sends it later")
	}
	if in.Background && !e.IsReadOnly() {
		e.Known = false
		e.Reasons = append(e.Reasons, "goes on in the background")
	}
	return e
}

// fromShell converts the analysis of a command line to effects.
func fromShell(a shelleffects.Analysis) agent.Effects {
	e := agent.Effects{Known: a.Known && a.Err == nil, Reads: a.Reads, Writes: a.Writes, Reasons: a.Reasons}
	for _, f := range []struct {
		from shelleffects.Flags
		to   agent.EffectFlags
	}{
		{shelleffects.Deletes, agent.EffectDelete}, {shelleffects.Kills, agent.EffectKill}, {shelleffects.Network, agent.EffectNetwork},
		{shelleffects.Executes, agent.EffectExec}, {shelleffects.Outside, agent.EffectOutside}, {shelleffects.Secret, agent.EffectSecret},
	} {
		if a.Flags&f.from != 0 {
			e.Flags |= f.to
		}
	}
	return e
}

func (w *Workspace) describeShell(in shellIn) agent.CallDescription {
	a := shelleffects.Analyze(in.Command, shelleffects.Options{Root: w.name, Dir: in.Dir})
	first, _, more := strings.Cut(strings.TrimSpace(in.Command), "\n")
	title := "run: " + show.Line(first, 120)
	if more {
		title += " ..."
	}
	dir, err := viewing(context.Background(), w, in.Dir, opened.workDir)
	if err != nil {
		dir = in.Dir
	}
	d := w.place(agent.CallDescription{Title: title, Exact: exactCommand(in, dir)}, dir)
	var b strings.Builder
	b.WriteString(in.Command + "\n")
	if a.Tree != "" {
		b.WriteString("\nparsed as:\n" + a.Tree + "\n")
	}
	if reasons := effectsIn(w, in, opened.shellEffects).Reasons; len(reasons) > 0 {
		b.WriteString("\nnot read-only because:\n- " + strings.Join(reasons, "\n- ") + "\n")
	}
	d.Detail = b.String()
	return d
}

// exactCommand returns what a grant of this exact command covers: the text, and everything that
// changes its meaning.
func exactCommand(in shellIn, dir string) string {
	exact := in.Command
	if dir != "." {
		quoted, err := syntax.Quote(dir, syntax.LangBash)
		if err != nil {
			quoted = fmt.Sprintf("%q", dir)
		}
		exact = "cd " + quoted + " && " + exact
	}
	if in.Interactive {
		exact += " # with input open"
	}
	return exact
}
