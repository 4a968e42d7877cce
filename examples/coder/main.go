// Command coder is an interactive coding agent for the terminal.
//
//	go run ./examples/coder [-dir DIR] [-model NAME] [-base-url URL] [-resume [-session ID]] [-auto LEVEL] [-unprotect NAME,...] [-p PROMPT]
//	coder [-snapshot | -commit REF | -remote URL | -exec COMMAND] [-export HOW] …
//	coder toolhost [-root DIR] [-no-sandbox] [-unprotect NAME,...]
//
// It talks to any OpenAI-compatible server (-base-url, such as http://localhost:8080/v1 for a local
// one) or to Anthropic's API (a -model that begins with "claude", or -provider anthropic), or runs
// a -model that is a GGUF file itself. Programs run in a sandbox over the workspace in which .git
// and other things that this machine acts on later are read-only; commits need -unprotect .git.
// Keys come from OPENAI_API_KEY and ANTHROPIC_API_KEY. With -p, or when the standard input is not a
// terminal, it does one task and exits; the output is plain when it does not go to a terminal.
//
// With -snapshot or -commit the agent works on a copy of the directory or of a commit, and with
// -remote on a copy on an environment server (its token comes from LUTHIER_TOKEN). The directory
// stays as it is until /export, or -export, takes the changes over. With -exec it works in place on
// the other side of a command that runs "coder toolhost" there:
//
//	coder -exec 'docker exec -i ID coder toolhost -root /work'
//	coder -exec 'ssh HOST coder toolhost -root src/app'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/anthropic"
	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/openai"
	"github.com/luthier-dev/luthier/sandbox"
)

type options struct {
	dir, model, baseURL, provider, auto, prompt, session, state string
	unprotect                                                   string
	resume, noSandbox, subAgents                                bool
	snapshot                                                    bool
	commit, remote, exec, export                                string
}

