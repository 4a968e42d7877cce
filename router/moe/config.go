package moe

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// Constrain sets how strictly answers must follow the schemas of a request.
type Constrain string

// The degrees of strictness.
const (
	// ConstrainStrict refuses a request whose schema has a keyword that cannot be enforced; the
	// error names it. Every call and every structured answer is valid.
	ConstrainStrict Constrain = ""
	// ConstrainExact is ConstrainStrict for models that were trained on a single layout. Calls are
	// written exactly as the format writes them, without extra whitespace, with arguments in the
	// order of the schema, and without reasoning unless the template has begun it. More of the text
	// is then forced, and generating an answer takes fewer decisions.
	ConstrainExact Constrain = "exact"
	// ConstrainLenient constrains the arguments of a tool whose schema cannot be enforced only to a
	// JSON object. The rest is left to the check that every tool makes. Structured output is
	// handled as with ConstrainStrict.
	ConstrainLenient Constrain = "lenient"
	// ConstrainOff lets the model write calls freely. Structured output still follows its schema.
	ConstrainOff Constrain = "off"
)

// KVType is the precision of the key-value cache.
type KVType string

// The precisions.
const (
	KVF16  KVType = ""     // the default
	KVQ8_0 KVType = "q8_0" // about half the memory
	KVF32  KVType = "f32"  // for exact comparisons
)

// Config configures a model. The zero value is ready to use.
type Config struct {
	Name string // the model's name for logs and prices; empty means the file's own

	// Draft is the path of a small model with the same vocabulary that drafts for this one. This
	// pays off for dense models. For a Mixture-of-Experts model, drafts from the conversation are
	// better and need no draft model.
	Draft string
	// DraftData is a draft model as the bytes of its file, used if Draft is empty. The bytes must
	// not change while the model is open.
	DraftData []byte
	// NoSpeculation turns off every kind of drafting.
	NoSpeculation bool

	Context  int    // limit of tokens in one conversation, prompt and answer; 0 means the trained context, at most 32,768; a larger value than the trained context is lowered to it
	KV       KVType // precision of the key-value cache
	KVTokens int    // tokens that the cache holds for all conversations together; 0 means Context
	Slots    int    // requests that run at once; 0 means 8
	Queue    int    // requests that may wait; more are refused with [agent.ErrOverloaded]. 0 means 64
	Threads  int    // number of threads; 0 means one per CPU

	// ExpertCapacity limits the number of tokens in a pass that one expert takes, as a multiple of
	// the even share; excess tokens go to their next best expert. 0 means no limit. Only then are
	// results exact: with a limit, an answer depends on the other requests that are running.
	ExpertCapacity float64

	MaxOutput   int     // limit of tokens in an answer if the request sets none; 0 means as many as fit the context
	Temperature float64 // if the request sets none; 0 always chooses the likeliest token

	Template  string // a chat template that replaces the one in the file
	Format    string // the tool-call format, if it cannot be recognised from the template; see [Formats]
	Constrain Constrain

	Logger *slog.Logger     // nil means no logging
	Now    func() time.Time // the clock that templates see; nil means time.Now
}

// defaultContext limits the default context, so that loading a model trained for a million tokens
// does not allocate a cache of that size.
const defaultContext = 32768

// check fills in the zero fields.
func (c *Config) check(trained int) error {
	for name, n := range map[string]int{"Context": c.Context, "KVTokens": c.KVTokens, "Slots": c.Slots, "Queue": c.Queue, "Threads": c.Threads, "MaxOutput": c.MaxOutput} {
		if n < 0 {
			return fmt.Errorf("Config.%s is %d; it must not be negative", name, n)
		}
	}
	if !(c.Temperature >= 0) || !(c.ExpertCapacity >= 0) { // also rejects NaN
		return errors.New("Config.Temperature and Config.ExpertCapacity must be numbers and not negative")
	}
	switch c.Constrain {
	case ConstrainStrict, ConstrainExact, ConstrainLenient, ConstrainOff:
	default:
		return fmt.Errorf("Config.Constrain is %q; it must be ConstrainStrict, ConstrainExact, ConstrainLenient or ConstrainOff", c.Constrain)
	}
	if c.Context == 0 {
		c.Context = min(trained, defaultContext)
	}
	if trained > 0 {
		c.Context = min(c.Context, trained) // the cache need not be larger
	}
	if c.KVTokens == 0 {
		c.KVTokens = c.Context
	}
	if c.KVTokens < c.Context {
		return fmt.Errorf("Config.KVTokens is %d; it must hold at least the %d tokens of Config.Context", c.KVTokens, c.Context)
	}
	if c.Slots == 0 {
		c.Slots = 8
	}
	if c.Queue == 0 {
		c.Queue = 64
	}
	if c.Threads == 0 {
		c.Threads = runtime.GOMAXPROCS(0)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

func (t KVType) tensor() (gguf.Type, error) {
	switch KVType(strings.ToLower(string(t))) {
	case KVF16, "f16":
		return gguf.TypeF16, nil
	case KVQ8_0:
		return gguf.TypeQ8_0, nil
	case KVF32:
		return gguf.TypeF32, nil
	}
	return 0, fmt.Errorf("Config.KV is %q; it must be KVF16, KVQ8_0 or KVF32", t)
}
