package coding

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

type shellOutputIn struct {
	ID          int    `json:"id,omitempty" jsonschema:"minimum=0" jsonschema_description:"background process; without it the processes are listed"`
	WaitSeconds int    `json:"wait_seconds,omitempty" jsonschema:"minimum=0" jsonschema_description:"how long to wait for new output or the end; default 0"`
	Until       string `json:"until,omitempty" jsonschema_description:"regular expression: wait until the new output matches it, such as 'listening on|error'"`
}

// quiet is the time without output after which a process's output is considered complete.
const quiet = 250 * time.Millisecond

func procResource(id int) string { return fmt.Sprintf("proc:%d", id) }

func (w *Workspace) shellOutputTool() (agent.Tool, error) {
	return newTool("shell_output", w.shellOutput, toolParts[shellOutputIn]{
		any:      agent.Effects{Known: true},
		effects:  func(in shellOutputIn) agent.Effects { return agent.ReadOnly(procResource(in.ID)) },
		describe: titled(func(in shellOutputIn) string { return fmt.Sprintf("read the output of process %d", in.ID) }),
		opts:     []tools.Option{tools.WithTimeout(-1)},
	})
}

func (w *Workspace) shellOutput(ctx context.Context, in shellOutputIn) (*agent.ToolResult, error) {
	if in.ID == 0 {
		return agent.TextResult(w.listing()), nil
	}
	p, err := w.find(in.ID)
	if err != nil {
		return nil, err
	}
	var until *regexp.Regexp
	if in.Until != "" {
		if until, err = regexp.Compile(in.Until); err != nil {
			return nil, fmt.Errorf("until is no regular expression: %w", err)
		}
		if in.WaitSeconds == 0 {
			in.WaitSeconds = int(w.cfg.Proc.Timeout / time.Second)
		}
	}
	p.readMu.Lock()
	defer p.readMu.Unlock()
	if p.awaitOutput(ctx, min(time.Duration(in.WaitSeconds)*time.Second, w.cfg.Proc.MaxTimeout), until) == waitCanceled {
		// The output stays unread, so that nothing is lost with the call.
		return nil, fmt.Errorf("stopped waiting: %w", context.Cause(ctx))
	}
	if !p.running() {
		defer w.forget(p)
		return w.endedResult(ctx, p), nil
	}
	status := fmt.Sprintf("process %d is still running, since %s", p.id, roundTime(w.cfg.Clock().Sub(p.started)))
	return agent.TextResult(withStatus(p.log.take(ctx, p.logName(), w.keep), status)), nil
}

// awaitOutput waits until the process has ended, until it has printed something and then nothing
// for a moment, or until its output matches until.
func (p *process) awaitOutput(ctx context.Context, limit time.Duration, until *regexp.Regexp) waitResult {
	if limit <= 0 {
		return waitTimeout
	}
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		changed, n := p.log.more()
		var still <-chan time.Time
		if until != nil {
			if n > 0 && until.MatchString(p.log.peek()) {
				return waitEnded
			}
		} else if n > 0 {
			still = time.After(quiet)
		}
		select {
		case <-p.p.Done():
			return waitEnded
		case <-ctx.Done():
			return waitCanceled
		case <-timeout.C:
			return waitTimeout
		case <-still:
			return waitEnded
		case <-changed:
			if until != nil {
				// For a process that prints endlessly, not every piece is matched.
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}
	}
}

// listing lists the background processes.
func (w *Workspace) listing() string {
	w.procs.mu.Lock()
	var all []*process
	for _, p := range w.procs.table {
		all = append(all, p)
	}
	w.procs.mu.Unlock()
	if len(all) == 0 {
		return "no process runs in the background"
	}
	slices.SortFunc(all, func(a, b *process) int { return a.id - b.id })
	var b strings.Builder
	b.WriteString("background processes:")
	for _, p := range all {
		state := "running since " + roundTime(w.cfg.Clock().Sub(p.started)).String()
		if !p.running() {
			state = exitWords(p.p.Wait())
		}
		_, unread := p.log.more()
		fmt.Fprintf(&b, "\n%d: %s [%s, %s unread]", p.id, strings.TrimPrefix(p.logName(), "output of "), state, show.Size(unread))
	}
	return b.String()
}

type shellInputIn struct {
	ID    int    `json:"id" jsonschema:"minimum=1" jsonschema_description:"background process"`
	Text  string `json:"text,omitempty" jsonschema_description:"what to send; end it with a newline where the program waits for one"`
	Close bool   `json:"close,omitempty" jsonschema_description:"end the input after it, as Ctrl-D does"`
}

// inputPatience is the time limit for a program to read its input.
const inputPatience = 10 * time.Second

