package agenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// ConformanceOption changes what [Conformance] runs.
type ConformanceOption func(*conformance)

type conformance struct{ skip map[string]string }

// Skip leaves a scenario out and logs the reason. Use it for limits that [agent.Capabilities]
// cannot express.
func Skip(scenario, reason string) ConformanceOption {
	return func(c *conformance) { c.skip[scenario] = reason }
}

// Conformance runs every scenario of [Scenarios] against the models that newModel returns, each as
// a subtest. The models must connect to a server that knows the scenarios, see [NewServer]. A
// scenario that needs a capability missing from a model's [agent.Capabilities] is skipped with the
// reason.
func Conformance(t *testing.T, newModel func() agent.Model, opts ...ConformanceOption) {
	t.Helper()
	c := conformance{skip: map[string]string{}}
	for _, o := range opts {
		o(&c)
	}
	for name := range c.skip {
		if _, ok := FindScenario(name); !ok {
			t.Errorf("agenttest: skip %q: no such scenario", name)
		}
	}
	for _, sc := range Scenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			m := newModel()
			caps, _ := agent.CapabilitiesOf(m)
			if why := sc.Missing(caps); why != "" {
				t.Skip(why)
			}
			if why, ok := c.skip[sc.Name]; ok {
				t.Skip(why)
			}
			if err := Check(t.Context(), m, sc); err != nil {
				t.Errorf("%s\n%v", sc.About, err)
			}
		})
	}
}

// scenarioLimit is the time limit of one scenario.
const scenarioLimit = 60 * time.Second

// Check runs one scenario against a model, whatever its capabilities, and returns an error that
// says what is wrong.
func Check(ctx context.Context, m agent.Model, sc Scenario) error {
	ctx, cancel := context.WithTimeout(ctx, scenarioLimit)
	defer cancel()
	drive := sc.drive
	if drive == nil {
		drive = expect
	}
	return drive(ctx, m, sc)
}

// driver runs a scenario in its own way.
type driver func(ctx context.Context, m agent.Model, sc Scenario) error

// expect streams every exchange in turn and compares the responses with what the server sent.
func expect(ctx context.Context, m agent.Model, sc Scenario) error {
	var answers []*agent.Response
	for i, ex := range sc.Exchanges {
		got, err := stream(ctx, m, ex.Request(answers))
		if got.fault != nil {
			return fmt.Errorf("exchange %d: %w", i+1, got.fault)
		}
		if err := ex.judge(m, got, err); err != nil {
			return fmt.Errorf("exchange %d: %w", i+1, err)
		}
		answers = append(answers, got.response)
	}
	return nil
}

// judge compares the outcome of an exchange with its expectation.
func (ex *Exchange) judge(m agent.Model, got *streamed, err error) error {
	if err != nil {
		if strings.Contains(err.Error(), refused) || len(ex.Kinds) == 0 {
			return fmt.Errorf("unexpected error: %w", err)
		}
		return ex.judgeError(m, err)
	}
	if len(ex.Kinds) > 0 && !ex.KindsOrReply {
		return fmt.Errorf("no error, want one of kind %v; got %+v", ex.Kinds, got.response)
	}
	caps, _ := agent.CapabilitiesOf(m)
	return compare(ex.Reply.Events, got.response, caps)
}

func (ex *Exchange) judgeError(m agent.Model, err error) error {
	var me *agent.ModelError
	if !errors.As(err, &me) {
		return fmt.Errorf("the error is a %T, want a *agent.ModelError: %w", err, err)
	}
	caps, _ := agent.CapabilitiesOf(m)
	if !caps.TypedErrors {
		return nil
	}
	if !slices.Contains(ex.Kinds, me.Kind) {
		return fmt.Errorf("the error has kind %q, want one of %q: %w", me.Kind, ex.Kinds, err)
	}
	if want := ex.Reply.Status; want != 0 && me.Status != want {
		return fmt.Errorf("the error has status %d, want %d: %w", me.Status, want, err)
	}
	if want := ex.Reply.message(); !strings.Contains(err.Error(), want) {
		return fmt.Errorf("the error does not hold the provider's words %q: %w", want, err)
	}
	return nil
}

// message returns the provider's explanation of a failure.
func (r *Reply) message() string {
	if r.Status != 0 {
		if r.HTML {
			return ""
		}
		return r.Failure.Message
	}
	for _, ev := range r.Events {
		if f, ok := ev.(WireFailure); ok {
			return f.Failure.Message
		}
	}
	return ""
}

// outcome holds the parts of a response that are compared.
type outcome struct {
	Text     string
	Thinking []agent.Thinking
	Calls    []calledTool
	Opaque   int
	Usage    agent.Usage
	Finish   agent.FinishReason
}

// calledTool is an agent.ToolCall whose arguments are compared and printed as text.
type calledTool struct{ ID, Name, Args string }

// compare compares a response with the events that were sent.
func compare(sent []WireEvent, resp *agent.Response, caps agent.Capabilities) error {
	want, got := wantOutcome(sent), gotOutcome(resp)
	for i := range got.Thinking {
		t := &got.Thinking[i]
		if t.Provider == "" && (t.Signature != "" || t.Redacted != nil) {
			return fmt.Errorf("signed reasoning comes without its Provider, so that another provider may be sent it: %+v", *t)
		}
		t.Provider = "" // the name that a model reports for itself is not part of the wire format
	}
	if !caps.Usage {
		want.Usage, got.Usage = agent.Usage{}, agent.Usage{}
	}
	if want.Finish == agent.FinishFilter && got.Finish == agent.FinishRefusal {
		got.Finish = agent.FinishFilter
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("the response differs (-sent +got):\n%s", clip(diff))
	}
	return nil
}

func clip(s string) string {
	if len(s) > 4000 {
		return s[:4000] + " ..."
	}
	return s
}

// wantOutcome folds the server's events into the expected outcome.
func wantOutcome(sent []WireEvent) outcome {
	var o outcome
	args := map[int]int{}
	open := false
	for _, ev := range sent {
		th, thinking := ev.(WireThinking)
		if !thinking {
			open = false
		}
		switch ev := ev.(type) {
		case WireText:
			o.Text += ev.Text
		case WireThinking:
			if !open {
				o.Thinking = append(o.Thinking, agent.Thinking{})
			}
			last := &o.Thinking[len(o.Thinking)-1]
			last.Text += th.Text
			last.Signature, last.Redacted = th.Signature, th.Redacted
			open = th.Signature == "" && th.Redacted == nil
		case WireCallStart:
			args[ev.Index] = len(o.Calls)
			o.Calls = append(o.Calls, calledTool{ID: ev.ID, Name: ev.Name})
		case WireCallArgs:
			call := &o.Calls[args[ev.Index]]
			call.Args += ev.Args
		case WireOpaque:
			o.Opaque++
		case WireUsage:
			o.Usage = ev.Usage
		case WireFinish:
			o.Finish = ev.Reason
		}
	}
	for i := range o.Calls {
		if o.Calls[i].Args == "" {
			o.Calls[i].Args = "{}"
		}
	}
	return o
}

func gotOutcome(resp *agent.Response) outcome {
	o := outcome{Text: resp.Message.Text(), Usage: resp.Usage, Finish: resp.Finish}
	for _, p := range resp.Message.Parts {
		switch p := p.(type) {
		case agent.Thinking:
			o.Thinking = append(o.Thinking, p)
		case agent.Opaque:
			o.Opaque++
		case agent.ToolCall:
			o.Calls = append(o.Calls, calledTool{p.ID, p.Name, string(p.Args)})
		}
	}
	return o
}
