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

// The default limits of a [Registry], used if its [RegistryConfig] has none.
const (
	DefaultMaxOutput = 48 << 10               // bytes of one result's text
	DefaultGrace     = 500 * time.Millisecond // for a call to return after its time limit
)

// RegistryConfig configures a [Registry]. The zero value is ready to use.
type RegistryConfig struct {
	// Timeout limits a call whose tool has no limit. 0 or negative means no limit except the
	// caller's context.
	Timeout time.Duration
	// Grace is the time for a call to return after its context ended, to clean up and report what
	// it had. After that it is answered with an error and abandoned. 0 means DefaultGrace.
	Grace time.Duration
	// MaxOutput limits the text of one result, in bytes; a tool may set its own limit with
	// WithMaxOutput. 0 means DefaultMaxOutput, negative none.
	MaxOutput int
	// Store keeps the full text of results that exceed MaxOutput. Without one the middle is
	// dropped.
	Store agent.ArtifactStore
	// Logger receives panics and abandoned calls. Nil is silent.
	Logger *slog.Logger
	// Now is the clock for Abandoned. Nil means time.Now.
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

// toolSet is one state of a registry; it is replaced, never modified.
type toolSet struct {
	list   []agent.Tool // of *entry
	byName map[string]*entry
}

// NewRegistry returns a registry of ts with the default configuration. Every tool must have a
// unique name and a schema that compiles.
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

// Add adds tools at the end. If one is nil, has an invalid name or schema, or has a name that is
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

// Remove removes the tool called name and reports whether there was one. Its running calls are not
// affected.
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

// Replace replaces the tool that has the same name as t. It returns an error if there is none.
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

// update applies change to a copy of the set, and makes the copy current if there is no error.
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

// Tools returns the tools in the order in which they were added. Each runs through the registry,
// like [Registry.Call], and answers [agent.Effecter] and [agent.Describer] with the inner tool's
// answer for the repaired arguments. The caller must not modify the slice.
func (r *Registry) Tools() []agent.Tool { return r.set.Load().list }

// Lookup returns the tool called name, as in [Registry.Tools].
func (r *Registry) Lookup(name string) (agent.Tool, bool) {
	e := r.set.Load().byName[name]
	return e, e != nil
}

// Call runs one call and returns its result, which is never nil. It does not panic or return an
// error: arguments that cannot be repaired, an unknown tool, and a failing, panicking or hanging
// tool lead to results with IsError for the model to read.
//
// The steps are those of the package comment: repair, validate, run under the time limit, make the
// output safe, limit its size.
func (r *Registry) Call(ctx context.Context, call agent.ToolCall) *agent.ToolResult {
	e := r.set.Load().byName[call.Name]
	if e == nil {
		res := r.unknown(call.Name)
		res.CallID = call.ID
		return res
	}
	return e.call(ctx, call)
}

// maxListed is the maximum number of tool names listed in an error.
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
