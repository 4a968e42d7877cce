package agenttest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/wait"
)

// Fault is one way in which a model misbehaves.
type Fault string

// The faults of a model.
const (
	FaultNone      Fault = ""
	FaultCut       Fault = "cut"        // the stream ends in the middle, without Finish or error
	FaultArgs      Fault = "args"       // a call's arguments stop half-way, then the answer finishes as if nothing were wrong
	FaultRateLimit Fault = "rate_limit" // 429 with Retry-After
	FaultServer    Fault = "server"     // 503, before the first chunk
	FaultMidServer Fault = "mid_server" // an error object in the middle of the stream
	FaultSlow      Fault = "slow"       // a pause before every chunk
	FaultIdle      Fault = "idle"       // silence after the first chunk, until the context ends
	FaultDuplicate Fault = "duplicate"  // every chunk arrives twice
	FaultGarbage   Fault = "garbage"    // meaningless chunks between the others
	FaultUnknown   Fault = "unknown"    // every call names a tool that does not exist
)

// Faults is a plan of faults. At most one fault affects a request. The plan depends only on the
// seed and the number of the request, so that a failure can be repeated.
type Faults struct {
	Seed  uint64
	Rates map[Fault]float64 // chance of each fault, in [0,1]; their sum must not exceed 1
	At    map[int]Fault     // the fault of a certain request, from 1; takes precedence over Rates

	RetryAfter time.Duration // of FaultRateLimit
	Pause      time.Duration // of FaultSlow; 0 means a millisecond
}

// fault returns the fault of request n and the random source for its details.
func (f *Faults) fault(n int) (Fault, *rand.Rand) {
	dice := rand.New(rand.NewPCG(f.Seed, uint64(n)))
	if at, ok := f.At[n]; ok {
		return at, dice
	}
	x := dice.Float64()
	for _, name := range slices.Sorted(maps.Keys(f.Rates)) {
		if x -= f.Rates[name]; x < 0 {
			return name, dice
		}
	}
	return FaultNone, dice
}

// Faulty is a model with injected faults.
type Faulty struct {
	model  agent.Model
	faults Faults
	mu     sync.Mutex
	n      int
	hits   map[Fault]int
}

// Inject wraps a model and adds faults. The result is safe for concurrent use if m is.
func Inject(m agent.Model, faults Faults) *Faulty {
	return &Faulty{model: m, faults: faults, hits: map[Fault]int{}}
}

// Name returns the name of the wrapped model.
func (m *Faulty) Name() string { return agent.ModelName(m.model) }

// Hits returns how often each fault occurred; FaultNone counts the requests without a fault.
func (m *Faulty) Hits() map[Fault]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.hits)
}

// Stream streams the model's answer with the fault that is planned for it.
func (m *Faulty) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		m.mu.Lock()
		m.n++
		kind, dice := m.faults.fault(m.n)
		m.hits[kind]++
		m.mu.Unlock()
		fail := func(kind agent.ErrorKind, status int, after time.Duration) {
			yield(nil, &agent.ModelError{Kind: kind, Status: status, RetryAfter: after, Provider: scriptName, Err: errInjected})
		}
		switch kind {
		case FaultRateLimit:
			fail(agent.ErrRateLimit, 429, m.faults.RetryAfter)
		case FaultServer:
			fail(agent.ErrOverloaded, 503, 0)
		default:
			in := &injection{kind: kind, ctx: ctx, cutAt: 1 + dice.IntN(4), pause: m.faults.Pause, yield: yield}
			for c, err := range m.model.Stream(ctx, req) {
				if !in.pass(c, err) {
					return
				}
			}
		}
	}
}

var errInjected = errors.New("injected fault")

// injection passes on one stream with one fault.
type injection struct {
	kind  Fault
	ctx   context.Context
	cutAt int
	pause time.Duration
	yield func(agent.Chunk, error) bool
	seen  int
	mute  map[int]bool // calls whose arguments have stopped
}

// pass passes on one chunk and reports whether to continue.
func (in *injection) pass(c agent.Chunk, err error) bool {
	if err != nil {
		return in.yield(c, err)
	}
	in.seen++
	switch in.kind {
	case FaultCut, FaultMidServer:
		if _, last := c.(agent.Finish); last || in.seen > in.cutAt {
			if in.kind == FaultMidServer {
				in.yield(nil, &agent.ModelError{Kind: agent.ErrServer, Provider: scriptName, Err: errInjected})
			}
			return false
		}
	case FaultIdle:
		if in.seen > 1 {
			<-in.ctx.Done()
			in.yield(nil, &agent.ModelError{Kind: agent.ErrCanceled, Provider: scriptName, Err: context.Cause(in.ctx)})
			return false
		}
	case FaultSlow:
		_ = wait.For(in.ctx, max(in.pause, time.Millisecond))
	case FaultArgs:
		c = in.halve(c)
	case FaultUnknown:
		if s, ok := c.(agent.ToolCallStart); ok {
			s.Name = "no_such_" + s.Name
			c = s
		}
	case FaultDuplicate:
		if !in.yield(c, nil) {
			return false
		}
	case FaultGarbage:
		if !in.litter() {
			return false
		}
	}
	return c == nil || in.yield(c, nil)
}

// halve cuts the first arguments of each call in half and drops the rest.
func (in *injection) halve(c agent.Chunk) agent.Chunk {
	d, ok := c.(agent.ToolCallDelta)
	if !ok {
		return c
	}
	if in.mute[d.Index] {
		return nil
	}
	if in.mute == nil {
		in.mute = map[int]bool{}
	}
	in.mute[d.Index] = true
	d.Args = d.Args[:len(d.Args)/2]
	if d.Args == "" {
		d.Args = `{"cut`
	}
	return d
}

// litter yields meaningless chunks.
func (in *injection) litter() bool {
	for _, c := range []agent.Chunk{
		agent.TextDelta{}, agent.ThinkingDelta{Text: "\xff\xfe"}, agent.ToolCallDelta{Index: 99, Args: "}{"}, agent.ToolCallDelta{Index: -1},
		agent.Opaque{Provider: "garbage", Data: []byte(fmt.Sprintf(`{"n":%d}`, in.seen))}, agent.Usage{Input: -1},
	} {
		if !in.yield(c, nil) {
			return false
		}
	}
	return true
}
