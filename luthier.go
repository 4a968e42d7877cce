package luthier

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/checkpoint"
	"github.com/luthier-dev/luthier/compaction"
	"github.com/luthier-dev/luthier/retrieval"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding"
)

// The instructions of the agent: its role, and what applies to its workspace, its sandbox and its
// index.
var (
	//go:embed prompt.md
	basePrompt string
	//go:embed prompt_workspace.md
	workspacePrompt string
	//go:embed prompt_sandbox.md
	sandboxPrompt string
	//go:embed prompt_index.md
	indexPrompt string
)

// Options say how [New] wires an agent. Only Model is required; every other field has a working
// zero value.
type Options struct {
	Model agent.Model // answers; required

	// Autonomy sets how much runs without asking. The zero value lets the agent read and asks about
	// everything else; agent.AutonomySandboxed suits unattended work. With agent.AutonomyDry a
	// command that may change something runs in a trial over the workspace; then Ask is shown what
	// it changed, and decides whether that is kept.
	Autonomy agent.Autonomy
	Ask      agent.AskFunc       // answers permission questions; nil refuses what Autonomy does not allow
	Question coding.QuestionFunc // answers the model's own questions; nil answers that nobody is there

	System     string       // further instructions, after the built-in ones and the workspace's AGENTS.md
	Tools      []agent.Tool // further tools
	Only       []string     // names of the coding tools to offer; empty means all
	Without    []string     // names of coding tools to leave out
	SubAgents  SubAgents    // Shared or Forked offers the agent tool, which delegates tasks to sub-agents
	Middleware []agent.Middleware
	Logger     *slog.Logger // receives warnings and, at debug level, every step of a run; nil is silent

	// Policy decides on every call instead of the rules of Autonomy, which agent.StandardRules
	// returns; nil means those.
	Policy agent.Policy
	// Limits end a run. SessionLimits end the runs of a session when all of them together have
	// spent so much; a session made by NewSessionWith can have its own.
	Limits        agent.Limits
	SessionLimits agent.SessionLimits
	// Prices holds the prices of models by exact name; nil means agent.DefaultPrices. A limit in
	// money needs a price, unless AllowUnpriced lets calls without one count as free.
	Prices        agent.Prices
	AllowUnpriced bool
	Retry         agent.Retry  // what to do if the model fails or its answer is unusable
	Effort        agent.Effort // how much the model reasons; empty leaves it to the backend
	// Output asks for a final answer in JSON, which is checked; tools.Output makes one of a Go
	// type.
	Output *agent.OutputSchema
	// Verify checks the work when the model says that it is done, for instance by running the
	// tests. If the feedback is not empty, the model receives it and continues, at most
	// Limits.Verifications times. Nil accepts every answer.
	Verify func(ctx context.Context, s *agent.Session) (feedback string, err error)

	// Workspace is where the agent works, if that is not a directory in place: a snapshot, a
	// commit, a fork, a sandbox of the host's or another machine. See [Open]. The host closes it,
	// after the Coder.
	Workspace Workspace
	// Sandbox runs programs over the directory in place. It must work on the same files: New
	// refuses a snapshot, a fork, a copy and a sandbox on another machine, for which there is
	// Workspace. Nil opens one. NoSandbox runs programs as plain processes instead, for hosts that
	// are themselves a sandbox.
	Sandbox   sandbox.Sandbox
	NoSandbox bool

	// Index finds code for the search and repo_map tools. Nil opens one over the workspace; it is
	// built in the background, follows the files and is kept in the state directory. If the host
	// sets Index, the host closes it. NoIndex leaves those tools out.
	Index   *retrieval.Index
	NoIndex bool

	// ContextBudget is the number of tokens of a prompt beyond which the conversation is compacted.
	// 0 means 150,000, or three quarters of the model's context if it declares a smaller one.
	ContextBudget int
	// Compaction says how outputs and conversations are shortened. An empty Model is the agent's,
	// an empty Store is in the state directory.
	Compaction compaction.Config
	// NoCompaction leaves conversations and results unchanged: a prompt that is too long for the
	// model ends the run.
	NoCompaction bool

	// StateDir keeps sessions, checkpoints, the index and long outputs, in one sub-folder per
	// workspace. Empty means "luthier" in the user's cache directory. It must not be inside the
	// workspace.
	StateDir string
	// NoCheckpoints turns off the snapshots that Undo needs.
	NoCheckpoints bool

	// Customize, if set, may change the configuration of the coding tools and of the agent before
	// they are built.
	Customize func(*coding.Config, *agent.Config)
}

