package coding

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// Config configures a [Workspace]. The zero value works.
type Config struct {
	// Only lists the tools to offer; empty means all of them.
	Only []string
	// Without lists tools to leave out.
	Without []string

	// Artifacts keeps texts that are too long to show; the read_artifact tool reads them back. Nil
	// keeps them in a temporary directory while the workspace is open.
	Artifacts agent.ArtifactStore
	// Index answers the search tool, which is offered only if Index is set; repo_map and symbols
	// use the features in its [IndexFeatures]. luthier.CodingIndex creates one from a retrieval
	// index. The host closes it, after the workspace.
	Index Index
	// Ask asks a person a question of the model. Nil means that nobody is there, and the model
	// receives that answer.
	Ask QuestionFunc
	// MemoryDir is the directory for the notes that the model keeps from one session to the next,
	// one file per workspace. Empty means .luthier in the workspace itself, where people can read
	// and commit them.
	MemoryDir string
	// Ripgrep is the rg program that grep runs. Empty means the one on PATH, or the built-in search
	// if there is none; "none" means the built-in search.
	Ripgrep string
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
	// Limits limit what the tools read, write and show.
	Limits Limits

	// Reviewed says that the directory is a private copy, such as a fork, whose changes are
	// reviewed before they reach the host's files. Otherwise write, edit, apply_patch and shell
	// have [agent.EffectObeyed] if they write what something later obeys or executes, so that the
	// standard rules ask. In a [Tree] such files are known by their names and contents only, so set
	// Reviewed unless the tree is a directory in place.
	Reviewed bool

	// Proc configures the tools that run programs.
	Proc ProcConfig
}

// A Workspace is a directory with the tools that work in it. It may be shared by any number of
// agents and is safe for concurrent use.
type Workspace struct {
	cfg       Config
	dir       string   // absolute, as given
	name      string   // dir without symbolic links, or the tree's name: text, if onHost is not set
	id        string   // of the tree; in place the same as name
	onHost    bool     // name is a directory of this machine
	top       *os.Root // of that directory; nil if it is opened by tree
	tree      Tree
	folds     bool // the file system treats A and a as the same name
	locks     pathLocks
	views     viewStore
	sweeps    sweeper
	grepPiece int
	rgSilence time.Duration                 // how long ripgrep may print nothing
	fault     func(step, path string) error // for tests: called before every step of a write
	procs     procState
	decided   decisions

	closeOnce sync.Once
	closeErr  error
}

// Open opens the directory dir, which must exist. If cfg is invalid, the error names the field.
func Open(dir string, cfg Config) (*Workspace, error) {
	w, err := open(dir, cfg)
	if err != nil {
		return nil, fmt.Errorf("coding: open workspace %s: %w", dir, err)
	}
	return w, nil
}

func open(dir string, cfg Config) (*Workspace, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, errors.New("the directory is empty; name one, such as \".\"")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, err
	}
	root, err := regular.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	w := &Workspace{dir: abs, name: real, id: real, onHost: true, top: root}
	w.complete(cfg)
	w.folds = foldsCase(root)
	opened{w, root}.recover()
	return w, nil
}

// complete sets the fields that every workspace has. cfg is complete.
func (w *Workspace) complete(cfg Config) {
	w.cfg, w.grepPiece, w.rgSilence = cfg, grepPiece, rgSilence
	w.views.limit = cfg.Limits.ShownBytes
}

// complete fills in defaults and returns an error that names the first invalid field.
func (c *Config) complete() error {
	for _, f := range []struct {
		name  string
		names []string
	}{{"Only", c.Only}, {"Without", c.Without}} {
		for _, n := range f.names {
			if all := toolNames(); !slices.Contains(all, n) {
				return fmt.Errorf("Config.%s: no tool is named %q; the tools are %s", f.name, n, strings.Join(all, ", "))
			}
		}
	}
	if c.MemoryDir != "" {
		abs, err := filepath.Abs(c.MemoryDir)
		if err != nil {
			return fmt.Errorf("Config.MemoryDir: %w", err)
		}
		c.MemoryDir = abs
	}
	if err := c.completeRipgrep(); err != nil {
		return fmt.Errorf("Config.Ripgrep: %w", err)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if err := c.Limits.complete(); err != nil {
		return fmt.Errorf("Config.Limits.%w", err)
	}
	if err := c.Proc.complete(); err != nil {
		return fmt.Errorf("Config.Proc.%w", err)
	}
	return nil
}

// Dir returns the absolute path of the directory, without symbolic links. Of a tree it returns the
// name, by which no file can be opened.
func (w *Workspace) Dir() string { return w.name }

// Close stops everything that the tools have started and releases the directory. Closing twice is
// harmless.
func (w *Workspace) Close() error {
	w.closeOnce.Do(func() {
		w.closeErr = w.procClose()
		if w.top != nil {
			w.closeErr = errors.Join(w.closeErr, w.top.Close())
		}
	})
	return w.closeErr
}

// QuestionFunc asks a person a question of the model and returns the answer. It may take any time
// and must return when ctx ends. An [agent.AskFunc] answers another kind of question: whether a
// call may run.
type QuestionFunc func(ctx context.Context, q Question) (string, error)

// AskFunc is the old name of QuestionFunc.
//
// Deprecated: use [QuestionFunc].
type AskFunc = QuestionFunc

// Question is a question that a model asks a person.
type Question struct {
	Text    string
	Options []string // answers to choose from; the person may give a different one
}
