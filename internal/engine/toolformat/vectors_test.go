package toolformat

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/devdata"
)

// vector is a model's text and its expected parse.
type vector struct {
	ID         string
	Format     string
	Template   string
	Partial    bool
	Prompt     string `json:"generation_prompt"`
	Text       string
	Tools      []vectorTool
	Parallel   bool
	ToolChoice string `json:"tool_choice"`
	Extract    *bool  `json:"reasoning_extract"`
	Schema     string `json:"json_schema"`
	Continue   int    `json:"continue_final_message"`
	Expect     struct {
		Content   *string
		Reasoning *string
		Calls     []vectorCall
	}
}

type vectorTool struct{ Name, Description, Parameters string }

type vectorCall struct {
	ID     *string
	Name   string
	Args   json.RawMessage            `json:"arguments"`
	Raw    bool                       `json:"arguments_raw"`
	Subset map[string]json.RawMessage `json:"args_subset"`
}

func readVectors(t testing.TB) []vector {
	f, err := os.Open(devdata.Path(t, "moe-dev/toolcalls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []vector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if lines.Err() != nil || len(all) == 0 {
		t.Fatal("no vectors:", lines.Err())
	}
	return all
}

// read parses the vector's text in pieces of size runes; 0 means as a whole.
func (v vector) read(size int) Reply {
	f := Lookup(v.Format)
	if f == nil {
		f = Detect("")
	}
	var tools []Tool
	for _, t := range v.Tools {
		tools = append(tools, Tool{t.Name, t.Description, json.RawMessage(t.Parameters)})
	}
	p := f.NewParser(tools, ParserOptions{
		Prompt:        v.Prompt,
		Continue:      v.Continue != 0,
		KeepReasoning: v.Extract != nil && !*v.Extract,
		JSON:          v.Schema != "",
	})
	reply := collect(p, v.Text, size)
	if !v.Partial {
		reply = reply.Sound()
	}
	return reply
}

// collect feeds text to p in pieces of size bytes; 0 means as a whole.
func collect(p *Parser, text string, size int) Reply {
	var r Reply
	if size == 0 {
		size = len(text)
	}
	for text != "" {
		n := min(size, len(text))
		r.Add(p.Feed(text[:n])...)
		text = text[n:]
	}
	events, _ := p.Close()
	r.Add(events...)
	return r
}

// TestVectors checks that texts of models are parsed as by other projects' parsers.
//
// Evidence: engine · Tool calls of 34 formats parse the same in any chunks
func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.ID, func(t *testing.T) {
			whole := v.read(0)
			v.check(t, whole)
			for _, size := range []int{1, 2, 3, 7} {
				if d := cmp.Diff(whole, v.read(size)); d != "" {
					t.Errorf("pieces of %d bytes differ (-whole +pieces):\n%s", size, d)
				}
			}
			if t.Failed() {
				t.Logf("%s, prompt %q, text %q", v.Format, v.Prompt, v.Text)
			}
		})
	}
}

func (v vector) check(t *testing.T, r Reply) {
	t.Helper()
	if c := v.Expect.Content; c != nil && *c != r.Content {
		t.Errorf("content is %q, want %q", r.Content, *c)
	}
	if c := v.Expect.Reasoning; c != nil && *c != r.Reasoning {
		t.Errorf("reasoning is %q, want %q", r.Reasoning, *c)
	}
	if len(r.Calls) != len(v.Expect.Calls) {
		t.Fatalf("%d calls, want %d: %+v", len(r.Calls), len(v.Expect.Calls), r)
	}
	for i, want := range v.Expect.Calls {
		got := r.Calls[i]
		if got.Name != want.Name {
			t.Errorf("call %d is to %q, want %q", i, got.Name, want.Name)
		}
		if want.ID != nil && got.ID != *want.ID {
			t.Errorf("call %d has the id %q, want %q", i, got.ID, *want.ID)
		}
		switch {
		case want.Raw:
			var text string
			if json.Unmarshal(want.Args, &text); text != string(got.Args) {
				t.Errorf("arguments are %q, want %q", got.Args, text)
			}
		case want.Subset != nil:
			for path, value := range want.Subset {
				if d := cmp.Diff(decode(t, value), at(decode(t, got.Args), path)); d != "" {
					t.Errorf("argument %s (-want +got):\n%s", path, d)
				}
			}
		default:
			if d := cmp.Diff(decode(t, want.Args), decode(t, got.Args)); d != "" {
				t.Errorf("arguments (-want +got):\n%s", d)
			}
		}
	}
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Errorf("%s is no JSON: %v", data, err)
	}
	return v
}

// at returns the value at a path of keys and indices, joined by slashes.
func at(v any, path string) any {
	for _, key := range strings.Split(path, "/") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return fmt.Errorf("no element %s", key)
			}
			v = x[i]
		}
	}
	return v
}
