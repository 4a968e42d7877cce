package agent

import (
	"encoding/json"
	"fmt"

	"github.com/luthier-dev/luthier/agent/internal/jsonfit"
)

// OutputSchema asks for an answer whose text is JSON that a schema accepts. In [Config] it also has
// the final answer of a run checked: text around the JSON is removed, its syntax is repaired if
// that has a single interpretation, and the model is asked to correct what does not fit; see
// [Retry].Answers. Result.Output then holds the JSON. A [Model] only passes the schema on.
//
// An output of package tools makes the schema of a Go type, checks more, and decodes the answer.
type OutputSchema struct {
	Name   string
	Schema json.RawMessage
	// Check returns the JSON that is in an answer, or an error that says in words for the model
	// what is wrong. Nil checks the schema without formats, and without unevaluatedProperties,
	// unevaluatedItems and dynamic references.
	Check func(answer string) (json.RawMessage, error) `json:"-"`
}

// OutputError reports that the final answer did not fit Config.Output, although the model was asked
// to correct it. Its run stops with [StopOutput].
type OutputError struct {
	Name     string // of the schema
	Attempts int    // answers that did not fit
	Err      error  // what was wrong with the last one
}

// Error says what was wrong.
func (e *OutputError) Error() string {
	return fmt.Sprintf("agent: run: the answer does not fit the output schema %q, after %s: %v", e.Name, answersText(e.Attempts), e.Err)
}

// Unwrap returns what was wrong.
func (e *OutputError) Unwrap() error { return e.Err }

func answersText(n int) string {
	if n == 1 {
		return "1 answer"
	}
	return fmt.Sprintf("%d answers", n)
}

// checker returns the function that checks an answer.
func (o *OutputSchema) checker() (func(string) (json.RawMessage, error), error) {
	if o == nil || o.Check != nil {
		return o.check(), nil
	}
	s, err := jsonfit.Compile(o.Schema)
	if err != nil {
		return nil, fmt.Errorf("Config.Output.Schema: %w", err)
	}
	return s.Fit, nil
}

func (o *OutputSchema) check() func(string) (json.RawMessage, error) {
	if o == nil {
		return nil
	}
	return o.Check
}

// maxSchemaShown is the number of bytes up to which a schema is repeated to a model whose answer
// did not fit: a server that does not support output schemas did not show it.
const maxSchemaShown = 8 << 10

// checkOutput checks a final answer. If it does not fit, the model is asked again, and after
// Retry.Answers the run stops. It reports whether the loop continues.
func (r *run) checkOutput(resp *Response) (more bool) {
	answer := resp.Message.Text()
	out, fault := r.agent.output(answer)
	if fault == nil {
		r.res.Output = out
		if string(out) != answer {
			r.res.Message = withText(&resp.Message, string(out))
		}
		return false
	}
	o := r.agent.cfg.Output
	r.misfits++
	detail := "the answer does not fit the output schema: " + fault.Error()
	if r.misfits > r.agent.cfg.Retry.Answers {
		r.stop(StopOutput, detail)
		r.res.Err = &OutputError{Name: o.Name, Attempts: r.misfits, Err: fault}
		return false
	}
	schema := ""
	if len(o.Schema) > 0 && len(o.Schema) <= maxSchemaShown {
		schema = " The schema is:\n" + string(o.Schema)
	}
	r.reminders = append(r.reminders, promptText(outputPrompt, "{fault}", fault.Error(), "{schema}", schema))
	r.out.send(AskedAgain{Attempt: r.misfits, Stop: StopOutput, Detail: detail})
	return true
}

// withText returns a copy of a message whose texts are replaced by one.
func withText(m *Message, text string) *Message {
	out := Message{Role: m.Role}
	for _, p := range m.Parts {
		if _, ok := p.(Text); !ok {
			out.Parts = append(out.Parts, p)
		}
	}
	out.Parts = append(out.Parts, Text{Text: text})
	return &out
}
