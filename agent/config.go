package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"regexp"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/internal/wait"
)

// Config configures an [Agent]. Only Model is required; every other field has a working zero value.
type Config struct {
	Model  Model  // answers the requests; required
	System string // instructions, sent before the first message

	Tools      []Tool     // tools that the model may call
	ToolSource ToolSource // more tools, requested again before every step; nil for none

	Policy Policy  // decides on every call; nil allows all, which is only suitable for trusted tools
	Ask    AskFunc // answers what the policy leaves undecided; nil refuses

	Middleware []Middleware // wraps every model and tool call, outermost first

	Limits        Limits        // when a run must end
	SessionLimits SessionLimits // for sessions that have no limits of their own
	Repetition    Repetition    // when to stop a run that repeats itself
	Retry         Retry         // what to do if the model fails
	Prices        Prices        // cost by exact model name; nil means DefaultPrices

	// AllowUnpriced lets a run with Limits.MicroDollars use a model whose price is unknown. Its
	// calls do not count towards the limit, and Result.Unpriced reports them.
	AllowUnpriced bool

	Parallel    int           // tool calls at a time; 0 means 8
	ToolTimeout time.Duration // time limit of a call whose spec has none; 0 means 10 minutes, negative no limit
	Grace       time.Duration // how long a cancelled call may take to return before it is abandoned; 0 means 10 seconds

	// Verify checks the work when the model says that it is done, for instance by running the
	// tests. If the feedback is not empty, the model receives it and continues; see
	// Limits.Verifications. Nil accepts every answer.
	Verify func(ctx context.Context, s *Session) (feedback string, err error)

	Checkpointer  Checkpointer  // snapshots the workspace before the first write of a turn; nil for none
	Compactor     Compactor     // shortens a history that outgrows ContextBudget; nil for none
	ContextBudget int           // prompt tokens above which the Compactor is called; 0 means 150,000
	Artifacts     ArtifactStore // keeps the full text of results that ResultBytes cuts; nil drops the middle
	ResultBytes   int           // bytes of one tool result's text kept in the history; 0 means 256 KiB

	MaxOutput   int           // see Request
	Temperature *float64      // see Request
	Effort      Effort        // see Request
	Stop        []string      // see Request
	Seed        *int64        // see Request
	Output      *OutputSchema // schema of the final answer, which is checked; not for plans
	Purpose     Purpose       // see Request; empty means PurposeAct

	// Logger receives warnings and, at debug level, every step, call and decision of a run with the
	// beginnings of its texts. Nil is silent.
	Logger *slog.Logger

	// Now, NewID, Random and Sleep make a run reproducible. Nil means the wall clock, random ids,
	// random jitter in [0,1) and a real sleep. NewID names the tool calls that a model sends
	// without an id.
	Now    func() time.Time
	NewID  func() string
	Random func() float64
	Sleep  func(ctx context.Context, d time.Duration) error
}

// Limits end a run. A zero field means the default in its comment; a negative one means no limit.
type Limits struct {
	Steps         int           // model calls; 200
	Tokens        int64         // input plus output tokens of all calls, estimated where none are reported; 50,000,000
	MicroDollars  int64         // cost by the price table or as reported by routers; 20,000,000 ($20), counted only for models with a price
	Wall          time.Duration // duration; 2 hours
	Verifications int           // answers that Config.Verify may reject; 5
	ArgBytes      int           // bytes of one call's arguments; longer ones are dropped and the call is refused; 16 MiB
	ResponseBytes int           // bytes of one response, all parts together; 64 MiB
}

// Repetition sets the limits for a model that repeats itself: the number of identical calls with
// identical results, without a change in between, that lead to a reminder, to a stronger one, and
// to the end of the run. A zero field means the default in its comment; a negative one turns that
// level off.
type Repetition struct {
	Remind int // 3
	Warn   int // 5
	Stop   int // 8
}

// Retry says how model errors are retried. A zero field means the default in its comment.
type Retry struct {
	Max     int           // retries of one step; 5, negative none
	Base    time.Duration // first delay, doubled at every retry, with jitter; 1 s
	Cap     time.Duration // longest delay, except that a Retry-After may exceed it; 60 s
	MaxWait time.Duration // longest Retry-After that is honoured; a longer one makes the error final; 10 min
	// Answers is the number of unusable answers in a row after which the model is asked again:
	// empty ones, calls that cannot be read, ends for an unknown reason. It is also the number of
	// answers of a run that may not fit Config.Output. 2, negative none.
	Answers     int
	IdleTimeout time.Duration // silence after which a stream is considered dead; 3 min, negative never
}

