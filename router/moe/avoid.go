package moe

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// ErrAvoided is wrapped by the error of a request for which no answer is left, because avoid_calls
// in [agent.Request].Extra rules out every answer that was found.
var ErrAvoided = errors.New("no answer is left that makes none of the calls in avoid_calls")

// avoidList holds the tool calls that an answer must not make. The zero value avoids nothing.
type avoidList struct {
	calls  []avoidedCall
	parser func() *toolformat.Parser
	tok    *tokenizer.Tokenizer
}

type avoidedCall struct {
	name string
	args *jsontree.Value
}

// readAvoided reads avoid_calls: a list of calls, whose arguments are objects or, as in the OpenAI
// API, objects encoded as JSON text. Missing arguments count as an empty object.
func readAvoided(req *agent.Request) ([]avoidedCall, error) {
	raw, ok := req.Extra["avoid_calls"]
	if !ok {
		return nil, nil
	}
	var list []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, invalid(fmt.Errorf(`Request.Extra: avoid_calls must be a list of {"name", "arguments"}: %w`, err))
	}
	var calls []avoidedCall
	for i, c := range list {
		args, err := avoidedArguments(c.Arguments)
		if err != nil {
			return nil, invalid(fmt.Errorf("Request.Extra: avoid_calls[%d]: %w", i, err))
		}
		if c.Name == "" {
			return nil, invalid(fmt.Errorf("Request.Extra: avoid_calls[%d] has no name; give the tool's", i))
		}
		calls = append(calls, avoidedCall{c.Name, args})
	}
	return calls, nil
}

func avoidedArguments(raw json.RawMessage) (*jsontree.Value, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return jsontree.NewObject(), nil
	}
	v, err := jsontree.Parse(raw)
	if err == nil && v.Kind == jsontree.String {
		v, err = jsontree.Parse([]byte(v.Text()))
	}
	if err != nil {
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if v.Kind != jsontree.Object {
		return nil, fmt.Errorf("the arguments are %s, but those of a call are an object", v.Kind)
	}
	evenNumbers(v)
	return v, nil
}

// evenNumbers rewrites the whole numbers in v without fraction and exponent, so that 3, 3.0 and 3e0
// are equal.
func evenNumbers(v *jsontree.Value) {
	const exact = 1 << 53 // up to here, every whole number is exactly a float64
	if v.Kind == jsontree.Number && strings.ContainsAny(v.Raw(), ".eE") {
		if f, err := strconv.ParseFloat(v.Raw(), 64); err == nil && f == math.Trunc(f) && math.Abs(f) <= exact {
			*v = *jsontree.NewInt(int64(f))
		}
	}
	for _, x := range v.Items {
		evenNumbers(x)
	}
	for _, m := range v.Members {
		evenNumbers(m.Value)
	}
}

func (l *avoidList) empty() bool { return len(l.calls) == 0 }

// makes reports whether an answer with these tokens, complete or not, contains a call in the list.
func (l *avoidList) makes(tokens []scheduler.Token) bool {
	if l.empty() {
		return false
	}
	parser, decoder := l.parser(), l.tok.NewDecoder()
	var text strings.Builder
	for _, t := range tokens {
		if !t.Stop {
			text.WriteString(decoder.Write(t.ID))
		}
	}
	var calls []toolformat.Call
	for _, e := range parser.Feed(text.String()) {
		switch e.Kind {
		case toolformat.CallStart:
			calls = append(calls, toolformat.Call{Name: e.Name})
		case toolformat.CallDelta:
			calls[e.Index].Args = append(calls[e.Index].Args, e.Text...)
		case toolformat.CallEnd:
			if e.Problem == toolformat.None && l.has(calls[e.Index]) {
				return true
			}
		}
	}
	return false
}

func (l *avoidList) has(c toolformat.Call) bool {
	args, err := avoidedArguments(c.Args)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(l.calls, func(a avoidedCall) bool { return a.name == c.Name && a.args.Equal(args) })
}

// exhausted returns the error of a request whose answers are all avoided. The parameter complete
// reports whether there is certainly no other answer.
func (l *avoidList) exhausted(complete bool) error {
	why := "the likeliest answers all make one"
	if complete {
		why = "every answer that is possible makes one"
	}
	return &agent.ModelError{Kind: agent.ErrInvalid, Provider: provider, Err: fmt.Errorf(
		"%w: %s of these %d; shorten the list, or offer the model another tool or leave to answer in text", ErrAvoided, why, len(l.calls))}
}