// Coder is a coding agent over one workspace. The embedded Agent runs it, and undoes and explains
// what it does.
type Coder struct {
	*agent.Agent
	Workspace *coding.Workspace // the tools; nil over a workspace on another machine
	Sandbox   sandbox.Sandbox   // nil with Options.NoSandbox
	Registry  *tools.Registry   // the tools on offer; the host may add and remove some at run time
	Store     *checkpoint.Store // nil with Options.NoCheckpoints, and over a workspace on another machine
	Index     *retrieval.Index  // nil with Options.NoIndex, when no tool needs it, when it could not be opened, and over a workspace on another machine

	state     string
	on        ground
	kept      *kept // nil in place, and with Options.NoCheckpoints
	used      bool  // a session works with what is kept
	opts      *Options
	told      coding.Index       // learns what changed; nil without one
	undo      agent.Checkpointer // nil for none
	far       *farHost           // over a workspace on another machine
	own       *coding.Workspace  // the tools that stay here then; nil if there are none
	forks     *forks             // with Forked
	ownsBox   bool
	ownsIndex bool
}

// New wires a coding agent over the directory dir, or over Options.Workspace with an empty dir. The
// caller must close it. With a sandbox (the default) the program must call [sandbox.Init] first
// thing in main.
func New(ctx context.Context, dir string, opts Options) (*Coder, error) {
	if opts.Model == nil {
		return nil, errors.New("luthier: new: Options.Model is nil; set it to a backend such as router/openai or router/anthropic")
	}
	on, err := groundOf(dir, &opts)
	if err != nil {
		return nil, fmt.Errorf("luthier: new: %w", err)
	}
	c := &Coder{on: on, opts: &opts}
	if err := c.open(ctx, &opts); err != nil {
		return nil, errors.Join(fmt.Errorf("luthier: new: %w", err), c.Close())
	}
	return c, nil
}

// realDir returns the absolute path of a directory with symbolic links resolved, so that tools,
// sandbox and checkpoints agree on it.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", err
	}
	st, err := os.Stat(abs)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		return "", fmt.Errorf("%s is not a directory", abs)
	}
	return abs, nil
}

// open builds the parts. Close releases each of them.
func (c *Coder) open(ctx context.Context, opts *Options) error {
	var err error
	if c.state, err = stateDir(opts.StateDir, c.on.label(), c.on.origin()); err != nil {
		return err
	}
	artifacts, err := tools.NewDirStore(filepath.Join(c.state, "artifacts"))
	if err != nil {
		return err
	}
	if err := c.openSandbox(ctx, opts); err != nil {
		return err
	}
	open := c.indexFor(ctx, opts)
	cfg := coding.Config{Only: opts.Only, Without: opts.Without, Artifacts: artifacts, Ask: opts.Question,
		Reviewed: !c.on.inPlace(), Proc: coding.ProcConfig{Sandbox: c.Sandbox}}
	if open != nil {
		cfg.Index = CodingIndexLater(open)
	}
	acfg, err := c.agentConfig(ctx, opts, artifacts, open != nil)
	if err != nil {
		return err
	}
	if !opts.NoCheckpoints {
		if err = c.openCheckpoints(); err != nil {
			return err
		}
		acfg.Checkpointer = c.undo
	}
	if c.on.far != nil {
		c.far = &farHost{on: c.on.far, artifacts: artifacts, ask: opts.Question}
		acfg.Middleware = append(acfg.Middleware, c.far.again)
	}
	if opts.SubAgents != NoSubAgents {
		cfg.Proc.Agent = &agent.Config{Model: opts.Model}
	}
	compact(opts, artifacts, &acfg)
	offered := cfg.Index
	if opts.Customize != nil {
		opts.Customize(&cfg, &acfg)
	}
	if err := c.checkTree(ctx, cfg.Proc.Sandbox); err != nil {
		return err
	}
	if opts.dry() && cfg.Proc.Sandbox != nil {
		acfg.Ask = oneAtATime(acfg.Ask)
		cfg.Proc.Trial = askAfterTrial(acfg.Ask)
		if c.far != nil {
			c.far.trial = cfg.Proc.Trial
		}
	}
	c.told = cfg.Index
	more := opts.Tools
	if opts.SubAgents == Forked {
		adopt, err := c.forkedSubAgents(&cfg, opts)
		if err != nil {
			return err
		}
		more = append(slices.Clone(more), adopt)
	}
	if err := c.wire(cfg, acfg, more); err != nil {
		return err
	}
	if open != nil && cfg.Index == offered {
		c.openIndex(open, opts)
	}
	return nil
}