// Agent runs a model and its tools over sessions. It is safe for concurrent use by runs over
// different sessions.
type Agent struct {
	rooms  *sync.Pool // of *[]byte: buffers for joining streamed text, passed from run to run
	cfg    Config
	static []Tool
	handle Handler // the middleware chain around both kinds of operation; nil without middleware
	price  *Price
	output func(answer string) (json.RawMessage, error) // checks the final answer; nil without Config.Output
	capped bool                                         // the host set a cost limit, for this agent or for one above it
	depth  int                                          // number of agents above this one

	parent   *account // of the run that calls this agent as a tool, nil at the top
	readOnly bool     // refuses calls that may change something
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// New checks cfg and returns an agent. An invalid field is an error that names it.
func New(cfg Config) (*Agent, error) {
	if cfg.Model == nil {
		return nil, errors.New("agent: new: Config.Model is nil; set it to a backend such as router/openai or router/anthropic")
	}
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("agent: new: %w", err)
	}
	if err := checkTools(cfg.Tools); err != nil {
		return nil, fmt.Errorf("agent: new: Config.Tools: %w", err)
	}
	capped := cfg.Limits.MicroDollars > 0 || cfg.SessionLimits.MicroDollars > 0
	cfg.setDefaults()
	output, err := cfg.Output.checker()
	if err != nil {
		return nil, fmt.Errorf("agent: new: %w", err)
	}
	a := &Agent{rooms: new(sync.Pool), cfg: cfg, output: output, capped: capped, static: append([]Tool(nil), cfg.Tools...)}
	if p, ok := cfg.Prices.Find(ModelName(cfg.Model)); ok {
		a.price = &p
	} else if capped && !cfg.AllowUnpriced && !ReportsCost(cfg.Model) {
		field := "Limits"
		if cfg.SessionLimits.MicroDollars > 0 {
			field = "SessionLimits"
		}
		return nil, fmt.Errorf("agent: new: Config.%s.MicroDollars is set but Config.Prices has no price for model %q, and a price of a similar name does not count: "+
			"add one (Prices.Alias for another name of a priced model), give each member of a router its price, or set Config.AllowUnpriced", field, ModelName(cfg.Model))
	}
	if len(cfg.Middleware) > 0 {
		a.handle = chain(cfg.Middleware, handleOp)
	}
	return a, nil
}

func (c *Config) check() error {
	for _, f := range []struct {
		name string
		bad  bool
		want string
	}{
		{"Parallel", c.Parallel < 0, "0 or more"},
		{"Grace", c.Grace < 0, "0 or more"},
		{"ContextBudget", c.ContextBudget < 0, "0 or more"},
		{"ResultBytes", c.ResultBytes < 0, "0 or more"},
		{"MaxOutput", c.MaxOutput < 0, "0 or more"},
		{"Retry.Base", c.Retry.Base < 0, "0 or more"},
		{"Retry.Cap", c.Retry.Cap < 0, "0 or more"},
		{"Retry.MaxWait", c.Retry.MaxWait < 0, "0 or more"},
		{"Temperature", c.Temperature != nil && !(*c.Temperature >= 0 && *c.Temperature <= 2), "between 0 and 2"},
	} {
		if f.bad {
			return fmt.Errorf("Config.%s is out of range; it must be %s", f.name, f.want)
		}
	}
	r := c.Repetition
	r.setDefaults()
	if (r.Warn > 0 && r.Warn < r.Remind) || (r.Stop > 0 && (r.Stop < r.Warn || r.Stop < r.Remind)) {
		return fmt.Errorf("Config.Repetition must not decrease: remind at %d, warn at %d, stop at %d", r.Remind, r.Warn, r.Stop)
	}
	for i, m := range c.Middleware {
		if m == nil {
			return fmt.Errorf("Config.Middleware[%d] is nil", i)
		}
	}
	for name, p := range c.Prices {
		if p.Input < 0 || p.CachedInput < 0 || p.CacheWrite < 0 || p.Output < 0 {
			return fmt.Errorf("Config.Prices[%q] has a negative price", name)
		}
	}
	return nil
}

func checkTools(ts []Tool) error {
	seen := make(map[string]bool, len(ts))
	for i, t := range ts {
		if t == nil {
			return fmt.Errorf("tool %d is nil", i)
		}
		name := t.Spec().Name
		if !toolName.MatchString(name) {
			return fmt.Errorf("tool %d: name %q must be 1 to 64 letters, digits, '_' or '-'", i, name)
		}
		if seen[name] {
			return fmt.Errorf("two tools are named %q; rename one", name)
		}
		seen[name] = true
	}
	return nil
}

func (r *Repetition) setDefaults() {
	orInt(&r.Remind, 3)
	orInt(&r.Warn, 5)
	orInt(&r.Stop, 8)
}

func (c *Config) setDefaults() {
	l := &c.Limits
	orInt(&l.Steps, 200)
	orInt(&l.Tokens, 50_000_000)
	orInt(&l.MicroDollars, 20_000_000)
	orInt(&l.Wall, 2*time.Hour)
	orInt(&l.Verifications, 5)
	orInt(&l.ArgBytes, 16<<20)
	orInt(&l.ResponseBytes, 64<<20)
	c.Repetition.setDefaults()
	r := &c.Retry
	orInt(&r.Max, 5)
	orInt(&r.Base, time.Second)
	orInt(&r.Cap, time.Minute)
	orInt(&r.MaxWait, 10*time.Minute)
	orInt(&r.Answers, 2)
	orInt(&r.IdleTimeout, 3*time.Minute)
	orInt(&c.Parallel, 8)
	orInt(&c.ToolTimeout, 10*time.Minute)
	orInt(&c.Grace, 10*time.Second)
	orInt(&c.ContextBudget, 150_000)
	orInt(&c.ResultBytes, 256<<10)
	if c.Purpose == "" {
		c.Purpose = PurposeAct
	}
	if c.Prices == nil {
		c.Prices = DefaultPrices()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = rand.Text
	}
	if c.Random == nil {
		c.Random = mrand.Float64
	}
	if c.Sleep == nil {
		c.Sleep = wait.For
	}
}

// orInt sets *p to def when it is zero.
func orInt[T int | int64 | time.Duration](p *T, def T) {
	if *p == 0 {
		*p = def
	}
}
