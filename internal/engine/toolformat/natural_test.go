package toolformat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/jsontree"
	"github.com/luthier-dev/luthier/internal/tier"
)

// naturalTool has an argument of each kind that the tools of agents have.
const naturalTool = `{"type":"object","$defs":{"point":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"number"},"open":{"type":"boolean"},"name":{"type":"string"}},"required":["x"]}},
"properties":{
	"text":{"type":"string"},"count":{"type":"integer"},"ratio":{"type":"number"},"flag":{"type":"boolean"},
	"mode":{"enum":["fast","it's \"slow\""]},"level":{"enum":[1,2,true,null]},
	"tags":{"type":"array","items":{"type":"string"}},"sizes":{"type":"array","items":{"type":"integer"},"minItems":1},
	"flags":{"type":"array","items":{"type":"boolean"}},"grid":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},
	"point":{"$ref":"#/$defs/point"},"points":{"type":"array","items":{"allOf":[{"$ref":"#/$defs/point"}]}},
	"maybe":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},"maybe_flag":{"anyOf":[{"type":"boolean"},{"type":"null"}]},
	"maybe_tags":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]},
	"either":{"type":["string","integer"]},"line":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/point"}]},"many":{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},
	"env":{"type":"object","additionalProperties":{"type":"string"}},"data":{"type":"object"},"any":{"description":"Anything."},
	"long":{"type":"string","minLength":1},"name":{"type":"string","pattern":"^[a-z_]+$"}},
"required":["text"]}`

// naturalTexts are strings that models write into arguments.
var naturalTexts = []string{
	"plain", "a/b.go", "for i := range 3 {\n\tfmt.Println(\"it's\", i)\n}", "<div class='x'>é</div>", "日本", "a, b: c = [d]", `C:\new\table`, "yes, True", "{{name}}", "",
}

// naturalValue returns a value of a schema as a model may choose it.
func naturalValue(r *rand.Rand, root, s *jsontree.Value) *jsontree.Value {
	s = simple(root, s)
	pick := func(texts ...string) *jsontree.Value { return jsontree.NewString(texts[r.IntN(len(texts))]) }
	switch {
	case s.Get("enum") != nil:
		items := s.Get("enum").Items
		return items[r.IntN(len(items))]
	case branchesOf(s) != nil:
		b := branchesOf(s)[r.IntN(len(branchesOf(s)))]
		if v := naturalValue(r, root, b); v.Kind != jsontree.String || v.Text() != "" {
			return v
		}
		return pick("word")
	case s.Get("pattern") != nil:
		return pick("a_name")
	case s.Get("minLength") != nil:
		return pick("<p>x</p>", "y")
	case s.Get("type") == nil, len(s.Get("type").Items) > 0:
		if r.IntN(2) == 0 {
			return jsontree.NewInt(7)
		}
		return pick("seven", "line 3")
	}
	switch s.Get("type").Text() {
	case "integer":
		return jsontree.NewInt(int64(r.IntN(2000) - 1000))
	case "number":
		v, _ := jsontree.Parse([]byte([]string{"0.5", "-2", "1e-05", "3.25e+16"}[r.IntN(4)]))
		return v
	case "boolean":
		return jsontree.NewBool(r.IntN(2) == 0)
	case "null":
		return jsontree.NewNull()
	case "array":
		list := jsontree.NewArray()
		for range 1 + r.IntN(3) {
			list.Items = append(list.Items, naturalValue(r, root, s.Get("items")))
		}
		if r.IntN(5) == 0 && s.Get("minItems") == nil {
			list.Items = nil
		}
		return list
	case "object":
		return naturalObject(r, root, s)
	}
	return pick(naturalTexts...)
}

func naturalObject(r *rand.Rand, root, s *jsontree.Value) *jsontree.Value {
	v := jsontree.NewObject()
	if s.Get("properties") == nil {
		for i := range r.IntN(3) {
			v.Set(fmt.Sprintf("KEY_%d", i), jsontree.NewString(naturalTexts[r.IntN(len(naturalTexts)-1)]))
		}
		return v
	}
	props := s.Get("properties").Members
	for _, i := range r.Perm(len(props)) {
		if isRequired(s, props[i].Key) || r.IntN(3) == 0 {
			v.Set(props[i].Key, naturalValue(r, root, props[i].Value))
		}
	}
	return v
}

// spell writes a value as JSON in one of the layouts of encoders, or as a Python literal.
func spell(r *rand.Rand, v *jsontree.Value, python bool) string {
	if !python {
		return layouts[r.IntN(len(layouts))](v.JSON())
	}
	return pythonRepr(v, r.IntN(2) == 0)
}

