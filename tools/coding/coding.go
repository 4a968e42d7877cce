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
)

// Config says how a [Workspace] behaves. The zero value works.
type Config struct {
	// Only names the tools to offer; empty means all of them.
	Only []string
	// Without names tools to leave out.
	Without []string

	// Artifacts keeps texts that are too long to show; the read_artifact tool reads them back. Nil keeps them in a
	// temporary directory, for as long as the workspace is open.
	Artifacts agent.ArtifactStore
	// Index answers the search tool, which is offered only when it is set, and repo_map when it is a [MapIndex], too; symbols asks a [SymbolIndex].
	// [Retrieval] makes one of an index of this module. The host closes it, after the workspace.
	Index Index
	// Ask puts a question of the model to a person. Nil means that nobody is there, and the model is told so.
	Ask AskFunc
	// MemoryDir is the directory for the notes the model keeps from one session to the next, one file a workspace. Empty
	// means .luthier in the workspace itself, where people can read and commit them.
	MemoryDir string
	// Ripgrep is the rg program that grep runs. Empty means the one on PATH, or the built-in search when there is none;
	// "none" means the built-in search.
	Ripgrep string
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	// Limits bound what the tools read, write and show.
	Limits Limits

	// Proc configures the tools that run programs.
	Proc ProcConfig
}

// A Workspace is a directory with the tools that work in it. It may be shared by any number of agents and is safe for
// concurrent use.
type Workspace struct {
	cfg       Config
	dir       string // absolute, as given
	real      string // dir without symbolic links
	root      *os.Root
	folds     bool // the file system takes A and a for the same name
	locks     pathLocks
	views     viewStore
	sweeps    sweeper
	grepPiece int
	fault     func(step, path string) error // for tests: called before every step of a write
	procs     procState

	closeOnce sync.Once
	closeErr  error
}

// Open opens the directory dir, which must exist. The error of a wrong Config names the field.
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
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	w := &Workspace{cfg: cfg, dir: abs, real: real, root: root, grepPiece: grepPiece}
	w.folds = foldsCase(root)
	w.views.limit = cfg.Limits.ShownBytes
	return w, nil
}

// complete fills in defaults and reports the first field that cannot be used.
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

// Dir returns the absolute path of the directory, without symbolic links.
func (w *Workspace) Dir() string { return w.real }

// Close ends what the tools have started and releases the directory. Closing twice is harmless.
func (w *Workspace) Close() error {
	w.closeOnce.Do(func() {
		w.closeErr = errors.Join(w.procClose(), w.root.Close())
	})
	return w.closeErr
}

// Index finds code by meaning. One that also is a [TaskIndex], [ChangeIndex], [StateIndex], [MapIndex] or [SymbolIndex] is
// used as such.
// It must be safe for concurrent use.
type Index interface {
	// Search returns at most k places that have to do with text, the best first.
	Search(ctx context.Context, text string, k int) ([]Hit, error)
}

// Hit is one place an [Index] found.
type Hit struct {
	Path               string // slash-separated, relative to the workspace
	StartLine, EndLine int    // from 1, both included
	Symbol             string // the function, type or section it lies in, "" when unknown
	Score              float64
	Snippet            string // the text of the place, "" to let the model read it
}

// TaskIndex is an [Index] that takes into account what a session is about.
type TaskIndex interface {
	// SearchTask is Search with more to go by.
	SearchTask(ctx context.Context, q IndexQuery) ([]Hit, error)
}

// IndexQuery is what the search tool asks a [TaskIndex].
type IndexQuery struct {
	Text string
	K    int          // how many places at most
	Near []string     // files the session read or changed, the latest first: what belongs to them counts more
	Held []IndexRange // places the model has already: they are left out
}

// IndexRange is some lines of a file, from 1 and both included.
type IndexRange struct {
	Path               string // slash-separated, relative to the workspace
	StartLine, EndLine int
}

// ChangeIndex is an [Index] that wants to know what the tools change.
type ChangeIndex interface {
	// Changed tells of files that were written, moved or deleted; without paths a program has run, which may have changed
	// any. It must return at once: a tool waits for it.
	Changed(paths ...string)
}

// StateIndex is an [Index] that may not be complete.
type StateIndex interface {
	// State says in words what the model should know of the answers of this moment, "" when all is well.
	State() string
}

// AskFunc puts a question to a person and returns the answer. It may take any time and must return when ctx ends.
type AskFunc func(ctx context.Context, q Question) (string, error)

// Question is what a model asks a person.
type Question struct {
	Text    string
	Options []string // answers to choose from; the person may give another one
}
