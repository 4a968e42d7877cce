package luthier

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/checkpoint"
	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding"
)

// ToolboxOptions say what a [Toolbox] offers. The zero value offers the coding tools.
type ToolboxOptions struct {
	Only    []string     // names of the coding tools to offer; empty means all
	Without []string     // names of coding tools to leave out
	Tools   []agent.Tool // further tools
	NoIndex bool         // leaves out the search and repo_map tools
	// GitDir returns the repository with the history of a sandbox's workspace, which search uses to
	// rank. Neither commands nor clients may be able to write it. Nil, or an empty name, means that
	// there is none; a workspace in place uses its own.
	GitDir func(sb sandbox.Sandbox) string
	// StateDir is where the index, the checkpoints and long outputs are kept, each toolbox in a
	// folder of its own that is removed with it. Empty means the directory for temporary files.
	StateDir string
	Logger   *slog.Logger // receives warnings; nil is silent
	// Customize, if set, may change the configuration of the coding tools. A tool asks the person
	// at the agent with the configuration's Ask.
	Customize func(*coding.Config)
}

// ServeTools returns what remote.Config.Tools and remote.PipeConfig.Tools need to serve the coding
// tools:
//
//	srv, err := remote.NewServer(remote.Config{…, Tools: luthier.ServeTools(luthier.ToolboxOptions{})})
//
// Agents work there with [Remote] and [Command].
func ServeTools(o ToolboxOptions) func(ctx context.Context, sb sandbox.Sandbox) (remote.Toolbox, error) {
	return func(ctx context.Context, sb sandbox.Sandbox) (remote.Toolbox, error) { return Toolbox(ctx, sb, o) }
}

// Toolbox opens the coding tools over a sandbox of this machine, for agents on another. It has
// checkpoints, an index and the instructions of the workspace too. Tools that belong to a session
// (todo, plan, ask_user, agent, read_artifact) stay at the agent.
func Toolbox(ctx context.Context, sb sandbox.Sandbox, o ToolboxOptions) (remote.Toolbox, error) {
	b := &toolbox{box: sb, sessions: standIns{byID: map[string]*agent.Session{}}}
	if err := b.open(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("luthier: open toolbox: %w", err), b.Close())
	}
	return b, nil
}

// toolbox implements [remote.Toolbox] and its abilities.
type toolbox struct {
	on       ground
	box      sandbox.Sandbox
	state    string // removed at the end
	work     *coding.Workspace
	registry *tools.Registry
	store    *checkpoint.Store
	index    *retrieval.Index
	files    agent.Instructions
	told     coding.Index // learns what changed; nil without one
	specs    json.RawMessage
	sessions standIns
	closing  sync.Once
	closeErr error
}

func (b *toolbox) open(ctx context.Context, o ToolboxOptions) error {
	if b.box == nil {
		return errors.New("the sandbox is nil")
	}
	var err error
	if b.on, err = boxGround(ctx, b.box); err != nil {
		return err
	}
	if o.StateDir != "" {
		if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
			return err
		}
	}
	if b.state, err = os.MkdirTemp(o.StateDir, "luthier-toolbox-*"); err != nil {
		return err
	}
	artifacts, err := tools.NewDirStore(filepath.Join(b.state, "artifacts"))
	if err != nil {
		return err
	}
	if b.store, err = b.on.checkpoints(b.state); err != nil {
		return err
	}
	cfg := coding.Config{Only: o.Only, Without: o.Without, Artifacts: sentStore{artifacts}, Ask: askClient,
		Reviewed: b.on.tree != nil, Proc: coding.ProcConfig{Sandbox: b.box}}
	if !o.NoIndex {
		cfg.Index = CodingIndexLater(sync.OnceValues(func() (_ *retrieval.Index, err error) {
			x := retrieval.Config{Background: true, Watch: true, CacheDir: filepath.Join(b.state, "index"), Logger: o.Logger}
			if o.GitDir != nil && b.on.tree != nil {
				x.GitDir = o.GitDir(b.box)
			}
			b.index, err = b.on.index(context.WithoutCancel(ctx), x)
			return b.index, err
		}))
	}
	if o.Customize != nil {
		o.Customize(&cfg)
	}
	if b.told = cfg.Index; cfg.Index != nil {
		cfg.Index.Features().State() // begins to index
	}
	if b.work, err = b.on.tools(cfg); err != nil {
		return err
	}
	b.files = b.on.instructions()
	return b.offer(o.Tools, cfg.Index != nil)
}

// offer makes the tools, and the specs of them.
func (b *toolbox) offer(more []agent.Tool, indexed bool) error {
	list, err := b.work.Tools()
	if err != nil {
		return err
	}
	iso := b.box.Isolation()
	specs := farSpecs{Version: farVersion, Box: rand.Text(), Name: b.on.name(), ID: b.id(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Isolation: "no isolation", Sandboxed: iso.Tier > sandbox.TierNone, Indexed: indexed}
	if specs.Sandboxed {
		specs.Isolation = "sandbox (" + iso.Tier.String() + ")"
	}
	var mine []agent.Tool
	for i, t := range append(list, more...) {
		s := t.Spec()
		if i < len(list) && slices.Contains(atClient, s.Name) {
			specs.Tools = append(specs.Tools, farSpec{Name: s.Name, AtClient: true})
			continue
		}
		mine = append(mine, t)
		specs.Tools = append(specs.Tools, farSpec{Name: s.Name, Description: s.Description, Schema: s.Schema, Effects: farEffects(s.Effects),
			Timeout: s.Timeout, Writes: i < len(list) && slices.Contains(alwaysWrites, s.Name), Extra: i >= len(list)})
	}
	if b.registry, err = tools.NewRegistry(mine...); err != nil {
		return err
	}
	b.specs, err = json.Marshal(specs)
	return err
}

func (b *toolbox) id() string {
	if b.on.tree != nil {
		return b.on.tree.ID()
	}
	return b.on.dir
}

// boxGround returns the ground that a sandbox of this machine is over.
func boxGround(ctx context.Context, box sandbox.Sandbox) (ground, error) {
	if d, ok := sandbox.As[sandbox.Differ](box); ok {
		if _, err := d.Changes(ctx); errors.Is(err, sandbox.ErrInPlace) {
			dir, err := realDir(box.Dir())
			return ground{dir: dir}, err
		}
	}
	w, err := openBox(ctx, box, place{kind: ofBox})
	if err != nil {
		return ground{}, err
	}
	return w.ground(), nil
}

// Specs implements [remote.Toolbox].
func (b *toolbox) Specs(context.Context) (json.RawMessage, error) { return b.specs, nil }

// Close implements [remote.Toolbox].
func (b *toolbox) Close() error {
	b.closing.Do(func() { b.closeErr = b.close() })
	return b.closeErr
}

func (b *toolbox) close() error {
	var errs []error
	if b.work != nil {
		errs = append(errs, b.work.Close())
	}
	if b.index != nil {
		errs = append(errs, b.index.Close())
	}
	if b.store != nil {
		errs = append(errs, b.store.Close())
	}
	if b.on.tree != nil {
		errs = append(errs, b.on.tree.Close())
	}
	if b.state != "" {
		errs = append(errs, os.RemoveAll(b.state))
	}
	return errors.Join(errs...)
}