// wire puts the tools into a registry, and the registry into an agent.
func (c *Coder) wire(cfg coding.Config, acfg agent.Config, more []agent.Tool) error {
	var err error
	main, sub := &offered{more: acfg.ToolSource}, &offered{static: acfg.Tools, more: acfg.ToolSource}
	cfg.Proc.Agent = subAgents(cfg.Proc.Agent, &acfg, sub)
	ts, err := c.codingTools(cfg)
	if err != nil {
		return err
	}
	if c.Registry, err = tools.NewRegistry(append(ts, more...)...); err != nil {
		return err
	}
	main.registry, sub.registry = c.Registry, c.Registry
	acfg.ToolSource = main
	c.Agent, err = agent.New(acfg)
	return err
}

// codingTools opens the coding tools.
func (c *Coder) codingTools(cfg coding.Config) (ts []agent.Tool, err error) {
	if c.far != nil {
		if c.opts.NoIndex {
			cfg.Without = append(slices.Clone(cfg.Without), indexTools...)
		}
		c.own, ts, err = c.far.farTools(c.state, cfg)
		return ts, err
	}
	if c.Workspace, err = c.on.tools(cfg); err != nil {
		return nil, err
	}
	return c.Workspace.Tools()
}

func (c *Coder) openSandbox(ctx context.Context, opts *Options) error {
	if c.Sandbox = opts.Sandbox; c.Sandbox != nil || opts.NoSandbox {
		return nil
	}
	if opts.Workspace != nil {
		c.Sandbox = opts.Workspace.Sandbox()
		return nil
	}
	box, err := sandbox.Local(ctx, sandbox.Config{Dir: c.on.dir})
	if err != nil {
		return fmt.Errorf("%w (Options.NoSandbox runs programs without one)", err)
	}
	c.Sandbox, c.ownsBox = box, true
	return nil
}

// indexTools lists the tools for which an index is opened.
var indexTools = []string{"search", "repo_map"}

// indexFor returns a function that opens the index, or nil if no tool would use one.
func (c *Coder) indexFor(ctx context.Context, opts *Options) func() (*retrieval.Index, error) {
	if opts.NoIndex || c.on.far != nil || !slices.ContainsFunc(indexTools, opts.offers) {
		return nil
	}
	return sync.OnceValues(func() (*retrieval.Index, error) {
		if opts.Index != nil {
			return opts.Index, nil
		}
		return c.on.index(ctx, c.indexConfig(opts))
	})
}

func (c *Coder) indexConfig(opts *Options) retrieval.Config {
	return retrieval.Config{Background: true, Watch: true, CacheDir: filepath.Join(c.state, "index"), Logger: opts.Logger}
}

// openIndex opens the index last, since the work it starts in the background would slow down
// everything else. An agent also works without an index: a failure is logged, and the tools that
// need the index report it.
func (c *Coder) openIndex(open func() (*retrieval.Index, error), opts *Options) {
	x, err := open()
	if err != nil {
		if opts.Logger != nil {
			opts.Logger.Warn("luthier: open index: search and repo_map will fail", "err", err)
		}
		return
	}
	c.Index, c.ownsIndex = x, opts.Index == nil
}

// dry reports whether commands run in a trial before the host is asked about them.
func (o *Options) dry() bool { return o.Autonomy == agent.AutonomyDry && o.Policy == nil }

func (c *Coder) agentConfig(ctx context.Context, opts *Options, artifacts agent.ArtifactStore, indexed bool) (agent.Config, error) {
	at, err := c.surroundings(ctx)
	if err != nil {
		return agent.Config{}, err
	}
	where := fmt.Sprintf(strings.TrimSpace(workspacePrompt), c.on.name(), at.os, at.arch)
	if at.sandboxed {
		where += " " + strings.TrimSpace(sandboxPrompt)
	}
	if indexed || at.indexed && slices.ContainsFunc(indexTools, opts.offers) {
		where += " " + strings.TrimSpace(indexPrompt)
	}
	system := strings.TrimSpace(basePrompt) + "\n\n" + where
	for _, more := range []string{agent.FormatInstructions(at.instructions), opts.System} {
		if more = strings.TrimSpace(more); more != "" {
			system += "\n\n" + more
		}
	}
	policy := opts.Policy
	if policy == nil {
		policy = agent.StandardRules(opts.Autonomy)
		if opts.dry() {
			policy = dryRules()
		}
	}
	return agent.Config{
		Model: opts.Model, System: system, Policy: policy, Ask: opts.Ask,
		Limits: opts.Limits, SessionLimits: opts.SessionLimits, Prices: opts.Prices, AllowUnpriced: opts.AllowUnpriced,
		Retry: opts.Retry, Effort: opts.Effort, Output: opts.Output, Verify: opts.Verify,
		Logger: opts.Logger, Artifacts: artifacts,
		Middleware: append(at.middleware, opts.Middleware...),
	}, nil
}

