package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/json/jsonrepair"
	"github.com/luthier-dev/luthier/internal/toolschema"
)

// Option configures a tool built by [New] or [NewRaw].
type Option func(*options) error

type options struct {
	effects     *agent.Effects
	callEffects any // func(In) agent.Effects
	describe    any // func(In) agent.CallDescription
	check       any // func(In) error
	timeout     *time.Duration
	maxOutput   int
	maxArgs     int
	maxRepair   jsonrepair.Risk
	examples    []json.RawMessage
	schema      json.RawMessage
}

func collect(opts []Option) (*options, error) {
	o := &options{}
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		if err := opt(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// WithEffects declares what any call of the tool may read, write or do. Without it the effects are
// unknown: calls run alone and are never approved as harmless.
func WithEffects(e agent.Effects) Option {
	return func(o *options) error { o.effects = &e; return nil }
}

// WithCallEffects sets a function that returns the effects of a particular call from its decoded
// arguments, before it runs. In must be the tool's In. If the arguments of a call cannot be
// decoded, the effects of [WithEffects] are used. f must be quick and have no side effects.
func WithCallEffects[In any](f func(in In) agent.Effects) Option {
	return func(o *options) error { o.callEffects = f; return nil }
}

// WithDescribe sets a function that explains a particular call to a person from its decoded
// arguments, before it runs. In must be the tool's In. f must be quick and have no side effects.
func WithDescribe[In any](f func(in In) agent.CallDescription) Option {
	return func(o *options) error { o.describe = f; return nil }
}

// WithCheck sets a function that refuses arguments for reasons that the schema cannot express:
// rules between fields, for example. The error is shown to the model, so it should say what to
// write instead. In must be the tool's In.
func WithCheck[In any](f func(in In) error) Option {
	return func(o *options) error { o.check = f; return nil }
}

// WithTimeout limits the duration of one call. 0 leaves the limit to the registry or agent,
// negative means none.
func WithTimeout(d time.Duration) Option {
	return func(o *options) error { o.timeout = &d; return nil }
}

// WithMaxOutput limits the text of one result, in bytes, instead of the registry's limit. Negative
// means none. It applies to calls through a [Registry].
func WithMaxOutput(bytes int) Option {
	return func(o *options) error { o.maxOutput = bytes; return nil }
}

// WithMaxArgs limits the arguments of one call, in bytes, instead of [DefaultMaxArgs].
func WithMaxArgs(bytes int) Option {
	return func(o *options) error {
		if bytes <= 0 {
			return fmt.Errorf("WithMaxArgs is %d; give a number of bytes above 0", bytes)
		}
		o.maxArgs = bytes
		return nil
	}
}

// Repair limits the assumptions in repairing malformed JSON.
type Repair uint8

// The degrees of repair.
const (
	RepairSpelling  Repair = Repair(jsonrepair.Low)    // only faults with a single interpretation: commas, quotes, literals, fences
	RepairStructure Repair = Repair(jsonrepair.Medium) // also missing commas, colons and brackets, and text around the JSON
	RepairLikely    Repair = Repair(jsonrepair.High)   // also unescaped quotes inside strings; the default
)

// WithRepair limits how much the repair of malformed JSON may assume, for tools whose calls must
// not depend on a likely guess.
func WithRepair(r Repair) Option {
	return func(o *options) error {
		if r < RepairSpelling || r > RepairLikely {
			return fmt.Errorf("WithRepair is %d; give RepairSpelling, RepairStructure or RepairLikely", r)
		}
		o.maxRepair = jsonrepair.Risk(r)
		return nil
	}
}

// WithExamples sets valid arguments to show to a model that called the tool wrongly. Each is
// encoded as JSON in the way of [New], and must be accepted by the schema.
func WithExamples(args ...any) Option {
	return func(o *options) error {
		for _, a := range args {
			text, err := toolschema.Encode(a)
			if err != nil {
				return fmt.Errorf("encode example: %w", err)
			}
			o.examples = append(o.examples, text)
		}
		return nil
	}
}

// WithSchema replaces the schema derived from In, for rules that tags cannot express. Arguments
// that it accepts must decode into In.
func WithSchema(schema json.RawMessage) Option {
	return func(o *options) error { o.schema = schema; return nil }
}

// typedHook returns the function in slot, which must take the tool's own In.
func typedHook[F any](option string, slot any) (F, error) {
	var none F
	if slot == nil {
		return none, nil
	}
	f, ok := slot.(F)
	if !ok {
		return none, fmt.Errorf("%s was given a %v, and this tool needs a %v", option, reflect.TypeOf(slot), reflect.TypeFor[F]())
	}
	return f, nil
}
