package agent

import (
	"context"
	"iter"
	"log/slog"
	"reflect"
	"testing"
	"time"
)

// kept says whether a field of the caller's Config holds for a sub-agent.
type kept string

const (
	own    kept = "own"    // the caller's value does not apply
	zero   kept = "zero"   // the caller's value, if the sub-agent has none
	same   kept = "same"   // like zero, if both use the same model
	joined kept = "joined" // both apply
)

// inherited decides for every field of Config whether it holds for a sub-agent. A field of type
// struct whose own fields are decided separately has a row for each of them.
var inherited = map[string]kept{
	"Model":  own, // required
	"System": zero,
	"Tools":  own, "ToolSource": own, // what a task needs; tools/coding and package luthier pass on the host's
	"Policy": joined, "Middleware": joined,
	"Ask":          zero,
	"Limits.Steps": zero, "Limits.Tokens": zero, "Limits.MicroDollars": zero, "Limits.Wall": zero,
	"Limits.Verifications": zero, "Limits.ArgBytes": zero, "Limits.ResponseBytes": zero,
	"Repetition": zero, "Retry": zero, // as a whole: their fields depend on each other
	"Prices": zero, "AllowUnpriced": zero,
	"Parallel": zero, "ToolTimeout": zero, "Grace": zero,
	"Verify":       own, // checks the work of the whole run
	"Checkpointer": own, // the run above takes its snapshot before the task begins
	"Compactor":    zero, "ContextBudget": zero, "Artifacts": zero, "ResultBytes": zero,
	"MaxOutput": same, "Temperature": same, "Effort": same, "Stop": same, "Seed": same,
	"SessionLimits": own, // what a sub-agent spends counts towards the session of the run above
	"Output":        own, // the form of the answer of the whole run
	"Purpose":       own,
	"Logger":        zero,
	"Now":           zero, "NewID": zero, "Random": zero, "Sleep": zero,
}

// TestEveryFieldIsDecidedForSubAgents: each field of Config reaches a sub-agent as the table says.
// A field that is added to Config and not to the table fails.
func TestEveryFieldIsDecidedForSubAgents(t *testing.T) {
	caller := full(namedModel("one"))
	for _, sub := range []Config{{Model: namedModel("one")}, {Model: namedModel("two")}} {
		got := reflect.ValueOf(sub.under(&caller))
		rows := 0
		check := func(name string, got, by reflect.Value) {
			rows++
			want, decided := inherited[name]
			switch zeroed := got.IsZero(); {
			case !decided:
				t.Errorf("Config.%s: not decided for sub-agents; add it to the table and to Config.under", name)
			case name == "Middleware": // chained by Agent.under
			case want == own && name != "Model" && !zeroed, want == same && ModelName(sub.Model) == "two" && !zeroed:
				t.Errorf("Config.%s: the sub-agent has the caller's %v", name, got)
			case want == zero || want == joined || want == same && ModelName(sub.Model) == "one":
				if !alike(got, by) {
					t.Errorf("Config.%s: the sub-agent has %v, not the caller's %v", name, got, by)
				}
			}
		}
		by := reflect.ValueOf(caller)
		for i := range got.NumField() {
			name := got.Type().Field(i).Name
			if by.Field(i).IsZero() {
				t.Errorf("Config.%s: the test has no value for it", name)
			}
			if name != "Limits" {
				check(name, got.Field(i), by.Field(i))
				continue
			}
			for j := range got.Field(i).NumField() {
				check(name+"."+got.Field(i).Type().Field(j).Name, got.Field(i).Field(j), by.Field(i).Field(j))
			}
		}
		if rows != len(inherited) {
			t.Errorf("%d rows in the table, %d fields", len(inherited), rows)
		}
	}
}

// TestSubAgentKeepsWhatItHas: a setting of the sub-agent's own is not overwritten.
func TestSubAgentKeepsWhatItHas(t *testing.T) {
	caller, sub := full(namedModel("one")), full(namedModel("one"))
	sub.System, sub.Parallel, sub.Limits.Steps, sub.Retry.Max, sub.MaxOutput = "mine", 77, 77, 77, 77
	got := sub.under(&caller)
	if got.System != "mine" || got.Parallel != 77 || got.Limits.Steps != 77 || got.Retry.Max != 77 || got.MaxOutput != 77 {
		t.Errorf("%+v", got)
	}
}

// alike compares two values; functions by their code.
func alike(a, b reflect.Value) bool {
	if a.Kind() == reflect.Func {
		return !a.IsNil() && a.Pointer() == b.Pointer()
	}
	if a.Kind() == reflect.Interface && a.Elem().Kind() == reflect.Func {
		return alike(a.Elem(), b.Elem())
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// full returns a Config in which no field is zero.
func full(m Model) Config {
	temperature, seed := 0.5, int64(3)
	return Config{
		Model: m, System: "be kind", Tools: []Tool{&subAgent{}}, ToolSource: &fullSource{},
		Policy: PolicyFunc(func(context.Context, *PermissionRequest) Verdict { return Verdict{} }),
		Ask:    func(context.Context, *PermissionRequest, Verdict) Answer { return Answer{} },
		Middleware: []Middleware{func(next Handler) Handler {
			return next
		}},
		Limits:        Limits{Steps: 1, Tokens: 2, MicroDollars: 3, Wall: 4, Verifications: 5, ArgBytes: 6, ResponseBytes: 7},
		SessionLimits: SessionLimits{Tokens: 1, MicroDollars: 2},
		Repetition:    Repetition{1, 2, 3}, Retry: Retry{Max: 1, Base: 2, Cap: 3, MaxWait: 4, IdleTimeout: 5},
		Prices: Prices{"x": {}}, AllowUnpriced: true, Parallel: 3, ToolTimeout: 4, Grace: 5,
		Verify:       func(context.Context, *Session) (string, error) { return "", nil },
		Checkpointer: &fullStore{}, Compactor: &fullStore{}, ContextBudget: 5, Artifacts: &fullStore{}, ResultBytes: 6,
		MaxOutput: 1, Temperature: &temperature, Effort: EffortHigh, Stop: []string{"x"}, Seed: &seed, Output: &OutputSchema{Name: "o"}, Purpose: PurposeAct,
		Logger: slog.New(slog.DiscardHandler), Now: time.Now, NewID: func() string { return "" }, Random: func() float64 { return 0 },
		Sleep: func(context.Context, time.Duration) error { return nil },
	}
}

type namedModel string

func (m namedModel) Name() string { return string(m) }
func (namedModel) Stream(context.Context, *Request) iter.Seq2[Chunk, error] {
	return func(func(Chunk, error) bool) {}
}

type fullSource struct{ _ int }

func (fullSource) Tools() []Tool { return nil }

type fullStore struct {
	Checkpointer
	Compactor
	ArtifactStore
}
