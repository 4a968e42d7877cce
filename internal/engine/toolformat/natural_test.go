package toolformat

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
	"github.com/luthier-dev/luthier/internal/tier"
)

// natural is one way in which the models of a format write a call of the tool act.
type natural struct {
	format string
	prompt string // the opening of the message
	frame  string // the message; $ stands for the arguments
	args   func(r *rand.Rand, args *jsontree.Value) string
}

var naturals = []natural{
	{"hermes-json", "", "<tool_call>\n{\"name\": \"act\", \"arguments\": $}\n</tool_call>", asObject},
	{"hermes-json", "", "<tool_call>\n{\"arguments\": $, \"name\": \"act\"}\n</tool_call>", asObject},
	{"hermes-json", "", "<tool_call>{\"name\":\"act\",\"arguments\":$}</tool_call>", asObject},
	{"hermes-json", "", "<think>\nHm.\n</think>\n\n<tool_call>\n{\n  \"name\": \"act\",\n  \"arguments\": $\n}\n</tool_call>", asObject},
	{"qwen3-coder-xml", "", "<tool_call>\n<function=act>\n$</function>\n</tool_call>", elements("<parameter=#>\n$\n</parameter>\n", false)},
	{"qwen3-coder-xml", "", "<tool_call>\n<function=act>\n$</function>\n</tool_call>", elements("<parameter=#>\n$\n</parameter>\n", true)},
	{"qwen3-coder-xml", "<|im_start|>assistant\n<think>\n", "I know.\n<tool_call>\n<function=act>\n$</function>\n</tool_call>", elements("<parameter=#>\n$\n</parameter>\n", false)},
	{"qwen3-coder-xml", "", "<function=act>\n$</function>\n</tool_call>", elements("<parameter=#>\n$\n</parameter>\n", false)},
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
	{"kimi-k2", "", "<|tool_call_begin|>functions.act:3<|tool_call_argument_begin|>$<|tool_call_end|>", asObject},
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
	{"lfm2-pythonic", "", "I look.<|tool_call_start|>[act($)]<|tool_call_end|>Checking the status.", asKeywords},
	{"pythonic", "", "[act($)]", asKeywords},
	{"gemma4", "", "<|tool_call>call:act$<tool_call|>", func(_ *rand.Rand, args *jsontree.Value) string { return bareText(args) }},
}

// controlTokens matches markers that vocabularies have as tokens.
var controlTokens = regexp.MustCompile(`<\|[^|<>]*\|>|<｜[^｜<>]*｜>|\[(?:TOOL_CALLS|ARGS)\]|</?(?:think|tool_call|minimax:tool_call|arg_key|arg_value)>|<\|tool_call>|<tool_call\|>|<\|"\|>|\]<\]minimax\[>\[`)

// check writes calls at random: the grammar must accept them, and the parser must read the same
// arguments.
func (n natural) check(t *testing.T, r *rand.Rand, rounds int) {
	root, err := jsontree.Parse([]byte(naturalTool))
	if err != nil {
		t.Fatal(err)
	}
	tools := []Tool{{Name: "act", Parameters: json.RawMessage(naturalTool)}, {Name: "ping"}}
	f := Lookup(n.format)
	for _, mode := range []Mode{Required, Auto} {
		var control []string
		if mode == Auto { // as in a vocabulary that has the markers as tokens
			control = controlTokens.FindAllString(n.frame+n.args(r, root), -1)
			slices.Sort(control)
			control = slices.Compact(control)
		}
		vocab, ids := byteVocab(control)
		g, err := f.Grammar(tools, Choice{Mode: mode, Parallel: true, Prompt: n.prompt})
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := g.Compile(vocab, ids)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rounds + 1 {
			name, args := "act", naturalObject(r, root, root)
			if i == rounds { // without arguments
				name, args = "ping", jsontree.NewObject()
			}
			text := strings.Replace(n.frame, "act", name, 1)
			text = strings.Replace(text, "$", n.args(r, args), 1)
			if mode == Required && strings.HasPrefix(text, "I look.<") {
				continue // the grammar of required calls allows no text before them
			}
			if at, ok := accepts(compiled, ids, text); !ok {
				t.Errorf("%s: mode %d: not accepted at %d: %q ^ %q", n.format, mode, at, text[:at], text[at:])
			}
			reply := collect(f.NewParser(tools, ParserOptions{Prompt: n.prompt}), text, 1+r.IntN(9))
			if len(reply.Calls) != 1 || reply.Calls[0].Problem != None || reply.Calls[0].Name != name {
				t.Fatalf("%s: %q is read as %+v", n.format, text, reply)
			}
			if d := cmp.Diff(decode(t, args.JSON()), decode(t, reply.Calls[0].Args)); d != "" {
				t.Errorf("%s: %q (-want +got):\n%s", n.format, text, d)
			}
		}
	}
}

// TestNatural checks that a constrained model may write calls as it was trained to: arguments in
// any order or absent, nested values, unions, Python's words where templates print them, empty
// blocks.
//
// Evidence: engine · Grammars accept calls as each format's models write them
func TestNatural(t *testing.T) {
	tier.Normal(t)
	for i, n := range naturals {
		n.check(t, rand.New(rand.NewPCG(1, uint64(i))), tier.Pick(2, 8, 200))
	}
}

// FuzzNatural checks the same for other calls.
func FuzzNatural(f *testing.F) {
	for i := 0; i < len(naturals); i += 4 {
		f.Add(uint64(i), byte(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64, which byte) {
		tier.Normal(t)
		naturals[int(which)%len(naturals)].check(t, rand.New(rand.NewPCG(seed, 2)), 2)
	})
}