func (w *Workspace) shellInputTool() (agent.Tool, error) {
	unknown := agent.Effects{Flags: agent.EffectExec, Reasons: []string{"what a running program does with its input is not known"}}
	return newTool("shell_input", w.shellInput, toolParts[shellInputIn]{
		any: unknown,
		effects: func(in shellInputIn) agent.Effects {
			e := unknown
			e.Writes = []string{procResource(in.ID)}
			return e
		},
		describe: func(in shellInputIn) agent.CallDescription {
			d := w.place(agent.CallDescription{Title: fmt.Sprintf("send to process %d: %s", in.ID, show.Line(in.Text, 80)), Detail: in.Text}, "")
			if p, err := w.find(in.ID); err == nil {
				d.Detail = "$ " + p.command + "\n" + in.Text
			}
			return d
		},
	})
}

func (w *Workspace) shellInput(ctx context.Context, in shellInputIn) (string, error) {
	p, err := w.find(in.ID)
	if err != nil {
		return "", err
	}
	switch {
	case !p.input:
		return "", fmt.Errorf("process %d has no open input; start the command with \"interactive\": true", in.ID)
	case in.Text == "" && !in.Close:
		return "", errors.New("there is nothing to send; give text, or close to end the input")
	case !p.running():
		return "", fmt.Errorf("process %d has ended; shell_output says how", in.ID)
	}
	sent := make(chan error, 1)
	// If a program does not read its input, the write blocks until the program ends; the call does
	// not wait for that.
	if !w.procs.spawn(func() { sent <- p.send(in) }) {
		return "", errClosed
	}
	timer := time.NewTimer(inputPatience)
	defer timer.Stop()
	select {
	case err := <-sent:
		if err != nil {
			return "", fmt.Errorf("process %d did not take the input: %w; shell_output says whether it has ended", in.ID, err)
		}
	case <-ctx.Done():
		return "", fmt.Errorf("process %d has not read all of the input yet: %w", in.ID, context.Cause(ctx))
	case <-timer.C:
		return "", fmt.Errorf("process %d has not read all of the input within %v; it gets the rest when it reads on. shell_output says what it does", in.ID, inputPatience)
	}
	return fmt.Sprintf("Sent %d bytes to process %d. shell_output with {\"id\": %d, \"wait_seconds\": 5} reads the answer.", len(in.Text), in.ID, in.ID), nil
}

func (p *process) send(in shellInputIn) error {
	p.inputMu.Lock()
	defer p.inputMu.Unlock()
	if in.Text != "" {
		if _, err := p.p.Write([]byte(in.Text)); err != nil {
			return err
		}
	}
	if in.Close {
		return p.p.CloseStdin()
	}
	return nil
}

type shellKillIn struct {
	ID     int    `json:"id" jsonschema:"minimum=1" jsonschema_description:"background process"`
	Signal string `json:"signal,omitempty" jsonschema:"enum=TERM,enum=INT,enum=HUP,enum=KILL" jsonschema_description:"default TERM: asks to stop, then kills. INT and HUP are only sent: the process may go on"`
}

func (w *Workspace) shellKillTool() (agent.Tool, error) {
	return newTool("shell_kill", w.shellKill, toolParts[shellKillIn]{
		any: agent.Effects{Known: true, Flags: agent.EffectKill, Reasons: []string{"ends a process that the shell tool started"}},
		effects: func(in shellKillIn) agent.Effects {
			return agent.Effects{Known: true, Writes: []string{procResource(in.ID)}, Flags: agent.EffectKill,
				Reasons: []string{"ends a process that the shell tool started"}}
		},
		describe: func(in shellKillIn) agent.CallDescription {
			return w.place(agent.CallDescription{Title: fmt.Sprintf("kill process %d", in.ID)}, "")
		},
		opts: []tools.Option{tools.WithTimeout(-1)},
	})
}

func (w *Workspace) shellKill(ctx context.Context, in shellKillIn) (*agent.ToolResult, error) {
	p, err := w.find(in.ID)
	if err != nil {
		return nil, err
	}
	if sig := map[string]syscall.Signal{"INT": syscall.SIGINT, "HUP": syscall.SIGHUP}[in.Signal]; sig != 0 && p.running() {
		if err := p.p.Signal(sig); err != nil {
			return nil, err
		}
		return agent.TextResult(fmt.Sprintf("SIG%s was sent to process %d. shell_output with {\"id\": %d, \"wait_seconds\": 5} says whether it ended.", in.Signal, in.ID, in.ID)), nil
	}
	if in.Signal == "KILL" && p.running() {
		_ = p.p.Signal(syscall.SIGKILL)
	}
	// Kill everything it started as well, not only the process: for a tree whose root is already
	// gone there is nothing left to find.
	if err := p.p.Kill(); err != nil {
		return nil, err
	}
	p.readMu.Lock()
	defer p.readMu.Unlock()
	defer w.forget(p)
	return w.endedResult(ctx, p), nil
}
