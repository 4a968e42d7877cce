package luthier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding"
)

// SubAgents says whether and where an agent's sub-agents work. They use the same model, and all
// that the host sets for the agent holds for them too.
type SubAgents uint8

// The kinds of sub-agents.
const (
	NoSubAgents SubAgents = iota // none
	Shared                       // in the agent's own workspace; those that may change something run one after another
	// Forked makes a fork of the workspace for each sub-agent that may change something, so that
	// several work at the same time. The agent reads what each changed, and takes it over with the
	// tool adopt or drops it. The workspace must be one that can be forked; see Options.Workspace.
	Forked
)

// forks are the forks of finished sub-agents that the agent has not decided on yet.
type forks struct {
	of    Workspace
	tools func(ctx context.Context, fork Workspace) (*forkTools, error)

	mu   sync.Mutex
	next int
	open []*finished
}

// finished is a fork whose sub-agent has ended.
type finished struct {
	name    string
	at      Workspace
	changes []sandbox.Change
	diff    string
}

// forkTools are the parts of an agent over one fork.
type forkTools struct {
	tools []agent.Tool
	close func() error
}

// forkPatience limits how long a fork waits for the commands that run in the workspace.
const forkPatience = 2 * time.Minute

// begin makes the fork for one sub-agent.
func (f *forks) begin(ctx context.Context) (*coding.SubFork, error) {
	at, err := forkWhenQuiet(ctx, f.of)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.next++
	name := fmt.Sprintf("fork-%d", f.next)
	f.mu.Unlock()
	parts, err := f.tools(ctx, at)
	if err != nil {
		return nil, errors.Join(err, at.Close())
	}
	return &coding.SubFork{Tools: parts.tools, Done: func(ctx context.Context, r *agent.ToolResult, err error) (*agent.ToolResult, error) {
		err = errors.Join(err, parts.close())
		return f.done(ctx, name, at, r, err)
	}}, nil
}

// forkWhenQuiet forks a workspace as soon as no command runs in it.
func forkWhenQuiet(ctx context.Context, w Workspace) (Workspace, error) {
	ctx, cancel := context.WithTimeout(ctx, forkPatience)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		at, err := w.Fork(ctx)
		if !errors.Is(err, sandbox.ErrBusy) {
			return at, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// done keeps a fork in which something changed, and adds to the sub-agent's result what that is.
func (f *forks) done(ctx context.Context, name string, at Workspace, r *agent.ToolResult, failed error) (*agent.ToolResult, error) {
	changes, diff, err := changesIn(ctx, at)
	if len(changes) == 0 || err != nil || ctx.Err() != nil {
		if err = errors.Join(failed, err, at.Close()); err != nil {
			return nil, err
		}
		r.Parts = append(r.Parts, agent.Text{Text: "\n\nIt changed no file."})
		return r, nil
	}
	fin := &finished{name, at, changes, diff}
	f.mu.Lock()
	f.open = append(f.open, fin)
	f.mu.Unlock()
	if failed != nil {
		r = agent.ErrorResult("the sub-agent failed: %v", failed)
	}
	shown := wholeLines(diff, shownDiff)
	if left := len(diff) - len(shown); left > 0 {
		shown += fmt.Sprintf("[%d bytes of the diff are left out; read the files when the fork is adopted]\n", left)
	}
	r.Parts = append(r.Parts, agent.Text{Text: fmt.Sprintf("\n\nIt worked on %s, which is not part of this workspace yet: call adopt with {\"fork\": %q} to take its changes over, or with \"drop\": true to discard them. It changed %s.\n%s",
		fin.name, fin.name, pathsOf(changes), shown)})
	return r, nil
}

// shownDiff is the most bytes of a diff that an agent is shown.
const shownDiff = 64 << 10

// wholeLines returns as many lines of a text, from its beginning, as fit into most bytes.
func wholeLines(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:strings.LastIndexByte(text[:most], '\n')+1]
}

// changesIn returns what changed in a fork since it was made.
func changesIn(ctx context.Context, fork Workspace) ([]sandbox.Change, string, error) {
	a, ok := sandbox.As[sandbox.Adopter](fork.Sandbox())
	if !ok {
		return nil, "", errCannot("tell what changed")
	}
	changes, err := a.ChangesSince(ctx, sandbox.AtFork)
	if err != nil {
		return nil, "", err
	}
	var diff strings.Builder
	err = a.Diff(ctx, sandbox.AtFork, &diff)
	return changes, sandbox.DiffWithoutGit(diff.String()), err
}

// pathsOf lists the paths of files for a model.
func pathsOf(changes []sandbox.Change) string {
	const most = 30
	var names []string
	for _, c := range changes {
		if !c.Mode.IsDir() && !sandbox.InGit(c.Path) {
			names = append(names, fmt.Sprintf("%s (%s)", c.Path, c.Kind))
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("%d directories, or only the repository", len(changes))
	}
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("%d more", n-most))
	}
	return strings.Join(names, ", ")
}

// find returns a finished fork by its name.
func (f *forks) find(name string) *finished {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fin := range f.open {
		if fin.name == name {
			return fin
		}
	}
	return nil
}

func (f *forks) forget(fin *finished) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = slices.DeleteFunc(f.open, func(o *finished) bool { return o == fin })
}

// close drops all forks.
func (f *forks) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	for _, fin := range f.open {
		err = errors.Join(err, fin.at.Close())
	}
	f.open = nil
	return err
}

// adoptIn are the arguments of the tool adopt.
type adoptIn struct {
	Fork string `json:"fork" jsonschema_description:"the name of the fork, from the result of the sub-agent"`
	Drop bool   `json:"drop,omitempty" jsonschema_description:"discard the changes instead of taking them over"`
}

