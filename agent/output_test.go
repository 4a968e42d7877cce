package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

const reportSchema = `{"type":"object","properties":{
 "findings":{"type":"array","items":{"type":"object","properties":{
  "file":{"type":"string"},"line":{"type":"integer","minimum":1},"sev":{"enum":["low","high"]},"note":{"type":"string"}},
  "required":["file","line","sev"],"additionalProperties":false}}},
 "required":["findings"],"additionalProperties":false}`

func text(s string) []agent.Chunk { return finish(agent.FinishStop, agent.TextDelta{Text: s}) }

// runOutput runs a model that gives answers in turn, with an output schema.
func runOutput(t *testing.T, cfg agent.Config, list ...[]agent.Chunk) (*answers, *agent.Session, *agent.Result, []agent.Event, error) {
	t.Helper()
	m := &answers{list: list}
	cfg.Model = m
	if cfg.Output == nil {
		cfg.Output = &agent.OutputSchema{Name: "report", Schema: json.RawMessage(reportSchema)}
	}
	s := agent.NewSession()
	res, evs, err := tryRun(configured(t, cfg), s, "review")
	return m, s, res, evs, err
}

const fits = `{"findings":[{"file":"a.go","line":3,"sev":"high"}]}`

// A final answer that does not fit Config.Output is never the end of a run that is done: the model
// is asked to correct it, in words that say what is wrong, and what it spends on that counts.
//
// Evidence: loop · A final answer that breaks its output schema is corrected by the model
func TestOutputIsChecked(t *testing.T) {
	for name, tc := range map[string]struct{ answer, says string }{
		"prose that is cut off": {"Sure! Here is it: {...", "cut off"},
		"prose":                 {"I found nothing.", "want object"},
		"cut off":               {`{"findings":[{"file":"a.go","line":3,"sev":"hi`, "cut off"},
		"wrong type":            {`{"findings":"none"}`, "findings: want array, got the text \"none\""},
		"missing":               {`{"findings":[{"file":"a.go","sev":"low"}]}`, "findings[0].line: missing"},
		"enum":                  {`{"findings":[{"file":"a.go","line":3,"sev":"medium"}]}`, `findings[0].sev: want one of "low", "high", got the text "medium"`},
		"minimum":               {`{"findings":[{"file":"a.go","line":0,"sev":"low"}]}`, "findings[0].line: want at least 1, got 0"},
		"fraction":              {`{"findings":[{"file":"a.go","line":1.5,"sev":"low"}]}`, "findings[0].line: want integer, got the number 1.5"},
		"unknown member":        {`{"findings":[],"summary":"none"}`, "summary: unknown member"},
		"required null":         {`{"findings":null}`, "findings: want array, got null"},
		"twice":                 {`{"findings":[],"findings":[]}`, "findings: given twice"},
		"a list":                {`[]`, "the answer: want object, got a list"},
		"two answers":           {fits + "\nor\n" + `{"findings":[]}`, "several JSON values"},
		"the schema itself":     {reportSchema, "unknown member"},
	} {
		t.Run(name, func(t *testing.T) {
			m, s, res, evs, err := runOutput(t, agent.Config{}, text(tc.answer), text(fits))
			if err != nil || res.Stop != agent.StopDone || string(res.Output) != fits || res.Text() != fits || len(m.requests) != 2 {
				t.Fatalf("stop %q (%s), output %s, %d requests, err %v", res.Stop, res.Detail, res.Output, len(m.requests), err)
			}
			var asked []agent.AskedAgain
			for _, ev := range evs {
				if a, ok := ev.(agent.AskedAgain); ok {
					asked = append(asked, a)
				}
			}
			if len(asked) != 1 || asked[0].Stop != agent.StopOutput || !strings.Contains(asked[0].Detail, tc.says) {
				t.Errorf("events %+v, want one that says %q", asked, tc.says)
			}
			ms := m.requests[1].Messages
			if got := ms[len(ms)-1].Text(); !strings.Contains(got, tc.says) || ms[len(ms)-2].Text() != tc.answer {
				t.Errorf("the model was asked %q after %q", got, ms[len(ms)-2].Text())
			}
			if want := (agent.Usage{Input: 20, Output: 2}); res.Usage != want || res.Steps != 2 {
				t.Errorf("usage %+v in %d steps, want %+v in 2", res.Usage, res.Steps, want)
			}
			if total, _ := s.Usage(); total != res.Usage {
				t.Errorf("session usage %+v", total)
			}
		})
	}
}