// surroundings holds the facts about the workspace for the system prompt.
type surroundings struct {
	os, arch           string
	sandboxed, indexed bool
	instructions       []agent.Instruction
	middleware         []agent.Middleware
}

func (c *Coder) surroundings(ctx context.Context) (s surroundings, err error) {
	if far := c.on.far; far != nil {
		s = surroundings{os: far.specs.OS, arch: far.specs.Arch, sandboxed: far.specs.Sandboxed, indexed: far.specs.Indexed}
		s.instructions, err = far.instructions(ctx, ".") // those of folders come with the results
		return s, err
	}
	files := c.on.instructions()
	s = surroundings{os: runtime.GOOS, arch: runtime.GOARCH, sandboxed: c.Sandbox != nil && c.Sandbox.Isolation().Tier > sandbox.TierNone,
		middleware: []agent.Middleware{files.Nested()}}
	s.instructions, err = files.Find(".")
	return s, err
}

// NewSession creates a session on disk, in the workspace's state directory.
func (c *Coder) NewSession() (*agent.Session, error) {
	return c.NewSessionWith(agent.SessionOptions{})
}

// NewSessionWith creates a session on disk like NewSession, with an id, labels or limits of its
// own. An empty Dir is the workspace.
func (c *Coder) NewSessionWith(opts agent.SessionOptions) (*agent.Session, error) {
	if opts.Dir == "" {
		opts.Dir = c.on.origin()
	}
	if err := c.label(&opts); err != nil {
		return nil, fmt.Errorf("luthier: new session: %w", err)
	}
	return agent.CreateSession(c.SessionDir(), opts)
}

// Sessions lists the workspace's sessions, the most recent first.
func (c *Coder) Sessions() ([]agent.SessionInfo, error) { return agent.ListSessions(c.SessionDir()) }

// Resume opens a session of the workspace by its id, or the most recent one if id is empty. If the
// session's workspace was not in place, it brings this one to the last checkpoint of that: where
// the session left it or, if its process was killed, where it was before the last changes.
func (c *Coder) Resume(id string) (*agent.Session, *agent.Recovery, error) {
	if id == "" {
		infos, err := c.Sessions()
		if err != nil {
			return nil, nil, err
		}
		if len(infos) == 0 {
			return nil, nil, fmt.Errorf("luthier: resume: there is no session of %s yet", c.on.origin())
		}
		id = infos[0].Meta.ID
	}
	if id != filepath.Base(id) {
		return nil, nil, fmt.Errorf("luthier: resume: %q is not a session id", id)
	}
	s, rec, err := agent.OpenSession(filepath.Join(c.SessionDir(), id+".jsonl"), agent.SessionOptions{})
	if err != nil {
		return nil, nil, err
	}
	if err := c.goBack(context.Background(), s.Meta()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("luthier: resume %s: %w", id, err), s.Close())
	}
	return s, rec, nil
}

// SessionDir returns the directory that holds the workspace's sessions.
func (c *Coder) SessionDir() string { return filepath.Join(c.state, "sessions") }

// Dir returns the workspace's absolute path as commands and the model see it.
func (c *Coder) Dir() string { return c.on.name() }

// Close ends the programs that are still running and releases the sandbox. Sessions are closed by
// those who opened them.
func (c *Coder) Close() error {
	var errs []error
	if c.Workspace != nil {
		errs = append(errs, c.Workspace.Close())
	}
	if c.own != nil {
		errs = append(errs, c.own.Close())
	}
	if c.forks != nil {
		errs = append(errs, c.forks.close())
	}
	if c.ownsIndex {
		errs = append(errs, c.Index.Close())
	}
	errs = append(errs, c.closeKept())
	if c.Store != nil {
		errs = append(errs, c.Store.Close())
	}
	if c.ownsBox {
		errs = append(errs, c.Sandbox.Close())
	}
	return errors.Join(errs...)
}

// stateDir returns the workspace's own folder in the state directory, and creates it. workspace is
// its origin: a directory of this machine, or how another machine is reached. name is a path after
// which the folder is named in the latter case.
func stateDir(base, name, workspace string) (string, error) {
	if base == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache directory: %w; set Options.StateDir", err)
		}
		base = filepath.Join(cache, "luthier")
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(workspace, base); err == nil && filepath.IsLocal(rel) {
		return "", fmt.Errorf("Options.StateDir %s is inside the workspace %s, where the agent could change its own records; choose another", base, workspace)
	}
	sum := sha256.Sum256([]byte(workspace))
	if !filepath.IsAbs(workspace) {
		workspace = name
	}
	dir := filepath.Join(base, filepath.Base(workspace)+"-"+hex.EncodeToString(sum[:6]))
	return dir, os.MkdirAll(dir, 0o700)
}