const adoptDescription = `Takes over what a sub-agent changed on its fork of the workspace, or drops it.

- Read the diff in the sub-agent's result first. Nothing of it is in this workspace before you adopt it.
- Forks are adopted one after another. If a file is different here by now, nothing changes and the files are named: then make those changes yourself, or drop the fork and give the task again.`

// tool returns the tool adopt. changed receives the paths that adopting changed.
func (f *forks) tool(changed func(paths []string)) (agent.Tool, error) {
	run := func(ctx context.Context, in adoptIn) (string, error) {
		fin := f.find(in.Fork)
		if fin == nil {
			return "", fmt.Errorf("there is no %s; open are: %s", in.Fork, f.names())
		}
		if in.Drop {
			f.forget(fin)
			return fin.name + " is dropped; nothing here has changed.", fin.at.Close()
		}
		if err := f.of.Adopt(ctx, fin.at); err != nil {
			return "", fmt.Errorf("%s was not adopted, and nothing here has changed: %w", fin.name, err)
		}
		f.forget(fin)
		changed(effectsOf(fin.changes).Writes)
		return fmt.Sprintf("%s is adopted: %s.", fin.name, pathsOf(fin.changes)), nil
	}
	return tools.New("adopt", adoptDescription, run, tools.WithEffects(agent.Writing(".")), tools.WithCallEffects(f.effects), tools.WithDescribe(f.describe))
}

func (f *forks) names() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, fin := range f.open {
		out = append(out, fin.name)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// effects returns what adopting a fork writes.
func (f *forks) effects(in adoptIn) agent.Effects {
	fin := f.find(in.Fork)
	if fin == nil || in.Drop {
		return agent.Effects{Known: true}
	}
	return effectsOf(fin.changes)
}

// effectsOf returns the effects of taking changes over.
func effectsOf(changes []sandbox.Change) agent.Effects {
	e := agent.Effects{Known: true}
	for _, c := range changes {
		e.Writes = append(e.Writes, c.Path)
		if c.Kind == sandbox.Deleted {
			e.Flags |= agent.EffectDelete
		}
	}
	return e
}

func (f *forks) describe(in adoptIn) agent.CallDescription {
	fin := f.find(in.Fork)
	switch {
	case fin == nil:
		return agent.CallDescription{Title: "adopt " + in.Fork}
	case in.Drop:
		return agent.CallDescription{Title: "drop " + in.Fork}
	}
	return agent.CallDescription{Title: fmt.Sprintf("adopt %s: %d changes", fin.name, len(fin.changes)), Detail: fin.diff, Where: f.of.Name()}
}

// toFork says what to do if a workspace cannot be forked.
const toFork = "set Options.Workspace, for instance to one that Open makes of Snapshot or Commit"

// forkedSubAgents makes the sub-agents of cfg work on forks, and returns the tool adopt.
func (c *Coder) forkedSubAgents(cfg *coding.Config, opts *Options) (agent.Tool, error) {
	if !c.on.forks() {
		return nil, errors.New("Options.SubAgents is Forked, but a directory in place cannot be forked; " + toFork)
	}
	sub := *cfg
	c.forks = &forks{of: c.on.workspace, tools: func(ctx context.Context, at Workspace) (*forkTools, error) {
		return c.overFork(at, sub, opts)
	}}
	cfg.Proc.Fork = c.forks.begin
	return c.forks.tool(c.tell)
}

// tell lets the index know what changed.
func (c *Coder) tell(paths []string) { tellIndex(c.told, paths) }

// tellIndex lets an index know what changed; x may be nil.
func tellIndex(x coding.Index, paths []string) {
	if x == nil || len(paths) == 0 {
		return
	}
	if changed := x.Features().Changed; changed != nil {
		changed(paths...)
	}
}

// overFork opens the coding tools over a fork.
func (c *Coder) overFork(at Workspace, cfg coding.Config, opts *Options) (*forkTools, error) {
	on := at.ground()
	cfg.Proc.Sandbox, cfg.Proc.Agent, cfg.Proc.Fork = at.Sandbox(), nil, nil
	if on.far != nil {
		host := &farHost{on: on.far, artifacts: cfg.Artifacts, ask: opts.Question, trial: cfg.Proc.Trial}
		w, ts, err := host.farTools(c.state, cfg)
		closing := func() error { return nil }
		if w != nil {
			closing = w.Close
		}
		return forkOffer(closing, ts, err, opts)
	}
	var index *retrieval.Index
	if cfg.Index != nil && opts.Index == nil {
		open := sync.OnceValues(func() (x *retrieval.Index, err error) {
			index, err = on.index(context.Background(), c.indexConfig(opts))
			return index, err
		})
		cfg.Index = CodingIndexLater(open)
	} else {
		cfg.Index = nil
	}
	w, err := on.tools(cfg)
	if err != nil {
		return nil, err
	}
	ts, err := w.Tools()
	return forkOffer(func() error {
		err := w.Close()
		if index != nil {
			err = errors.Join(err, index.Close())
		}
		return err
	}, ts, err, opts)
}

// forkOffer joins the tools of a fork with those of the host. If there is an error, it closes them.
func forkOffer(closing func() error, ts []agent.Tool, err error, opts *Options) (*forkTools, error) {
	var offered *tools.Registry
	if err == nil {
		offered, err = tools.NewRegistry(append(ts, opts.Tools...)...)
	}
	if err != nil {
		return nil, errors.Join(err, closing())
	}
	return &forkTools{tools: offered.Tools(), close: closing}, nil
}