// JSON that stands in fences or prose, or whose syntax has one reading, is taken without a question
// to the model, in its repaired form.
func TestOutputIsRepaired(t *testing.T) {
	for name, answer := range map[string]string{
		"as it is":             fits,
		"fence":                "```json\n" + fits + "\n```",
		"fence without a name": "```\n" + fits + "\n```",
		"prose and a fence":    "Here is the report:\n\n```json\n" + fits + "\n```\nLet me know if it's fine!",
		"prose with code":      "I looked at `func f() { return }` and the list [line 3].\n```json\n" + fits + "\n```",
		"prose":                "The report: " + fits + " That's all.",
		"thoughts":             "<think>a set {x} or {\"findings\":[{}]}?</think>\n" + fits,
		"trailing comma":       `{"findings":[{"file":"a.go","line":3,"sev":"high"},]}`,
		"python":               `{'findings':[{'file':'a.go','line':3,'sev':'high'}]}`,
		"byte order mark":      "\ufeff" + fits,
		"null for absent":      `{"findings":[{"file":"a.go","line":3,"sev":"high","note":null}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m, s, res, _, err := runOutput(t, agent.Config{}, text(answer))
			if err != nil || res.Stop != agent.StopDone || string(res.Output) != fits || res.Text() != fits || len(m.requests) != 1 {
				t.Fatalf("stop %q (%s), output %s, %d requests, err %v", res.Stop, res.Detail, res.Output, len(m.requests), err)
			}
			if got := s.Messages()[1].Text(); got != answer {
				t.Errorf("the history holds %q, not what the model wrote", got)
			}
		})
	}
}

// A model that never gives an answer of the right form ends the run after Retry.Answers, with a
// reason of its own and an error that says what did not fit.
func TestOutputEnds(t *testing.T) {
	bad := text(`{"findings":[{"file":"a.go","line":"three","sev":"low"}]}`)
	for limit, want := range map[int]int{0: 3, 1: 2, 4: 5, -1: 1} {
		m, _, res, _, err := runOutput(t, agent.Config{Retry: agent.Retry{Answers: limit}}, bad)
		oe, ok := errors.AsType[*agent.OutputError](err)
		if res.Stop != agent.StopOutput || !ok || res.Err != err || len(m.requests) != want || oe.Attempts != want || res.Output != nil {
			t.Errorf("Answers %d: stop %q after %d requests, err %v", limit, res.Stop, len(m.requests), err)
			continue
		}
		if !strings.Contains(err.Error(), `findings[0].line: want integer, got the text "three"`) {
			t.Errorf("error %q", err)
		}
	}
}

// A run with tools and an output schema calls the tools first; calls between two bad answers do not
// make the number of questions start again. A call that is written as text is asked for as a call.
func TestOutputWithTools(t *testing.T) {
	call := finish(agent.FinishTools, agent.ToolCallStart{ID: "1", Name: "look"}, agent.ToolCallDelta{Args: "{}"})
	m, s, res, _, err := runOutput(t, agent.Config{Tools: []agent.Tool{okTool("look")}}, call, text("none"), call, text(fits))
	if err != nil || string(res.Output) != fits || res.Calls != 2 || len(m.requests) != 4 || agent.CheckPairing(s.Messages()) != nil {
		t.Errorf("stop %q, output %s, %d requests, err %v", res.Stop, res.Output, len(m.requests), err)
	}
	m, _, res, _, err = runOutput(t, agent.Config{Tools: []agent.Tool{okTool("look")}}, text("a"), call, text("b"), call, text("c"), call, text(fits))
	if err == nil || res.Stop != agent.StopOutput || len(m.requests) != 5 {
		t.Errorf("stop %q after %d requests, err %v", res.Stop, len(m.requests), err)
	}
	_, _, _, evs, _ := runOutput(t, agent.Config{Tools: []agent.Tool{okTool("look")}}, text(`<tool_call>{"name":"look","arguments":{}}</tool_call>`), text(fits))
	for _, ev := range evs {
		if a, ok := ev.(agent.AskedAgain); ok && a.Stop != agent.StopMalformed {
			t.Errorf("a call as text: %+v", a)
		}
	}
}

// The host's own check decides if there is one, Verify sees only answers that fit, limits end the
// questions, and a plan is text without a schema.
func TestOutputAndTheRest(t *testing.T) {
	own := &agent.OutputSchema{Name: "n", Check: func(answer string) (json.RawMessage, error) {
		if answer != "three" {
			return nil, fmt.Errorf("want three")
		}
		return json.RawMessage("3"), nil
	}}
	if _, _, res, _, err := runOutput(t, agent.Config{Output: own}, text("two"), text("three")); err != nil || string(res.Output) != "3" {
		t.Errorf("own check: output %s, err %v", res.Output, err)
	}
	verified := 0
	verify := func(context.Context, *agent.Session) (string, error) { verified++; return "", nil }
	if _, _, res, _, err := runOutput(t, agent.Config{Verify: verify}, text("no"), text(fits)); err != nil || verified != 1 || res.Stop != agent.StopDone {
		t.Errorf("verified %d times, stop %q, err %v", verified, res.Stop, err)
	}
	if _, _, res, _, err := runOutput(t, agent.Config{Limits: agent.Limits{Steps: 1}}, text("no"), text(fits)); err != nil || res.Stop != agent.StopSteps {
		t.Errorf("stop %q, err %v", res.Stop, err)
	}
	m := &answers{list: [][]agent.Chunk{text("1. read\n2. write")}}
	a := configured(t, agent.Config{Model: m, Output: &agent.OutputSchema{Name: "report", Schema: json.RawMessage(reportSchema)}})
	if res, err := a.Plan(context.Background(), agent.NewSession(), agent.Text{Text: "go"}).Collect(); err != nil || res.Stop != agent.StopDone || m.requests[0].Output != nil {
		t.Errorf("plan: stop %q, schema %v, err %v", res.Stop, m.requests[0].Output, err)
	}
	for _, schema := range []string{`{"type":`, `{"$ref":"#/$defs/none"}`, `{"$ref":"https://example.com/s"}`, `{"minLength":"x"}`, `5`} {
		if _, err := agent.New(agent.Config{Model: m, Output: &agent.OutputSchema{Schema: json.RawMessage(schema)}}); err == nil || !strings.Contains(err.Error(), "Config.Output.Schema") {
			t.Errorf("schema %s: %v", schema, err)
		}
	}
}

// The answer of a sub-agent with an output schema is checked too, and the caller reads the JSON.
func TestOutputOfSubAgent(t *testing.T) {
	sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{
		Model: &answers{list: [][]agent.Chunk{text("hm"), text("```json\n" + fits + "\n```")}}, Output: &agent.OutputSchema{Name: "report", Schema: json.RawMessage(reportSchema)}}})
	if err != nil {
		t.Fatal(err)
	}
	call := finish(agent.FinishTools, agent.ToolCallStart{ID: "1", Name: "agent"}, agent.ToolCallDelta{Args: `{"task":"review"}`})
	s := agent.NewSession()
	res, _ := run(t, configured(t, agent.Config{Model: &answers{list: [][]agent.Chunk{call, text("ok")}}, Tools: []agent.Tool{sub}}), s, "go")
	if diff := cmp.Diff([]string{fits}, resultTexts(s, 0)); diff != "" || res.Usage != (agent.Usage{Input: 40, Output: 4}) {
		t.Errorf("usage %+v (-want +got):\n%s", res.Usage, diff)
	}
}
