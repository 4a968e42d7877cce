package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

type editIn struct {
	Path    string        `json:"path" jsonschema:"description=file to edit, relative to the root,minLength=1"`
	Limit   int           `json:"limit" jsonschema:"default=10,minimum=1"`
	Timeout time.Duration `json:"timeout,omitempty"`
	Tags    []string      `json:"tags,omitempty"`
	Mode    string        `json:"mode,omitempty" jsonschema:"enum=fast,enum=slow"`
}

func mustNew[In, Out any](t testing.TB, name string, fn func(context.Context, In) (Out, error), opts ...Option) agent.Tool {
	t.Helper()
	tool, err := New(name, "A tool for tests.", fn, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func echo(_ context.Context, in editIn) (editIn, error) { return in, nil }

// Evidence: tools · A Go function becomes a tool with checked arguments
func TestCall(t *testing.T) {
	tool := mustNew(t, "edit", echo, WithCheck(func(in editIn) error {
		if in.Mode == "fast" && in.Limit > 50 {
			return errors.New("fast mode takes a limit of at most 50")
		}
		return nil
	}))
	tests := []struct{ name, args, want, fault string }{
		{"right", `{"path":"a","limit":3}`, `{"path":"a","limit":3}`, ""},
		{"defaults", `{"path":"a"}`, `{"path":"a","limit":10}`, ""},
		{"strict mode's nulls", `{"path":"a","limit":null,"timeout":null,"tags":null,"mode":null}`, `{"path":"a","limit":10}`, ""},
		{"duration", `{"path":"a","timeout":"1m30s"}`, `{"path":"a","limit":10,"timeout":"1m30s"}`, ""},
		{"whole number", `{"path":"a","limit":5.0}`, `{"path":"a","limit":5}`, ""},
		{"mended", `{'Path': 'a', 'limit': '4', 'tags': 'x',}`, `{"path":"a","limit":4,"tags":["x"]}` + "\n[Your arguments were repaired: removed a comma after the last element; wrote strings in double quotes; path: was named \"Path\"; limit: read the text as a number; tags: put the single value into a list. Write them in that form next time.]", ""},
		{"cut off", `{"path":"a","tags":["x`, "", "edit was not run: the arguments are not valid JSON: at byte 22: the text ends inside a string"},
		{"missing", `{}`, "", "edit was not run: path: missing (string). Arguments: {path: string, limit?: integer"},
		{"nothing", ``, "", "path: missing"},
		{"bad duration", `{"path":"a","timeout":"5"}`, "", `timeout: want a duration such as "30s" or "1m30s", got the text "5"`},
		{"huge duration", `{"path":"a","timeout":"99999999999h"}`, "", "is not a duration"},
		{"check", `{"path":"a","mode":"fast","limit":60}`, "", "edit was not run: fast mode takes a limit of at most 50"},
		{"an int that does not fit", `{"path":"a","limit":99999999999999999999}`, "", "limit: number 99999999999999999999 does not fit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := tool.Call(t.Context(), agent.ToolCall{ID: "1", Name: "edit", Args: json.RawMessage(tt.args)})
			if tt.fault != "" {
				var ae *ArgsError
				if !errors.As(err, &ae) || !strings.Contains(err.Error(), tt.fault) || len(ae.Faults) == 0 {
					t.Fatalf("error %v, want %q", err, tt.fault)
				}
				if ae.Truncated != (tt.name == "cut off") {
					t.Errorf("truncated = %v", ae.Truncated)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, res.Text()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResults(t *testing.T) {
	img := agent.Image{MediaType: "image/png", Data: []byte{1}}
	shared := agent.TextResult("shared")
	tests := []struct {
		name string
		tool agent.Tool
		want []agent.Part
	}{
		{"string", mustNew(t, "x", func(context.Context, struct{}) (string, error) { return "<a> & b", nil }), []agent.Part{agent.Text{Text: "<a> & b"}}},
		{"bytes", mustNew(t, "x", func(context.Context, struct{}) ([]byte, error) { return []byte("b"), nil }), []agent.Part{agent.Text{Text: "b"}}},
		{"raw", mustNew(t, "x", func(context.Context, struct{}) (json.RawMessage, error) { return json.RawMessage(`{"a": 1}`), nil }), []agent.Part{agent.Text{Text: `{"a": 1}`}}},
		{"result", mustNew(t, "x", func(context.Context, struct{}) (*agent.ToolResult, error) { return shared, nil }), shared.Parts},
		{"nil result", mustNew(t, "x", func(context.Context, struct{}) (*agent.ToolResult, error) { return nil, nil }), []agent.Part{agent.Text{Text: "Done."}}},
		{"result value", mustNew(t, "x", func(context.Context, struct{}) (agent.ToolResult, error) { return *shared, nil }), shared.Parts},
		{"part", mustNew(t, "x", func(context.Context, struct{}) (agent.Image, error) { return img, nil }), []agent.Part{img}},
		{"parts", mustNew(t, "x", func(context.Context, struct{}) ([]agent.Part, error) {
			return []agent.Part{img, agent.Text{Text: "t"}}, nil
		}), []agent.Part{img, agent.Text{Text: "t"}}},
		{"nothing", mustNew(t, "x", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }), []agent.Part{agent.Text{Text: "Done."}}},
		{"struct", mustNew(t, "x", func(context.Context, struct{}) (any, error) { return map[string]any{"u": "a<b", "n": 1.5}, nil }), []agent.Part{agent.Text{Text: `{"n":1.5,"u":"a<b"}`}}},
		{"pointer in", mustNew(t, "x", func(_ context.Context, in *struct{}) (bool, error) { return in != nil, nil }), []agent.Part{agent.Text{Text: `true`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := tt.tool.Call(t.Context(), agent.ToolCall{Args: json.RawMessage(`{}`)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, res.Parts); diff != "" {
				t.Error(diff)
			}
		})
	}
	bad := mustNew(t, "x", func(context.Context, struct{}) (any, error) { return make(chan int), nil })
	if _, err := bad.Call(t.Context(), agent.ToolCall{}); err == nil || !strings.Contains(err.Error(), "the call ran, but") {
		t.Error(err)
	}
	partial := mustNew(t, "x", func(context.Context, struct{}) (*agent.ToolResult, error) {
		return agent.TextResult("half of it"), errors.New("exit status 1")
	})
	if res, err := partial.Call(t.Context(), agent.ToolCall{}); err != nil || !res.IsError || res.Text() != "half of it\nexit status 1" {
		t.Errorf("partial output: %v %v", res, err)
	}
}

func TestNewRefuses(t *testing.T) {
	type rec struct{ Next *rec }
	fn := func(context.Context, struct{}) (string, error) { return "", nil }
	tests := map[string]func() error{
		"a name is 1 to 64": func() error { _, err := New("a b", "", fn); return err },
		"name is 1 to 64":   func() error { _, err := New("", "", fn); return err },
		"function is nil":   func() error { _, err := New[struct{}, string]("a", "", nil); return err },
		"not a struct": func() error {
			_, err := New("a", "", func(context.Context, string) (string, error) { return "", nil })
			return err
		},
		"contains itself": func() error {
			_, err := New("a", "", func(context.Context, rec) (string, error) { return "", nil })
			return err
		},
		"WithCallEffects was given": func() error {
			_, err := New("a", "", fn, WithCallEffects(func(editIn) agent.Effects { return agent.Effects{} }))
			return err
		},
		"example 1: path: missing": func() error { _, err := New("a", "", echo, WithExamples(map[string]any{})); return err },
		"compile schema": func() error {
			_, err := New("a", "", fn, WithSchema(json.RawMessage(`{"type":"nothing"}`)))
			return err
		},
		"default of n: 0 does not": func() error {
			_, err := New("a", "", func(context.Context, struct {
				N int `json:"n" jsonschema:"minimum=1,default=0"`
			}) (string, error) {
				return "", nil
			})
			return err
		},
		"WithMaxArgs":    func() error { _, err := New("a", "", fn, WithMaxArgs(0)); return err },
		"WithRepair":     func() error { _, err := New("a", "", fn, WithRepair(9)); return err },
		"handler is nil": func() error { _, err := NewRaw(agent.ToolSpec{Name: "a"}, nil); return err },
		"need a typed tool": func() error {
			_, err := NewRaw(agent.ToolSpec{Name: "a"}, func(context.Context, agent.ToolCall) (*agent.ToolResult, error) { return nil, nil }, WithCheck(func(int) error { return nil }))
			return err
		},
	}
	for want, f := range tests {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "tools: new ") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestEffectsAndDescription(t *testing.T) {
	tool := mustNew(t, "edit", echo, WithEffects(agent.Writing(".")), WithTimeout(time.Minute),
		WithCallEffects(func(in editIn) agent.Effects { return agent.Writing(in.Path) }),
		WithDescribe(func(in editIn) agent.CallDescription { return agent.CallDescription{Title: "edit " + in.Path} }))
	if s := tool.Spec(); s.Timeout != time.Minute || s.Effects.Writes[0] != "." {
		t.Errorf("spec %+v", s)
	}
	reg, err := NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range []agent.Tool{tool, reg.Tools()[0]} {
		mended := agent.ToolCall{Name: "edit", Args: json.RawMessage(`{'PATH': 'src/a.go'}`)}
		if e := agent.EffectsOf(tl, mended); len(e.Writes) != 1 || e.Writes[0] != "src/a.go" {
			t.Errorf("effects of mended arguments: %+v", e)
		}
		if d := tl.(agent.Describer).DescribeCall(mended); d.Title != "edit src/a.go" {
			t.Errorf("description: %+v", d)
		}
		broken := agent.ToolCall{Name: "edit", Args: json.RawMessage(`{"path":"src`)}
		if e := agent.EffectsOf(tl, broken); e.Writes[0] != "." {
			t.Errorf("effects of arguments that cannot be read: %+v", e)
		}
		if d := tl.(agent.Describer).DescribeCall(broken); d.Title != `edit {"path":"src` {
			t.Errorf("description: %+v", d)
		}
	}
}

func TestWithRepair(t *testing.T) {
	tool := mustNew(t, "edit", echo, WithRepair(RepairSpelling))
	if _, err := tool.Call(t.Context(), agent.ToolCall{Args: json.RawMessage(`{'path':'a',}`)}); err != nil {
		t.Error(err)
	}
	_, err := tool.Call(t.Context(), agent.ToolCall{Args: json.RawMessage(`{"path":"say "hi" now"}`)})
	if err == nil || !strings.Contains(err.Error(), "escaped quotes inside a string") {
		t.Error(err)
	}
}

func TestRepairArgs(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`)
	out, notes, err := RepairArgs(schema, json.RawMessage(`{'a': '1', b: 2}`))
	if err != nil || string(out) != `{"a":1}` || len(notes) != 4 {
		t.Errorf("%s %q %v", out, notes, err)
	}
	out, notes, err = RepairArgs(nil, json.RawMessage(`{a: [1,],}`))
	if err != nil || string(out) != `{"a":[1]}` || len(notes) != 2 {
		t.Errorf("syntax only: %s %q %v", out, notes, err)
	}
	if _, _, err = RepairArgs(nil, json.RawMessage(`{"a":"x`)); err == nil || !strings.HasPrefix(err.Error(), "tools: repair arguments: ") {
		t.Error(err)
	}
	if _, _, err = RepairArgs(json.RawMessage(`{"type":7}`), json.RawMessage(`{}`)); err == nil {
		t.Error("a broken schema was taken")
	}
	big := json.RawMessage(`{"a":"` + strings.Repeat("x", 50<<20) + `"}`)
	if _, _, err = RepairArgs(nil, big); err == nil || !strings.Contains(err.Error(), "52428808 bytes long") {
		t.Errorf("50 MB: %.200v", err)
	}
}

func FuzzRepairArgs(f *testing.F) {
	schema := mustNew(f, "edit", echo).Spec().Schema
	for _, s := range []string{`{"path":"a"}`, `{'Path':'a','limit':'3'}`, `{"path":"a","tags":"[1]"}`, "```json\n{\"path\":\"a\"}\n```", `{"path":"a "b" c"}`, `{"path":"a`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, schema := range []json.RawMessage{nil, schema} {
			out, notes, err := RepairArgs(schema, json.RawMessage(s))
			if err != nil {
				if schema == nil && json.Valid([]byte(s)) {
					t.Fatalf("valid JSON was refused: %q: %v", s, err)
				}
				continue
			}
			if !json.Valid(out) {
				t.Fatalf("%q became %q", s, out)
			}
			if schema == nil && json.Valid([]byte(s)) && (string(out) != s || len(notes) > 0) {
				t.Fatalf("valid JSON was changed: %q to %q", s, out)
			}
			again, notes, err := RepairArgs(schema, out)
			if err != nil || string(again) != string(out) || len(notes) > 0 {
				t.Fatalf("not idempotent: %q, then %q %q %v", out, again, notes, err)
			}
		}
	})
}
