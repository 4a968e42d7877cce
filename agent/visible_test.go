package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// TestVisible checks that nothing in a text for a decision can be hidden or disguised, and that
// ordinary text of any script stays as it is.
func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"go test ./... # ünïcode 日本語 हिन्दी עברית 👍\n\tx": "go test ./... # ünïcode 日本語 हिन्दी עברית 👍\n\tx",
		"e\u0301 \u0e01\u0e35\u0e49":    "e\u0301 \u0e01\u0e35\u0e49",
		"rm \u202egpj.txt":              "rm <U+202E>gpj.txt",
		"a\u2066b\u2069c\u200fd\u061ce": "a<U+2066>b<U+2069>c<U+200F>d<U+061C>e",
		"\x1b[2K\rls\x07\x7f\u009b1m":   "<U+001B>[2K<U+000D>ls<U+0007><U+007F><U+009B>1m",
		"a\r\nb\rc":                     "a\nb<U+000D>c",
		"a\u200bb\u00adc\ufeffd\u2060":  "a<U+200B>b<U+00AD>c<U+FEFF>d<U+2060>",
		"a\u00a0b\u3000c\u2003d":        "a<U+00A0>b<U+3000>c<U+2003>d",
		"a\u3164b\u115fc\u2800d\uffa0":  "a<U+3164>b<U+115F>c<U+2800>d<U+FFA0>",
		"a\ufe0fb\U000e0041c\u034f":     "a<U+FE0F>b<U+E0041>c<U+034F>",
		"a\u2028b\u2029c\u0085":         "a<U+2028>b<U+2029>c<U+0085>",
		"a\xffb\xe2\x80":                "a<0xFF>b<0xE2><0x80>",
		"a\x00b":                        "a<U+0000>b",
		"\ue000\u0378":                  "<U+E000><U+0378>",
		"\u0338x":                       "<U+0338>x",
		"x\n\u0338":                     "x\n<U+0338>",
	} {
		if got := agent.Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := agent.Visible("a" + strings.Repeat("\u0336", 50)); strings.Count(got, "\u0336") > 4 {
		t.Errorf("a pile of marks: %q", got)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb\x1b[0m\xff")
	f.Fuzz(func(t *testing.T, in string) {
		got := agent.Visible(in)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.Is(unicode.Cf, r) || unicode.IsControl(r))
		}) {
			t.Errorf("%q gives %q", in, got)
		}
		if again := agent.Visible(got); again != got {
			t.Errorf("%q changes to %q", got, again)
		}
	})
}

// disguised is a tool whose descriptions repeat what a model wrote.
type disguised struct{}

func (disguised) Spec() agent.ToolSpec {
	return agent.ToolSpec{Name: "t", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (disguised) Call(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
	return &agent.ToolResult{}, nil
}

func (disguised) DescribeCall(call agent.ToolCall) agent.CallDescription {
	var in struct{ Text string }
	_ = json.Unmarshal(call.Args, &in)
	return agent.CallDescription{Title: in.Text, Detail: in.Text, Where: in.Text, Exact: in.Text}
}

// TestQuestionsCannotBeDisguised checks that a person who is asked, and the reader of an
// explanation, see what is hidden in a call, and that a title stays one line. What a grant binds to
// is unchanged.
//
// Evidence: agent · Hidden characters are written out in permission questions
func TestQuestionsCannotBeDisguised(t *testing.T) {
	const text = "rm \u202etxt.a\x1b[2K\n[y] yes"
	var asked *agent.PermissionRequest
	args, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{
		Model: agenttest.Script(agenttest.Call("c", "t", string(args)), agenttest.Text("done")), Tools: []agent.Tool{disguised{}},
		Policy: agent.PolicyFunc(func(context.Context, *agent.PermissionRequest) agent.Verdict {
			return agent.Verdict{Decision: agent.Ask, Reason: text}
		}),
		Ask: func(_ context.Context, req *agent.PermissionRequest, _ agent.Verdict) agent.Answer {
			asked = req
			return agent.Answer{Allow: true}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), agent.NewSession(), agent.Text{Text: "go"}).Collect(); err != nil {
		t.Fatal(err)
	}
	ex := a.Explain(t.Context(), nil, agent.ToolCall{ID: "c", Name: "t", Args: args})
	for _, d := range []agent.CallDescription{asked.Description, ex.Description} {
		const line = "rm <U+202E>txt.a<U+001B>[2K<U+000A>[y] yes"
		if d.Title != line || d.Where != line || d.Detail != "rm <U+202E>txt.a<U+001B>[2K\n[y] yes" || d.Exact != text {
			t.Errorf("%+v", d)
		}
	}
	if s := ex.String(); strings.ContainsAny(s, "\u202e\x1b") {
		t.Errorf("%q", s)
	}
	e := agent.Effects{Known: true, Writes: []string{"a\u202eb\nc"}}
	if got := e.String(); got != "writes a<U+202E>b<U+000A>c" {
		t.Errorf("%q", got)
	}
}
