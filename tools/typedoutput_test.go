package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/tools"
)

type finding struct {
	File string        `json:"file"`
	Line int           `json:"line" jsonschema:"minimum=1"`
	Sev  string        `json:"sev" jsonschema:"enum=low,enum=high"`
	Took time.Duration `json:"took,omitempty"`
}

type ReviewReport struct {
	Findings []finding `json:"findings"`
	Rounds   int       `json:"rounds" jsonschema:"default=1"`
}

// A run with a typed output ends with a value of the Go type, or with an error that says what does
// not fit, never with a value that the model did not write.
//
// Evidence: tools · The final answer of a run is a value of a Go type
func TestOutput(t *testing.T) {
	out, err := tools.Output[ReviewReport](tools.WithCheck(func(r ReviewReport) error {
		if len(r.Findings) > 2 {
			return errors.New("findings: give the two worst ones only")
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Spec().Name; got != "review_report" {
		t.Errorf("name %q", got)
	}
	one := ReviewReport{Findings: []finding{{File: "a.go", Line: 3, Sev: "high"}}, Rounds: 1}
	good := `{"findings":[{"file":"a.go","line":3,"sev":"high"}]}`
	for name, tc := range map[string]struct {
		answer string
		want   ReviewReport
		says   string // if the model is asked again
	}{
		"as it is":         {good, one, ""},
		"fence":            {"Here:\n```json\n" + good + "\n```", one, ""},
		"code around":      {"In `f(x) { return }`:\n" + good, one, ""},
		"number as text":   {`{"findings":[{"file":"a.go","line":"3","sev":"high"}]}`, one, ""},
		"case of an enum":  {`{"findings":[{"file":"a.go","line":3,"sev":"High"}]}`, one, ""},
		"duration":         {`{"findings":[{"file":"a.go","line":3,"sev":"high","took":"1m30s"}],"rounds":2}`, ReviewReport{[]finding{{"a.go", 3, "high", 90 * time.Second}}, 2}, ""},
		"null for absent":  {`{"findings":[{"file":"a.go","line":3,"sev":"high","took":null}],"rounds":null}`, one, ""},
		"cut off":          {`{"findings":[{"file":"a.go","line":3,"se`, one, "not valid JSON"},
		"wrong enum":       {`{"findings":[{"file":"a.go","line":3,"sev":"severe"}]}`, one, "findings[0].sev: want one of"},
		"missing":          {`{"findings":[{"file":"a.go","sev":"low"}]}`, one, "findings[0].line: missing"},
		"something else":   {`{"error":"no such file"}`, one, "error: unknown member"},
		"overflow":         {`{"findings":[],"rounds":99999999999999999999}`, one, "rounds"},
		"the host's check": {`{"findings":[` + strings.Repeat(`{"file":"a.go","line":3,"sev":"low"},`, 2) + `{"file":"a.go","line":3,"sev":"low"}]}`, one, "the two worst ones"},
	} {
		t.Run(name, func(t *testing.T) {
			m := agenttest.Script(agenttest.Text(tc.answer), agenttest.Text(good))
			a, err := agent.New(agent.Config{Model: m, Output: out.Spec()})
			if err != nil {
				t.Fatal(err)
			}
			res, err := a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "review"}).Collect()
			if err != nil {
				t.Fatal(err)
			}
			got, err := out.Value(res)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			asked := ""
			if rs := m.Requests(); len(rs) > 1 {
				asked = rs[1].Messages[len(rs[1].Messages)-1].Text()
			}
			if (asked != "") != (tc.says != "") || !strings.Contains(asked, tc.says) || strings.Contains(asked, "rgument") {
				t.Errorf("the model was asked %q, want %q in it", asked, tc.says)
			}
		})
	}
}

// Value says why there is no answer.
func TestOutputWithoutValue(t *testing.T) {
	out, err := tools.Output[ReviewReport]()
	if err != nil {
		t.Fatal(err)
	}
	m := agenttest.Script(agenttest.Text("no"), agenttest.Text("no"), agenttest.Text("no"))
	a, err := agent.New(agent.Config{Model: m, Output: out.Spec()})
	if err != nil {
		t.Fatal(err)
	}
	res, _ := a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "review"}).Collect()
	_, err = out.Value(res)
	if oe, ok := errors.AsType[*agent.OutputError](err); !ok || oe.Name != "review_report" || oe.Attempts != 3 {
		t.Errorf("error %v", err)
	}
	for _, res := range []*agent.Result{nil, {Stop: agent.StopSteps, Detail: "the limit"}} {
		if v, err := out.Value(res); err == nil || len(v.Findings) > 0 {
			t.Errorf("%+v: %+v, %v", res, v, err)
		}
	}
}

// Output takes any type with a schema, and reports what it cannot take.
func TestOutputTypes(t *testing.T) {
	list, err := tools.Output[[]int](tools.WithSchema(json.RawMessage(`{"type":"array","items":{"type":"integer"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := list.Parse("The list: [1, 2, 3.0]"); err != nil || !cmp.Equal(v, []int{1, 2, 3}) {
		t.Errorf("%v, %v", v, err)
	}
	for name, f := range map[string]func() error{
		"no struct": func() error { _, err := tools.Output[[]int](); return err },
		"map":       func() error { _, err := tools.Output[map[string]int](); return err },
		"function":  func() error { _, err := tools.Output[struct{ F func() }](); return err },
		"other check": func() error {
			_, err := tools.Output[finding](tools.WithCheck(func(int) error { return nil }))
			return err
		},
		"effects": func() error { _, err := tools.Output[finding](tools.WithEffects(agent.ReadOnly())); return err },
		"example": func() error { _, err := tools.Output[finding](tools.WithExamples(finding{})); return err },
		"schema": func() error {
			_, err := tools.Output[finding](tools.WithSchema(json.RawMessage(`{"type":5}`)))
			return err
		},
	} {
		if err := f(); err == nil || !strings.HasPrefix(err.Error(), "tools: output ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := tools.Output[*finding](); err != nil || p.Spec().Name != "finding" {
		t.Errorf("pointer: %v", err)
	}
}
