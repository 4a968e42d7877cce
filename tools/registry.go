package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/internal/argcheck"
)

// The limits of a [Registry] whose [RegistryConfig] names none.
const (
	DefaultMaxOutput = 48 << 10               // bytes of one result's text
	DefaultGrace     = 500 * time.Millisecond // for a call to return after its time limit
)

// RegistryConfig adjusts a [Registry]. The zero value is ready.
type RegistryConfig struct {
	// Timeout limits a call whose tool names no limit. 0 or negative means none but the caller's
	// context.
	Timeout time.Duration
	// Grace is how long a call may take to return once its context ended, to clean up and report
	// what it had, before it is answered for and left behind. 0 means DefaultGrace.
	Grace time.Duration
	// MaxOutput limits the text of one result, in bytes; a tool may name its own limit with
	// WithMaxOutput. 0 means DefaultMaxOutput, negative none.
	MaxOutput int
	// Store keeps the full text of results that exceed MaxOutput. Without one the middle is
	// dropped.
	Store agent.ArtifactStore
	// Logger is told of panics and of calls left behind. Nil is silent.
	Logger *slog.Logger
	// Now is the clock of Abandoned. Nil means time.Now.
	Now func() time.Time
}

// Registry is a set of tools that may change while agents use it. It is an [agent.ToolSource], and
// its methods are safe for concurrent use. A running call keeps the tool it started with.
type Registry struct {
	cfg   RegistryConfig
	mu    sync.Mutex // held by writers of set
	set   atomic.Pointer[toolSet]
	calls callTracker
}

var _ agent.ToolSource = (*Registry)(nil)

// toolSet is one state of a registry; it is replaced, never changed.
type toolSet struct {
	list   []agent.Tool // of *entry
	byName map[string]*entry
}

// NewRegistry returns a registry of ts with the default configuration. Every tool must have a name
// of its own and a schema that compiles.
func NewRegistry(ts ...agent.Tool) (*Registry, error) {
	return NewRegistryWith(RegistryConfig{}, ts...)
}

// NewRegistryWith returns a registry of ts with the given configuration.
func NewRegistryWith(cfg RegistryConfig, ts ...agent.Tool) (*Registry, error) {
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	if cfg.MaxOutput == 0 {
		cfg.MaxOutput = DefaultMaxOutput
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Registry{cfg: cfg}
	r.set.Store(&toolSet{byName: map[string]*entry{}})
	if err := r.Add(ts...); err != nil {
		return nil, err
	}
	return r, nil
}

// Add adds tools at the end. When one is nil, has an invalid name or schema, or a name that is
// taken, none is added.
func (r *Registry) Add(ts ...agent.Tool) error {
	entries, err := r.entries(ts)
	if err != nil {
		return fmt.Errorf("tools: add %w", err)
	}
	return r.update(func(s *toolSet) error {
		for _, e := range entries {
			if s.byName[e.spec.Name] != nil {
				return fmt.Errorf("tools: add %q: the name is taken; remove that tool first, or use Replace", e.spec.Name)
			}
			s.list = append(s.list, e)
			s.byName[e.spec.Name] = e
		}
		return nil
	})
}

// Remove removes the tool called name and reports whether there was one. Calls of it that run are
// not disturbed.
func (r *Registry) Remove(name string) bool {
	return r.update(func(s *toolSet) error {
		e := s.byName[name]
		if e == nil {
			return errors.New("no such tool")
		}
		delete(s.byName, name)
		s.list = slices.DeleteFunc(s.list, func(t agent.Tool) bool { return t == agent.Tool(e) })
		return nil
	}) == nil
}

// Replace puts t in the place of the tool with its name. It is an error when there is none.
func (r *Registry) Replace(t agent.Tool) error {
	entries, err := r.entries([]agent.Tool{t})
	if err != nil {
		return fmt.Errorf("tools: replace %w", err)
	}
	e := entries[0]
	return r.update(func(s *toolSet) error {
		old := s.byName[e.spec.Name]
		if old == nil {
			return fmt.Errorf("tools: replace %q: there is no such tool; use Add", e.spec.Name)
		}
		s.list[slices.Index(s.list, agent.Tool(old))] = e
		s.byName[e.spec.Name] = e
		return nil
	})
}

// update applies change to a copy of the set, and takes the copy when there is no error.
func (r *Registry) update(change func(*toolSet) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.set.Load()
	next := &toolSet{list: slices.Clone(old.list), byName: make(map[string]*entry, len(old.byName)+1)}
	for name, e := range old.byName {
		next.byName[name] = e
	}
	if err := change(next); err != nil {
		return err
	}
	r.set.Store(next)
	return nil
}

// Tools returns the tools in the order they were added. Each runs through the registry, as
// [Registry.Call] does, and answers [agent.Effecter] and [agent.Describer] with what the inner tool
// says of the mended arguments. The slice is the caller's to read only.
func (r *Registry) Tools() []agent.Tool { return r.set.Load().list }

// Lookup returns the tool called name, as in [Registry.Tools].
func (r *Registry) Lookup(name string) (agent.Tool, bool) {
	e := r.set.Load().byName[name]
	return e, e != nil
}

// Call carries out one call and returns its result, which is never nil. It does not panic, and
// there is no error beside the result: arguments that cannot be mended, an unknown tool, a failing,
// panicking or hanging tool are results with IsError for the model to read.
//
// The steps are those of the package comment: mend, validate, run under the time limit, make the
// output safe, cap it.
func (r *Registry) Call(ctx context.Context, call agent.ToolCall) *agent.ToolResult {
	e := r.set.Load().byName[call.Name]
	if e == nil {
		res := r.unknown(call.Name)
		res.CallID = call.ID
		return res
	}
	return e.call(ctx, call)
}

// maxListed bounds how many tool names an error spells out.
const maxListed = 30

// unknown answers a call of a tool that does not exist.
func (r *Registry) unknown(name string) *agent.ToolResult {
	var names []string
	for _, t := range r.Tools() {
		names = append(names, t.Spec().Name)
	}
	shown := safeText(name)
	if len(shown) > 80 {
		shown = shown[:80] + "…"
	}
	if len(names) == 0 {
		return agent.ErrorResult("There is no tool %q, nor any other.", shown)
	}
	if near := argcheck.Nearest(name, names, 3); len(near) > 0 {
		return agent.ErrorResult("There is no tool %q. Did you mean %s?", shown, strings.Join(near, " or "))
	}
	list := strings.Join(names[:min(len(names), maxListed)], ", ")
	if len(names) > maxListed {
		list += ", …"
	}
	return agent.ErrorResult("There is no tool %q. The tools are: %s.", shown, list)
}