func main() {
	sandbox.Init()
	if len(os.Args) > 1 && os.Args[1] == "toolhost" {
		if err := toolhost(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "coder toolhost:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.StringVar(&o.dir, "dir", ".", "the workspace")
	flag.StringVar(&o.model, "model", "gpt-5", "the model's name, or a GGUF file to run here")
	flag.StringVar(&o.baseURL, "base-url", "", "address of an OpenAI-compatible server (or, with -provider anthropic, of one that speaks the Messages API)")
	flag.StringVar(&o.provider, "provider", "", "openai, anthropic or moe (a file); empty goes by the model's name")
	flag.StringVar(&o.auto, "auto", "", "what runs without asking: ask, read-only, edit, dry or sandboxed (default ask on a terminal, sandboxed with -p)")
	flag.StringVar(&o.prompt, "p", "", "do this one task and exit")
	flag.BoolVar(&o.resume, "resume", false, "go on with the last session, or with -session")
	flag.StringVar(&o.session, "session", "", "the id of the session to resume")
	flag.StringVar(&o.state, "state", "", "where sessions and checkpoints are kept (default: below the user's cache directory)")
	flag.BoolVar(&o.noSandbox, "no-sandbox", false, "run programs as plain processes of this machine")
	flag.StringVar(&o.unprotect, "unprotect", "", "comma-separated `names` in the workspace that programs may change although this machine acts on them later, such as .git for commits")
	flag.BoolVar(&o.subAgents, "sub-agents", false, "let the model give tasks to sub-agents")
	flag.BoolVar(&o.snapshot, "snapshot", false, "work on a copy of the directory")
	flag.StringVar(&o.commit, "commit", "", "work on a copy of this `commit` of the directory's repository, such as HEAD")
	flag.StringVar(&o.remote, "remote", "", "work on a copy of the directory on the environment server at this `URL`; the token is in LUTHIER_TOKEN")
	flag.StringVar(&o.exec, "exec", "", "work on the other side of a `command` that runs coder toolhost, such as 'docker exec -i ID coder toolhost'")
	flag.StringVar(&o.export, "export", "", "`what` becomes of the changes in a copy at the end: dir, patch=FILE, branch=NAME or drop")
	flag.Parse()
	if err := run(o, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "coder:", err)
		os.Exit(1)
	}
}

func run(o options, stdin *os.File, stdout *os.File) error {
	model, err := newModel(o)
	if err != nil {
		return err
	}
	if c, ok := model.(io.Closer); ok {
		defer c.Close()
	}
	interactive := o.prompt == "" && term.IsTerminal(int(stdin.Fd()))
	u := newUI(stdout, term.IsTerminal(int(stdout.Fd())))
	if !interactive && o.prompt == "" {
		text, err := io.ReadAll(io.LimitReader(stdin, 1<<20))
		if err != nil {
			return err
		}
		o.prompt = string(text)
	}
	level, err := autonomy(o.auto, interactive)
	if err != nil {
		return err
	}
	opts := luthier.Options{Model: model, Autonomy: level, NoSandbox: o.noSandbox, StateDir: o.state}
	if o.subAgents {
		opts.SubAgents = luthier.Shared
	}
	if o.unprotect != "" {
		box, err := unprotected(o)
		if err != nil {
			return err
		}
		defer box.Close()
		opts.Sandbox = box
	}
	place, err := o.openWorkspace()
	if err != nil {
		return err
	}
	dir := o.dir
	if place != nil {
		defer place.Close()
		opts.Workspace, dir = place, ""
	}
	app := &app{ui: u, place: place, copied: o.copied()}
	if interactive {
		app.lines = readLines(stdin)
		opts.Ask, opts.Question = app.ask, app.question
	}
	opts.Middleware = []agent.Middleware{app.preview}
	if app.coder, err = luthier.New(context.Background(), dir, opts); err != nil {
		return err
	}
	defer app.coder.Close()
	if err := app.openSession(o); err != nil {
		return err
	}
	defer func() { app.session.Close() }()
	if interactive {
		err = app.interact()
	} else {
		err = app.once(o.prompt)
	}
	if o.export != "" && !app.exported {
		err = errors.Join(err, app.export(context.Background(), o.export))
	}
	return err
}

// unprotected opens the sandbox of -unprotect.
func unprotected(o options) (sandbox.Sandbox, error) {
	if o.noSandbox {
		return nil, errors.New("-unprotect is for the sandbox, which -no-sandbox leaves out; give one of them")
	}
	return sandbox.Local(context.Background(), sandbox.Config{Dir: o.dir, Unprotect: names(o.unprotect)})
}

// once does one task.
func (a *app) once(prompt string) error {
	if strings.TrimSpace(prompt) == "" {
		return errors.New("no task: give one with -p or on the standard input")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	res, err := a.play(a.coder.Run(ctx, a.session, agent.Text{Text: prompt}))
	if err != nil {
		return err
	}
	if res.Stop != agent.StopDone {
		return fmt.Errorf("stopped early: %s", res.Detail)
	}
	return nil
}

func newModel(o options) (agent.Model, error) {
	provider := o.provider
	if provider == "" {
		provider = "openai"
		switch {
		case strings.HasSuffix(o.model, ".gguf"):
			provider = "moe"
		case strings.HasPrefix(o.model, "claude") && o.baseURL == "":
			provider = "anthropic"
		}
	}
	switch provider {
	case "openai":
		return openai.New(openai.Config{Model: o.model, BaseURL: o.baseURL})
	case "anthropic":
		return anthropic.New(anthropic.Config{Model: o.model, BaseURL: o.baseURL})
	case "moe":
		return moe.Load(o.model, moe.Config{})
	}
	return nil, fmt.Errorf("-provider %q: use openai, anthropic or moe", provider)
}

func autonomy(name string, interactive bool) (agent.Autonomy, error) {
	if name == "" {
		name = "sandboxed"
		if interactive {
			name = "ask"
		}
	}
	levels := map[string]agent.Autonomy{"ask": agent.AutonomyAsk, "read-only": agent.AutonomyReadOnly, "edit": agent.AutonomyEdit, "sandboxed": agent.AutonomySandboxed, "dry": agent.AutonomyDry}
	level, ok := levels[name]
	if !ok {
		return 0, fmt.Errorf("-auto %q: use ask, read-only, edit, dry or sandboxed", name)
	}
	return level, nil
}

func (a *app) openSession(o options) error {
	var err error
	if !o.resume && o.session == "" {
		a.session, err = a.coder.NewSession()
		return err
	}
	var rec *agent.Recovery
	if a.session, rec, err = a.coder.Resume(o.session); err != nil {
		return err
	}
	a.ui.recovered(a.session, rec)
	return nil
}