var layouts = []func(json.RawMessage) string{
	func(j json.RawMessage) string { return string(j) },
	func(j json.RawMessage) string { return spaced(j) },
	func(j json.RawMessage) string { return indented(j, "  ") },
	func(j json.RawMessage) string { return indented(j, "    ") },
}

func indented(j json.RawMessage, by string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(string(j)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(j)
	}
	out, _ := json.MarshalIndent(v, "", by)
	return string(out)
}

// spaced adds a blank after each comma and colon, as Python's json.dumps does.
func spaced(j json.RawMessage) string {
	var b strings.Builder
	inside := false
	for i, c := range string(j) {
		if c == '"' && (i == 0 || j[i-1] != '\\' || i > 1 && j[i-2] == '\\') {
			inside = !inside
		}
		b.WriteRune(c)
		if !inside && (c == ',' || c == ':') {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// pythonRepr writes a value as Python's repr does; JSON's strings if double is true.
func pythonRepr(v *jsontree.Value, double bool) string {
	switch v.Kind {
	case jsontree.Bool:
		return map[string]string{"true": "True", "false": "False"}[v.Raw()]
	case jsontree.Null:
		return "None"
	case jsontree.String:
		if double {
			return string(v.JSON())
		}
		q := "'"
		if strings.Contains(v.Text(), "'") && !strings.Contains(v.Text(), `"`) {
			q = `"`
		}
		return q + strings.NewReplacer(`\`, `\\`, q, `\`+q, "\n", `\n`, "\t", `\t`).Replace(v.Text()) + q
	case jsontree.Array:
		items := make([]string, len(v.Items))
		for i, item := range v.Items {
			items[i] = pythonRepr(item, double)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case jsontree.Object:
		items := make([]string, len(v.Members))
		for i, m := range v.Members {
			items[i] = pythonRepr(jsontree.NewString(m.Key), double) + ": " + pythonRepr(m.Value, double)
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return v.Raw()
}

// tags writes a value as MiniMax-M3 does.
func tags(v *jsontree.Value) string {
	const ns = "]<]minimax[>["
	var b strings.Builder
	switch {
	case v.Kind == jsontree.String:
		return v.Text()
	case v.Kind == jsontree.Object && len(v.Members) > 0:
		for _, m := range v.Members {
			b.WriteString(ns + "<" + m.Key + ">" + tags(m.Value) + ns + "</" + m.Key + ">")
		}
		return b.String()
	case v.Kind == jsontree.Array && len(v.Items) > 0:
		for _, item := range v.Items {
			b.WriteString(ns + "<item>" + tags(item) + ns + "</item>")
		}
		return b.String()
	}
	return string(v.JSON())
}

// bareText writes a value as Gemma 4 does.
func bareText(v *jsontree.Value) string {
	var list []string
	switch v.Kind {
	case jsontree.String:
		return `<|"|>` + v.Text() + `<|"|>`
	case jsontree.Object:
		for _, m := range v.Members {
			list = append(list, m.Key+":"+bareText(m.Value))
		}
		return "{" + strings.Join(list, ",") + "}"
	case jsontree.Array:
		for _, item := range v.Items {
			list = append(list, bareText(item))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	return v.Raw()
}

// natural is one way in which the models of a format write a call of the tool act.
type natural struct {
	format string
	prompt string // the opening of the message
	frame  string // the message; $ stands for the arguments
	args   func(r *rand.Rand, args *jsontree.Value) string
}

// elements writes each argument by a pattern: # is the key, @ the type and $ the value.
func elements(pattern string, python bool) func(*rand.Rand, *jsontree.Value) string {
	return func(r *rand.Rand, args *jsontree.Value) string {
		var b strings.Builder
		for _, m := range args.Members {
			text := m.Value.Text()
			if m.Value.Kind != jsontree.String {
				text = spell(r, m.Value, python)
			}
			b.WriteString(strings.NewReplacer("#", m.Key, "@", typeName(m.Value), "%", fmt.Sprint(m.Value.Kind == jsontree.String), "$", text).Replace(pattern))
		}
		return b.String()
	}
}

func asObject(r *rand.Rand, args *jsontree.Value) string { return spell(r, args, false) }

func asKeywords(r *rand.Rand, args *jsontree.Value) string {
	list := make([]string, len(args.Members))
	for i, m := range args.Members {
		list[i] = m.Key + "=" + spell(r, m.Value, r.IntN(4) > 0)
	}
	return strings.Join(list, []string{", ", ","}[r.IntN(2)])
}

func asTags(r *rand.Rand, args *jsontree.Value) string {
	if len(args.Members) == 0 {
		return ""
	}
	return tags(args)
}

var naturals = []natural{
	{"hermes-json", "", "<tool_call>\n{\"name\": \"act\", \"arguments\": $}\n</tool_call>", asObject},
	{"hermes-json", "", "<tool_call>\n{\"arguments\": $, \"name\": \"act\"}\n</tool_call>", asObject},
	{"hermes-json", "", "<tool_call>{\"name\":\"act\",\"arguments\":$}</tool_call>", asObject},
	{"hermes-json", "", "<think>\nHm.\n</think>\n\n<tool_call>\n{\n  \"name\": \"act\",\n  \"arguments\": $\n}\n</tool_call>", asObject},
	{"qwen3-coder-xml", "", "<tool_call>\n<function=act>\n$</function>\n</tool_call>", elements("<parameter=#>\n$\n</parameter>\n", false)},
	{"qwen3-coder-xml", "", "<tool_call>\n<function=act>\n$</function>\n</tool_call>", elements("<parameter=#>\n$\n</parameter>\n", true)},
	{"qwen3-coder-xml", "<|im_start|>assistant\n<think>\n", "I know.\n<tool_call>\n<function=act>\n$</function>\n</tool_call>", elements("<parameter=#>\n$\n</parameter>\n", false)},
	{"seed-oss-xml", "", "<seed:tool_call>\n<function=act>\n$</function>\n</seed:tool_call>", elements("<parameter=#>$</parameter>\n", true)},
	{"glm4-xml", "", "<tool_call>act\n$</tool_call>", elements("<arg_key>#</arg_key>\n<arg_value>$</arg_value>\n", false)},
	{"glm4-xml", "", "<tool_call>act$</tool_call>", elements("<arg_key>#</arg_key><arg_value>$</arg_value>", true)},
	{"minimax-m2-xml", "<think>\n", "Hm.\n</think>\n\n<minimax:tool_call>\n<invoke name=\"act\">\n$</invoke>\n</minimax:tool_call>", elements("<parameter name=\"#\">$</parameter>\n", false)},
	{"minimax-m2-xml", "", "<minimax:tool_call>\n<invoke name=\"act\">\n$</invoke>\n</minimax:tool_call>", elements("<parameter name=\"#\">$</parameter>\n", true)},
	{"minimax-m3", "", "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"act\">$]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>", asTags},
	{"minicpm5", "", "<function name=\"act\">$</function>", elements("<param name=\"#\"><![CDATA[$]]></param>", false)},
	{"step3", "", "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"act\">\n$</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>", elements("<steptml:parameter name=\"#\">$</steptml:parameter>\n", false)},
	{"deepseek-dsml", "<think>", "Hm.</think>\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"act\">\n$</｜DSML｜invoke>\n</｜DSML｜function_calls>", elements("<｜DSML｜parameter name=\"#\" string=\"%\">$</｜DSML｜parameter>\n", false)},
	{"deepseek-dsml", "<think>", "Hm.\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"act\">\n$</｜DSML｜invoke>\n</｜DSML｜tool_calls>", elements("<｜DSML｜parameter name=\"#\" string=\"%\">$</｜DSML｜parameter>\n", false)},
	{"kimi-k3", "<|open|>think<|sep|>", "Hm.<|close|>think<|sep|><|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"act\" index=\"1\"<|sep|>$<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>", elements("<|open|>argument key=\"#\" type=\"@\"<|sep|>$<|close|>argument<|sep|>", false)},
	{"kimi-k3", "<|open|>think<|sep|>", "<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"act\" index=\"1\"<|sep|>$<|close|>call<|sep|><|close|>tools<|sep|>", elements("<|open|>argument key=\"#\" type=\"@\"<|sep|>$<|close|>argument<|sep|>", false)},
	{"kimi-k3", "<|open|>response<|sep|>", "<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"act\" index=\"12\"<|sep|>$<|close|>call<|sep|><|close|>tools<|sep|>", elements("<|open|>argument key=\"#\" type=\"@\"<|sep|>$<|close|>argument<|sep|>", false)},
	{"kimi-k2", "", "<|tool_calls_section_begin|><|tool_call_begin|>functions.act:0<|tool_call_argument_begin|>$<|tool_call_end|><|tool_calls_section_end|>", asObject},
	{"kimi-k2", "", "<|tool_calls_section_begin|><|tool_call_begin|>functions.act:128<|tool_call_argument_begin|>$<|tool_call_end|><|tool_calls_section_end|>", asObject},
	{"harmony", "<|start|>assistant", "<|channel|>commentary to=functions.act <|constrain|>json<|message|>$", asObject},
	{"harmony", "<|start|>assistant", "<|channel|>commentary to=functions.act<|message|>$", asObject},
	{"harmony", "<|start|>assistant", "<|channel|>analysis to=functions.act<|message|>$", asObject},
	{"harmony", "<|start|>assistant", "<|channel|>analysis to=functions.act code<|message|>$", asObject},
	{"harmony", "<|start|>assistant", " to=functions.act<|channel|>analysis <|constrain|>json<|message|>$", asObject},
	{"harmony", "<|start|>assistant", " to=functions.act<|channel|>commentary<|message|>$", asObject},
	{"harmony", "<|start|>assistant", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.act <|constrain|>json<|message|>$", asObject},
	{"deepseek-v3", "", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>act\n```json\n$\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", asObject},
	{"deepseek-r1", "<think>\n", "Hm.\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>act\n```json\n$```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", asObject},
	{"deepseek-v3.1", "", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>act<｜tool▁sep｜>$<｜tool▁call▁end｜><｜tool▁calls▁end｜>", asObject},
	{"llama3-json", "", "{\"name\": \"act\", \"parameters\": $}", asObject},
	{"llama3-json", "", "{\"type\": \"function\", \"name\": \"act\", \"parameters\": $}", asObject},
	{"llama3-json", "", "<|python_tag|>{\"name\": \"act\", \"arguments\": $}", asObject},
	{"mistral-json", "", "[TOOL_CALLS][{\"name\": \"act\", \"arguments\": $}]", asObject},
	{"mistral-json", "", "[TOOL_CALLS] [{\"name\": \"act\", \"arguments\": $, \"id\": \"abcDEF123\"}]", asObject},
	{"mistral-args", "", "[TOOL_CALLS]act[ARGS]$", asObject},
	{"functionary-31", "", "<function=act>$</function>", asObject},
	{"cohere-action", "", "<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"act\", \"parameters\": $}\n]<|END_ACTION|>", asObject},
	{"cohere-action", "", "Action: ```json\n[\n    {\n        \"tool_name\": \"act\",\n        \"parameters\": $\n    }\n]```", asObject},
	{"granite-json", "", "<|tool_call|>[{\"name\": \"act\", \"arguments\": $}]", asObject},
	{"apertus", "", "<|tools_prefix|>[{\"act\": $}]<|tools_suffix|>", asObject},
	{"lfm2-pythonic", "", "<|tool_call_start|>[act($)]<|tool_call_end|>", asKeywords},
	{"pythonic", "", "[act($)]", asKeywords},
	{"gemma4", "", "<|tool_call>call:act$<tool_call|>", func(_ *rand.Rand, args *jsontree.Value) string { return bareText(args) }},
}

// naturalCheck writes calls in every natural way: the grammar must accept them, and the parser must
// read the same arguments.
func naturalCheck(t *testing.T, seed uint64, rounds int) {
	root, err := jsontree.Parse([]byte(naturalTool))
	if err != nil {
		t.Fatal(err)
	}
	tools := []Tool{{Name: "act", Parameters: json.RawMessage(naturalTool)}, {Name: "ping"}}
	vocab, _ := byteVocab(nil)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, n := range naturals {
		for _, mode := range []Mode{Required, Auto} {
			f := Lookup(n.format)
			g, err := f.Grammar(tools, Choice{Mode: mode, Parallel: true, Prompt: n.prompt})
			if err != nil {
				t.Fatal(err)
			}
			compiled, err := g.Compile(vocab, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range rounds {
				args := naturalObject(r, root, root)
				text := strings.Replace(n.frame, "$", n.args(r, args), 1)
				if at, ok := accepts(compiled, nil, text); !ok {
					t.Errorf("%s: mode %d: not accepted at %d: %q ^ %q", n.format, mode, at, text[:at], text[at:])
				}
				reply := collect(f.NewParser(tools, ParserOptions{Prompt: n.prompt}), text, 1+r.IntN(9))
				if len(reply.Calls) != 1 || reply.Calls[0].Problem != None || reply.Calls[0].Name != "act" {
					t.Fatalf("%s: %q is read as %+v", n.format, text, reply)
				}
				if d := cmp.Diff(decode(t, args.JSON()), decode(t, reply.Calls[0].Args)); d != "" {
					t.Errorf("%s: %q (-want +got):\n%s", n.format, text, d)
				}
			}
		}
	}
}

// TestNatural checks that a constrained model may write calls as it was trained to: arguments in any
// order or absent, nested values, unions, Python's words where templates print them, empty blocks.
//
// Evidence: engine · Grammars accept calls as the models of each format write them, and they parse to the same arguments
func TestNatural(t *testing.T) {
	tier.Normal(t)
	naturalCheck(t, 1, tier.Pick(2, 8, 200))
}

// FuzzNatural checks the same for other calls.
func FuzzNatural(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed + 10)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		tier.Normal(t)
		naturalCheck(t, seed, 2)
	})
}
